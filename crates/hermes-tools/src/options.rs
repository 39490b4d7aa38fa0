//! What a call is run with, and what comes of it.

use std::sync::Arc;

use hermes_core::{ApprovalNote, CallStarted, Filled, IdempotencyKey, JsonText, ToolCall, ToolOutcome};
use hermes_text::Language;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::hook::{ArgumentFiller, Journal};

/// What running a call may use beyond the registry's own settings. The default uses nothing.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ExecuteOptions {
    /// Where the call is written down before it runs (L5).
    pub journal: Option<Arc<dyn Journal>>,
    /// Who may supply missing arguments (L2).
    pub filler: Option<Arc<dyn ArgumentFiller>>,
    /// The answer to an earlier [`Executed::Suspended`].
    pub approved: Option<Approved>,
    /// The journal's entry of a run that a crash cut short.
    pub resume: Option<Resume>,
    /// The language of feedback, such as that of the user's message.
    pub language: Option<Language>,
    /// The model that made the call, for the counters (T5).
    pub model: Option<String>,
}

impl ExecuteOptions {
    /// Sets the journal.
    #[must_use]
    pub fn with_journal(mut self, journal: impl Journal) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }

    /// Sets who supplies missing arguments.
    #[must_use]
    pub fn with_filler(mut self, filler: impl ArgumentFiller) -> Self {
        self.filler = Some(Arc::new(filler));
        self
    }

    /// Says that a suspended call was allowed.
    #[must_use]
    pub fn with_approved(mut self, approved: Approved) -> Self {
        self.approved = Some(approved);
        self
    }

    /// Says that the call was started before a crash.
    #[must_use]
    pub fn with_resume(mut self, resume: Resume) -> Self {
        self.resume = Some(resume);
        self
    }

    /// Sets the language of feedback.
    #[must_use]
    pub fn with_language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// Sets the model's name.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }
}

/// What came of running a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Executed {
    /// It has an outcome.
    Done(ToolOutcome),
    /// It waits for a person: nothing was written down, claimed or run (T13).
    Suspended(SuspendedCall),
}

impl Executed {
    /// The outcome, where there is one.
    #[must_use]
    pub fn outcome(&self) -> Option<&ToolOutcome> {
        match self {
            Self::Done(outcome) => Some(outcome),
            Self::Suspended(_) => None,
        }
    }
}

/// A call that waits for a person, with the arguments that the answer is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspendedCall {
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// The arguments that would be executed, after repair and filling.
    pub arguments: JsonText,
    /// The key of the effect, for tools that have one.
    pub key: Option<IdempotencyKey>,
    /// Arguments that memory supplied.
    pub filled: Vec<Filled>,
    /// What was repaired in the arguments' syntax.
    pub repaired: Vec<String>,
    /// What the person is asked.
    pub reason: String,
    /// When it was suspended.
    pub at: Timestamp,
}

/// A suspended call and who allowed it. The call runs with the arguments that were shown, whatever memory says meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    /// What was allowed.
    pub call: SuspendedCall,
    /// By whom and when.
    pub note: ApprovalNote,
}

/// A journal entry without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The entry.
    pub started: CallStarted,
    /// When it was written: the entry's message says so. Past the retention of keys, a missing record proves nothing.
    pub at: Timestamp,
}
