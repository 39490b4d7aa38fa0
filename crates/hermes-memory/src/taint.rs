//! What may become a memory: what the user said, proved by their words, and not what a tool said (R3, R10).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use hermes_core::{MemoryKind, MemorySource, Provenance, Role, Seq};
use hermes_text::lang;
use regex::Regex;

use crate::ask::{Wish, accepts, asks_to_remember, cut, own, speech, wishes};
use crate::extract::{Command, Draft, ExtractionInput, Line, Speaker};
use crate::redact::masked;
use crate::term::{folded, marks, telling, traces};
use crate::transcript::{Said, TurnTranscript};

/// Why a proposal is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// Its confidence is missing, out of range, or not high enough.
    Unsure,
    /// It is empty or too long.
    Unusable,
    /// It holds a secret.
    Secret,
    /// The words that should prove it were not said.
    Unproven,
    /// Its words come from a tool, or from a memory or a summary that was shown.
    Tainted,
    /// The words that prove it have nothing in common with it.
    Unsupported,
    /// It was mentioned in passing, which is no preference.
    PassingMention,
}

/// What proves a memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proof {
    pub(crate) source: MemorySource,
    pub(crate) provenance: Provenance,
}

/// What a turn gives to learn from: what the extractor may see of it, and what proposals are checked against.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    turn: &'a TurnTranscript,
    /// Every line of the user, and the assistant's where the user accepted or asked to remember them, without the clauses that only
    /// repeat a tool, a memory or a summary.
    pub(crate) input: ExtractionInput,
    /// The messages that ask to remember something, and those that hold what is asked for.
    asked: BTreeSet<Seq>,
    /// The words of what tools gave, and of the memories and summaries that were shown.
    foreign: BTreeSet<String>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn of(turn: &'a TurnTranscript) -> Self {
        let said: Vec<&Said> =
            turn.said.iter().filter(|said| matches!(said.role, Role::User | Role::Assistant)).collect();
        let user_text: String = user_texts(turn).collect::<Vec<_>>().join("\n");
        let known: BTreeSet<String> = user_texts(turn).flat_map(|text| traces(&own(text))).collect();
        let foreign = foreign(turn);
        let mut asked = BTreeSet::new();
        let mut lines = Vec::new();
        let mut wished: Vec<Wish> = Vec::new();
        for (place, message) in said.iter().enumerate() {
            if message.role == Role::User {
                wished = wishes(&message.text);
                if !wished.is_empty() {
                    asked.insert(message.seq);
                }
                lines.push(line(message.seq, Speaker::User, &message.text));
                continue;
            }
            let next = said.get(place + 1).filter(|next| next.role == Role::User);
            let heard = Heard {
                accepted: next.is_some_and(|next| accepts(&next.text)),
                wished_after: next.map(|next| wishes(&next.text)).unwrap_or_default(),
                wished_before: &wished,
                echoes: |text: &str| traces(text).difference(&known).any(|term| foreign.contains(term)),
            };
            let (kept, on_command) = heard.kept(&message.text);
            if on_command {
                asked.insert(message.seq);
            }
            if !kept.is_empty() {
                lines.push(line(message.seq, Speaker::Assistant, &kept.join("\n")));
            }
        }
        let command = if user_texts(turn).any(asks_to_remember) { Command::Remember } else { Command::None };
        let input = ExtractionInput {
            lines,
            said_at: turn.at.to_zoned_datetime(turn.time_zone.clone()),
            language: lang::guess(&user_text),
            command,
        };
        Self { turn, input, asked, foreign }
    }

    /// Checks a proposal against what was said.
    pub(crate) fn prove(&self, draft: &Draft) -> Result<Proof, DropReason> {
        let (line, quote) = self.proving_line(draft).ok_or(DropReason::Unproven)?;
        let on_command = self.asked.contains(&line.seq);
        // What was let in by a command vouches for nothing but what the command is about.
        let shown = || {
            self.input.lines.iter().filter(|other| {
                other.speaker == Speaker::User || on_command || !self.asked.contains(&other.seq)
            })
        };
        let mut said = draft.content.clone();
        if let Some(value) = &draft.value {
            said.push('\n');
            said.push_str(value);
        }
        let vouched: BTreeSet<String> = shown().flat_map(|line| traces(&Self::own_words(line))).collect();
        if traces(&said).difference(&vouched).any(|term| self.foreign.contains(term)) {
            return Err(DropReason::Tainted);
        }
        let told = telling(&said);
        let shown: BTreeSet<String> = shown().flat_map(|line| telling(&line.text)).collect();
        // A sentence in another language than its proof shares no words with it; there the quote has to do.
        let comparable = lang::guess(&draft.content) == lang::guess(&line.text);
        if comparable && !told.is_empty() && told.is_disjoint(&shown) {
            return Err(DropReason::Unsupported);
        }
        if matches!(draft.kind, MemoryKind::Preference | MemoryKind::Habit)
            && only_mentioned(&quote, &line.text)
        {
            return Err(DropReason::PassingMention);
        }
        let mut messages: Vec<Seq> = vec![line.seq];
        let source = if on_command {
            messages.extend(commands(self.turn));
            messages.extend(tool_origins(self.turn, &told, &self.input));
            MemorySource::UserCommand
        } else {
            MemorySource::Explicit
        };
        messages.sort_unstable();
        messages.dedup();
        let provenance = Provenance { session: self.turn.session, messages, quote: Some(quote) };
        Ok(Proof { source, provenance })
    }

    /// The line that holds the quote, with the quote; without a quote the line that holds most of the sentence's words, at least half.
    /// The user's own lines come first, those that ask to remember before the others.
    fn proving_line(&self, draft: &Draft) -> Option<(&Line, String)> {
        let mut lines: Vec<&Line> = self.input.lines.iter().collect();
        lines.sort_by_key(|line| (line.speaker != Speaker::User, !self.asked.contains(&line.seq)));
        let quote = draft.quote.as_deref().map(masked);
        if let Some((quote, plain)) =
            quote.as_ref().map(|quote| (quote, folded(quote))).filter(|(_, plain)| !plain.is_empty())
        {
            let line = lines.into_iter().find(|line| Self::says(line, &plain))?;
            return Some((line, quote.clone()));
        }
        let plain = folded(&draft.content);
        let words = telling(&draft.content);
        let shared = |line: &Line| telling(&Self::own_words(line)).intersection(&words).count();
        let whole = lines.iter().copied().find(|line| !plain.is_empty() && Self::says(line, &plain));
        let line = whole.or_else(|| {
            // Of equals `max_by_key` takes the last: from behind, the first.
            let best = lines.into_iter().rev().max_by_key(|line| shared(line))?;
            (!words.is_empty() && shared(best) * 2 >= words.len()).then_some(best)
        })?;
        Some((line, line.text.clone()))
    }

    /// Whether a line says these words, and does not only quote them from others, unless it asks to remember what it says.
    fn says(line: &Line, plain: &str) -> bool {
        if !folded(&line.text).contains(plain) {
            return false;
        }
        Self::speaks_freely(line)
            || folded(&own(&line.text)).contains(plain)
            || !speech(&line.text).any(|span| folded(span).contains(plain))
    }

    /// A line without what it quotes from others.
    fn own_words(line: &Line) -> String {
        if Self::speaks_freely(line) { line.text.clone() } else { own(&line.text) }
    }

    fn speaks_freely(line: &Line) -> bool {
        line.speaker == Speaker::Assistant
            || wishes(&line.text).iter().any(|wish| matches!(wish, Wish::Stated | Wish::Before))
    }
}

