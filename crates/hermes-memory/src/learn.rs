//! Learning from a turn: extract, check, mask, compare, write (R3, R9, R10, R12).

use hermes_core::{AttributeKey, Layer, MemoryKind, MemoryRecord, MemorySource, Role};
use jiff::ZonedDateTime;

use crate::date;
use crate::error::Error;
use crate::extract::{Draft, ExtractError, ExtractionInput};
use crate::fill::quoted;
use crate::implicit::{Observation, Observed};
use crate::memory::Memory;
use crate::redact::masked;
use crate::taint::{DropReason, Evidence, Proof};
use crate::transcript::TurnTranscript;
use crate::write::{NewMemory, Written};

/// What was learned from a turn.
#[derive(Debug, Default)]
pub struct LearnReport {
    /// How the extraction went.
    pub extraction: Extraction,
    /// What became of each memory that passed the checks.
    pub written: Vec<Written>,
    /// What did not pass, with the reason.
    pub dropped: Vec<Dropped>,
    /// The habits that the turn made.
    pub habits: Vec<MemoryRecord>,
    /// What could not be written.
    pub errors: Vec<Error>,
}

/// How an extraction went.
#[derive(Debug, Default)]
#[non_exhaustive]
pub enum Extraction {
    /// The explicit path is switched off, there is no extractor, or the user said nothing.
    #[default]
    NotTried,
    /// An answer was read.
    Read {
        /// How many memories it proposed.
        proposed: usize,
    },
    /// Nothing readable came in any of the tries; the last error.
    Failed(ExtractError),
}

/// A proposal that was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// What sort of thing it was.
    pub kind: MemoryKind,
    /// Why.
    pub reason: DropReason,
}

impl Memory {
    /// Learns from a turn, off the reply's critical path: what the extractor finds is checked against the user's own words,
    /// compared with what is known, and written; patterns of behaviour are counted.
    ///
    /// It never fails the turn: what went wrong stands in the report. Learning from the same turn again changes nothing, so a turn whose
    /// learning was cut off can simply be learned again.
    pub async fn learn(&self, turn: &TurnTranscript) -> LearnReport {
        let mut report = LearnReport::default();
        self.learn_explicit(turn, &mut report).await;
        self.learn_implicit(turn, &mut report).await;
        tracing::debug!(
            written = report.written.len(),
            dropped = report.dropped.len(),
            errors = report.errors.len(),
            "learned"
        );
        report
    }

    async fn learn_explicit(&self, turn: &TurnTranscript, report: &mut LearnReport) {
        if !self.config.explicit.is_on() || !turn.said.iter().any(|said| said.role == Role::User) {
            return;
        }
        let evidence = Evidence::of(turn);
        let drafts = match self.extract(&evidence.input).await {
            None => return,
            Some(Ok(drafts)) => drafts,
            Some(Err(error)) => {
                tracing::warn!(%error, "nothing was extracted");
                report.extraction = Extraction::Failed(error);
                return;
            }
        };
        report.extraction = Extraction::Read { proposed: drafts.len() };
        for draft in drafts {
            match self.checked(&draft, &evidence, turn) {
                Err(reason) => report.dropped.push(Dropped { kind: draft.kind, reason }),
                Ok(new) => match self.settle(self.record(&turn.owner, new, self.clock.now())).await {
                    Ok(written) => report.written.push(written),
                    Err(error) => {
                        tracing::warn!(%error, "a memory could not be written");
                        report.errors.push(error);
                    }
                },
            }
        }
    }

    /// Asks the extractor, again after a failure, as often as configured.
    async fn extract(&self, input: &ExtractionInput) -> Option<Result<Vec<Draft>, ExtractError>> {
        let extractor = self.extractor.as_ref()?;
        let mut left = self.config.extraction_attempts.max(1);
        loop {
            left -= 1;
            match extractor.extract(input).await {
                Err(error) if left > 0 => tracing::debug!(%error, "extraction is tried again"),
                answer => return Some(answer),
            }
        }
    }

    /// A proposal as a memory, if it passes every check.
    fn checked(
        &self,
        draft: &Draft,
        evidence: &Evidence<'_>,
        turn: &TurnTranscript,
    ) -> Result<NewMemory, DropReason> {
        let confidence = draft
            .confidence
            .filter(|confidence| confidence.get() > self.config.min_confidence)
            .ok_or(DropReason::Unsure)?;
        let content = self.clean_content(&draft.content).map_err(|error| match error {
            Error::Secret { .. } => DropReason::Secret,
            _ => DropReason::Unusable,
        })?;
        let draft = Draft { content, ..draft.clone() };
        let Proof { source, mut provenance } = evidence.prove(&draft)?;
        provenance.quote = provenance.quote.map(|quote| masked(&quote));
        let content = finished(&draft, &evidence.input.said_at);
        Ok(NewMemory {
            layer: layer(draft.kind, source),
            kind: draft.kind,
            keep_until: date::over(&content, &turn.time_zone).filter(|_| draft.kind == MemoryKind::Event),
            content,
            attribute: draft.attribute.map(about),
            confidence,
            source,
            provenance: vec![provenance],
            said_at: turn.at,
        })
    }

    async fn learn_implicit(&self, turn: &TurnTranscript, report: &mut LearnReport) {
        let Some(said) = turn.last_user().filter(|_| self.config.implicit.is_on() && self.state.is_some())
        else {
            return;
        };
        for recognizer in &self.recognizers {
            for pattern in recognizer.recognize(turn) {
                let seen = Observation { pattern, session: turn.session, message: said.seq };
                match self.observe(&turn.owner, &seen).await {
                    Ok(Observed::Habit(record)) => report.habits.push(*record),
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "a habit could not be counted");
                        report.errors.push(error);
                    }
                }
            }
        }
    }
}

/// Facts, and what the user asked to remember, are lasting at once; preferences and events have to prove themselves first (R3).
fn layer(kind: MemoryKind, source: MemorySource) -> Layer {
    match (kind, source) {
        (MemoryKind::Fact, _) | (_, MemorySource::UserCommand) => Layer::Semantic,
        _ => Layer::Episodic,
    }
}

/// All the names by which the user is called are one subject.
fn about(key: AttributeKey) -> AttributeKey {
    let user = matches!(key.subject.as_str(), "" | "user" | "the_user" | "用户" | "me" | "self" | "i" | "我");
    if user { AttributeKey { subject: "user".to_owned(), ..key } } else { key }
}

/// The sentence with its value as a quoted span, where it has a key (L2), and with its days as dates.
fn finished(draft: &Draft, said_at: &ZonedDateTime) -> String {
    let mut content = draft.content.clone();
    if let (Some(_), Some(value), None) = (&draft.attribute, &draft.value, quoted(&content)) {
        let value = value.trim();
        if !value.is_empty() && content.matches(value).count() == 1 {
            let marked = if content.is_ascii() { format!("\"{value}\"") } else { format!("「{value}」") };
            content = content.replacen(value, &marked, 1);
        }
    }
    match draft.kind {
        MemoryKind::Event | MemoryKind::Fact => date::resolved(&content, said_at),
        MemoryKind::Preference | MemoryKind::Habit => content,
    }
}
