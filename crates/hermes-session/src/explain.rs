//! What was trimmed from a context and why, as a table and as JSON (S11).

use std::fmt;

use hermes_core::{CallId, Seq, SummaryOrigin, Tokens};
use serde::{Deserialize, Serialize};

use crate::budget::Part;

/// Why a context looks as it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The most tokens that were allowed.
    pub budget: Tokens,
    /// How many there are.
    pub tokens: Tokens,
    /// How many turns are sent whole, the current one included.
    pub turns: usize,
    /// Part by part, in the order in which they are sent; parts that are empty are left out.
    pub parts: Vec<PartLine>,
    /// What gave way, in the order of the log.
    pub trims: Vec<Trim>,
}

/// A part of a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartLine {
    /// Which part.
    pub part: Part,
    /// How many tokens it has.
    pub tokens: Tokens,
    /// Its messages of the log, by place, where it comes from the log.
    pub messages: Vec<Seq>,
}

/// Something that is not sent as it was logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trim {
    /// Turns stand in the summary.
    Folded {
        /// The last message that is covered, from the beginning of the log.
        through: Seq,
        /// Who wrote the summary.
        origin: SummaryOrigin,
        /// Whether the summary is stored, or was made for this context alone.
        stored: bool,
    },
    /// The summary was cut, or left out, to make room.
    SummaryCut {
        /// Its tokens before.
        from: Tokens,
        /// Its tokens now; zero when it was left out.
        to: Tokens,
    },
    /// Sticky messages were condensed to a line each.
    StickyCondensed {
        /// Which.
        messages: Vec<Seq>,
    },
    /// A tool result was shortened.
    Shrunk {
        /// Which.
        seq: Seq,
        /// Its tokens before.
        from: Tokens,
        /// Its tokens now.
        to: Tokens,
        /// Where the whole can be read.
        handle: String,
        /// Why it was shortened.
        reason: ShrinkReason,
    },
    /// A call had no result and got an explanatory one.
    Explained {
        /// The step with the call.
        seq: Seq,
        /// The call.
        call: CallId,
    },
    /// A result that answers no call was left out.
    Orphan {
        /// Which.
        seq: Seq,
        /// The call that it names.
        call: CallId,
    },
}

/// Why a tool result was shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShrinkReason {
    /// It was over the cap that holds for every result.
    Cap,
    /// It belongs to an earlier turn, and room was needed.
    OldTurn,
    /// It belongs to an earlier step of the current turn, and room was needed.
    EarlierStep,
    /// It belongs to the latest step, and nothing else could give way.
    LatestStep,
}

impl fmt::Display for ShrinkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cap => "over the cap",
            Self::OldTurn => "old turn",
            Self::EarlierStep => "earlier step",
            Self::LatestStep => "latest step",
        })
    }
}

impl Explanation {
    /// The explanation as JSON.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} tokens, {} whole turns", self.tokens, self.budget, self.turns)?;
        for line in &self.parts {
            write!(f, "  {:<8} {:>7}", line.part, line.tokens.get())?;
            if line.messages.is_empty() {
                writeln!(f)?;
            } else {
                writeln!(f, "  messages {}", ranges(&line.messages))?;
            }
        }
        if !self.trims.is_empty() {
            writeln!(f, "trimmed:")?;
        }
        for trim in &self.trims {
            writeln!(f, "  {trim}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Trim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folded { through, origin, stored } => {
                let who = match origin {
                    SummaryOrigin::Model => "a model's summary",
                    SummaryOrigin::Digest => "a digest",
                };
                let kept = if *stored { "stored" } else { "for this context only" };
                write!(f, "messages up to {through} folded into {who}, {kept}")
            }
            Self::SummaryCut { from, to } if *to == Tokens::ZERO => {
                write!(f, "summary left out ({from} tokens)")
            }
            Self::SummaryCut { from, to } => write!(f, "summary cut from {from} to {to} tokens"),
            Self::StickyCondensed { messages } => write!(f, "sticky messages {} condensed", ranges(messages)),
            Self::Shrunk { seq, from, to, handle, reason } => {
                write!(f, "result {seq} shrunk from {from} to {to} tokens ({reason}), whole at {handle}")
            }
            Self::Explained { seq, call } => {
                write!(f, "call {call} of message {seq} has no result: explained")
            }
            Self::Orphan { seq, call } => write!(f, "result {seq} answers no call {call}: left out"),
        }
    }
}

/// Places as ranges: `1-3, 7`.
fn ranges(places: &[Seq]) -> String {
    let mut spans: Vec<(Seq, Seq)> = Vec::new();
    for &seq in places {
        match spans.last_mut() {
            Some((_, last)) if last.next() == seq => *last = seq,
            _ => spans.push((seq, seq)),
        }
    }
    let spans: Vec<_> = spans
        .into_iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    spans.join(", ")
}