/// How the user took an assistant's message, and what they asked for around it.
struct Heard<'a, F> {
    accepted: bool,
    wished_before: &'a [Wish],
    wished_after: Vec<Wish>,
    /// Whether a text says what the user did not and others did.
    echoes: F,
}

impl<F: Fn(&str) -> bool> Heard<'_, F> {
    /// What of the message counts, and whether any of it does because the user asked to remember it.
    fn kept<'t>(&self, text: &'t str) -> (Vec<&'t str>, bool) {
        let points_here = self.wished_after.contains(&Wish::Before);
        let alone = clauses(text).into_iter().filter(|clause| !telling(clause).is_empty()).count() == 1;
        let mut kept = Vec::new();
        let mut on_command = false;
        for clause in clauses(text) {
            if (points_here && alone) || ((points_here || self.accepted) && !(self.echoes)(clause)) {
                on_command |= points_here;
                kept.push(clause);
                continue;
            }
            let named = parts(clause).filter(|part| {
                let part = telling(part);
                self.wished_before.iter().chain(&self.wished_after).any(|wish| wish.names(&part))
            });
            let before = kept.len();
            kept.extend(named);
            on_command |= kept.len() > before;
        }
        (kept, on_command)
    }
}

fn line(seq: Seq, speaker: Speaker, text: &str) -> Line {
    Line { seq, speaker, text: masked(text) }
}

