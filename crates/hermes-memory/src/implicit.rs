//! Habits: what the user does again and again, counted (R4).

use std::fmt::Debug;

use hermes_core::{
    Expected, JsonText, Layer, MemoryId, MemoryKind, MemoryRecord, MemorySource, NewState, Owner, Provenance,
    Score, Seq, SessionId, StateKey, StoreError,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::memory::Memory;
use crate::transcript::TurnTranscript;
use crate::write::NewMemory;

/// The namespace of the counters in the state store.
pub const HABIT_NAMESPACE: &str = "hermes.memory.habit";

/// How often a counter is tried again when others change it at the same time.
const TRIES: usize = 16;

/// Recognises patterns of behaviour in a turn.
pub trait HabitRecognizer: Debug + Send + Sync + 'static {
    /// The patterns of a turn.
    fn recognize(&self, turn: &TurnTranscript) -> Vec<Pattern>;
}

/// A pattern of behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// What is counted, such as `weather.then_tomorrow`.
    pub key: String,
    /// The sentence that is remembered once it is a habit, in the user's language.
    pub description: String,
}

/// One occurrence of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The pattern.
    pub pattern: Pattern,
    /// The session it was seen in.
    pub session: SessionId,
    /// The user's message it was seen in; the same one does not count twice.
    pub message: Seq,
}

/// What came of an observation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Observed {
    /// The implicit path is switched off: nothing was counted.
    Off,
    /// It was counted.
    Counted {
        /// How often it has been seen.
        count: u32,
    },
    /// It was seen often enough, and is a memory from now on.
    Habit(Box<MemoryRecord>),
}

/// A counter as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Counter {
    count: u32,
    /// The last occurrences, at most as many as a habit needs: its proof.
    seen: Vec<(SessionId, Seq)>,
    memory: Option<MemoryId>,
}

impl Memory {
    /// Counts an occurrence of a pattern. The fourth (above [`crate::MemoryConfig::habit_threshold`]) makes a habit memory, once: a habit
    /// that the user removed does not come back.
    ///
    /// # Errors
    /// [`Error::NoState`] without a state store, or a failure of a store.
    pub async fn observe(&self, owner: &Owner, observation: &Observation) -> Result<Observed, Error> {
        if !self.config.implicit.is_on() {
            return Ok(Observed::Off);
        }
        let state = self.state.as_ref().ok_or(Error::NoState)?;
        let key = StateKey::new(HABIT_NAMESPACE, counter_key(&observation.pattern.key));
        let place = (observation.session, observation.message);
        for _ in 0..TRIES {
            let now = self.clock.now();
            let entry = state.get(owner, &key).await?;
            let expected = entry.as_ref().map_or(Expected::Absent, |entry| Expected::At(entry.version));
            let mut counter: Counter = match &entry {
                Some(entry) => {
                    entry.value.read().map_err(|source| Error::Corrupt { what: "habit counter", source })?
                }
                None => Counter::default(),
            };
            let seen_before = counter.seen.contains(&place);
            if !seen_before {
                counter.count = counter.count.saturating_add(1);
                counter.seen.push(place);
                let keep =
                    usize::try_from(self.config.habit_threshold).unwrap_or(usize::MAX).saturating_add(1);
                let excess = counter.seen.len().saturating_sub(keep);
                counter.seen.drain(..excess);
            }
            let mut made = None;
            if counter.memory.is_none() && counter.count > self.config.habit_threshold {
                let record = self.make_habit(owner, observation, &counter, now).await?;
                counter.memory = Some(record.id);
                made = Some(record);
            } else if seen_before {
                return Ok(Observed::Counted { count: counter.count });
            }
            match state.put(owner, &key, &new_state(&counter, now)?, expected).await {
                Ok(_) => {
                    return Ok(made.map_or(Observed::Counted { count: counter.count }, |record| {
                        Observed::Habit(Box::new(record))
                    }));
                }
                Err(StoreError::VersionMismatch { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { what: "habit counter" })
    }

    /// Writes the habit; of several who do so at once, the store lets one win, and all get that one.
    async fn make_habit(
        &self,
        owner: &Owner,
        observation: &Observation,
        counter: &Counter,
        now: Timestamp,
    ) -> Result<MemoryRecord, Error> {
        let mut provenance: Vec<Provenance> = Vec::new();
        for (session, seq) in &counter.seen {
            match provenance.iter_mut().find(|p| p.session == *session) {
                Some(known) => known.messages.push(*seq),
                None => provenance.push(Provenance { session: *session, messages: vec![*seq], quote: None }),
            }
        }
        let new = NewMemory {
            layer: Layer::Semantic,
            kind: MemoryKind::Habit,
            content: self.clean_content(&observation.pattern.description)?,
            attribute: None,
            // It was counted, not guessed.
            confidence: Score::ONE,
            source: MemorySource::Implicit,
            provenance,
            said_at: now,
            keep_until: None,
        };
        self.create_once(self.record(owner, new, now)).await
    }
}

fn new_state(counter: &Counter, at: Timestamp) -> Result<NewState, Error> {
    let value = JsonText::of(counter).map_err(|source| Error::Corrupt { what: "habit counter", source })?;
    Ok(NewState { value, session: None, at, expires: None })
}

/// A pattern's key as a state key: readable, and of bounded length.
fn counter_key(pattern: &str) -> String {
    const READABLE: usize = 128;
    if pattern.len() <= READABLE {
        return pattern.to_owned();
    }
    let digest = Sha256::digest(pattern.as_bytes());
    let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{}~{hash}", hermes_text::truncate_bytes(pattern, READABLE))
}

/// Counts which tools the user's wishes come to: a user who often books at the same service has that habit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolHabits;

impl HabitRecognizer for ToolHabits {
    fn recognize(&self, turn: &TurnTranscript) -> Vec<Pattern> {
        let mut names: Vec<&String> = turn.tools_used.iter().collect();
        names.sort();
        names.dedup();
        let chinese = turn
            .last_user()
            .is_some_and(|said| hermes_text::lang::guess(&said.text) == hermes_text::Language::Chinese);
        names
            .into_iter()
            .map(|name| Pattern {
                key: format!("tool.{name}"),
                description: if chinese {
                    format!("用户经常提出需要使用工具「{name}」的请求")
                } else {
                    format!("The user often asks for what the tool \"{name}\" does")
                },
            })
            .collect()
    }
}
