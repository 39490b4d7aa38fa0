//! Why a turn could not be driven to its end.

use hermes_core::{ModelError, StoreError};

/// An agent could not be built: a required part is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an agent needs {part}: call `{method}` on its builder")]
pub struct BuildError {
    pub(crate) part: &'static str,
    pub(crate) method: &'static str,
}

impl BuildError {
    /// What is missing, such as `a model`.
    #[must_use]
    pub fn part(&self) -> &'static str {
        self.part
    }
}

/// A turn ended before its answer. The log is valid all the same: the next turn goes on from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The session could not be read or written, or its current turn does not fit the model.
    #[error(transparent)]
    Session(#[from] hermes_session::Error),
    /// Another store failed.
    #[error("a store failed while the turn ran")]
    Store(#[from] StoreError),
    /// The memory failed in an operation of its own; a recall or a lesson that fails does not fail a turn.
    #[error("the memory failed")]
    Memory(#[source] hermes_memory::Error),
    /// No model answered, the fallbacks included. The last one's error is the source.
    #[error("no model answered ({model} was the last one asked)")]
    Model {
        /// The last model that was asked.
        model: String,
        /// What it said.
        #[source]
        source: ModelError,
    },
    /// The tools' schemas and the room for the answer leave no room for messages.
    #[error(
        "the model's window of {window} tokens leaves no room beside {reserved} tokens of tool schemas and answer"
    )]
    NoRoom {
        /// The model's window.
        window: u32,
        /// What tools and answer take.
        reserved: u32,
    },
    /// The user said nothing. Nothing was logged.
    #[error("there is nothing to answer: the message has no text and no file")]
    Blank,
    /// The task that drove the turn ended abnormally.
    #[error("the turn's task ended abnormally: {reason}")]
    Task {
        /// What the runtime says.
        reason: String,
    },
}

impl Error {
    /// Whether another worker drives the session: wait, or leave it to that one.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Session(hermes_session::Error::Leased { .. }))
    }
}