fn user_texts(turn: &TurnTranscript) -> impl Iterator<Item = &str> {
    turn.said.iter().filter(|said| said.role == Role::User).map(|said| said.text.as_str())
}

/// The words of what tools gave, and of the memories and summaries that were shown.
fn foreign(turn: &TurnTranscript) -> BTreeSet<String> {
    let tools = turn.tool_texts.iter().map(|tool| tool.text.as_str());
    let shown = turn.recalled.iter().chain(&turn.summaries).map(String::as_str);
    tools.chain(shown).flat_map(marks).collect()
}

/// The user's messages that ask to remember.
fn commands(turn: &TurnTranscript) -> impl Iterator<Item = Seq> {
    turn.said
        .iter()
        .filter(|said| said.role == Role::User && asks_to_remember(&said.text))
        .map(|said| said.seq)
}

/// The tool messages that what is remembered on command came from: those that hold a word of it that the user did not say.
fn tool_origins(turn: &TurnTranscript, told: &BTreeSet<String>, input: &ExtractionInput) -> Vec<Seq> {
    let users: BTreeSet<String> = input
        .lines
        .iter()
        .filter(|line| line.speaker == Speaker::User)
        .flat_map(|line| telling(&line.text))
        .collect();
    let from_elsewhere: BTreeSet<&String> = told.difference(&users).collect();
    turn.tool_texts
        .iter()
        .filter(|tool| telling(&tool.text).iter().any(|term| from_elsewhere.contains(term)))
        .map(|tool| tool.seq)
        .collect()
}

/// The sentences of a text, and their parts between commas.
fn clauses(text: &str) -> Vec<&str> {
    cut(text, &['。', '！', '？', '；', '，', '\n'], &['.', '!', '?', ';', ','])
}

/// The parts of a clause that may speak of different things.
fn parts(clause: &str) -> impl Iterator<Item = &str> {
    clause
        .split(['(', ')', '（', '）', '|', '—', '–', '•', '、', '\t'])
        .flat_map(|part| part.split(" and "))
        .flat_map(|part| part.split(" - "))
        .flat_map(|part| part.split("以及"))
        .flat_map(|part| part.split("并且"))
        .flat_map(|part| part.split("而且"))
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

static LIKES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:like|likes|love|loves|prefer\w*|hate|hates|dislike\w*|favou?rite|enjoy\w*|always|never|usually|every|want\w*|wish|rather|stand|allergic|please|don't|do not|only|need|needs|no longer|stop)\b|喜欢|爱|偏好|讨厌|不吃|不喝|不要|想要|希望|习惯|总是|每次|每天|通常|一般|最好|请|别|倾向|常|只|受不了|过敏|忌").ok()
});
static PASSES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:once|went|visited|passed through|have been|has been|was in|used to|saw|tried)\b|去过|来过|吃过|看过|到过|玩过|曾经|有一次|有次|路过|那次|刚去|刚从").ok()
});

fn is_match(pattern: &Option<Regex>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Whether the words tell of something that happened, and of no liking.
fn only_mentioned(quote: &str, line: &str) -> bool {
    is_match(&PASSES, quote) && !is_match(&LIKES, quote) && !is_match(&LIKES, line)
}

#[cfg(test)]
mod tests;
