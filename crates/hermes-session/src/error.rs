//! What can go wrong with a session, as variants that a caller can act on.

use hermes_core::{Entity, FencingToken, HolderId, Seq, SessionId, StoreError};
use jiff::Timestamp;

use crate::budget::BudgetExceeded;

/// An operation on a session failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such session for this user.
    #[error("no session {session} for this user")]
    NotFound {
        /// The session.
        session: SessionId,
    },
    /// Another writer was faster (S9). Nothing was stored: `refresh` the session, look at what came in between and decide anew.
    #[error(
        "session {session} has moved on: its last message is {actual}, not {expected}; refresh it and try again"
    )]
    Conflict {
        /// The session.
        session: SessionId,
        /// The last message that this handle knew.
        expected: Seq,
        /// The last message that the store has.
        actual: Seq,
    },
    /// The lease was lost to another worker (S9): stop driving this session.
    #[error("the lease on session {session} was lost: its fence is {current}, this handle holds {held}")]
    Fenced {
        /// The session.
        session: SessionId,
        /// The fence of this handle.
        held: FencingToken,
        /// The fence that stands.
        current: FencingToken,
    },
    /// Another worker holds the session's lease (S9): wait, or write under a lease of your own.
    #[error("session {session} is leased by {holder} until {until}")]
    Leased {
        /// The session.
        session: SessionId,
        /// Who holds it.
        holder: HolderId,
        /// Until when, unless renewed.
        until: Timestamp,
    },
    /// This handle holds no lease that could be renewed: take one first.
    #[error("this handle holds no lease on session {session}")]
    NotLeased {
        /// The session.
        session: SessionId,
    },
    /// Even the current turn does not fit (S6). Nothing is lost: raise the budget, or shorten what is sent beside the history.
    #[error(transparent)]
    Budget(#[from] BudgetExceeded),
    /// Text that is imported is not an export of a session.
    #[error("line {line} of the import is not usable: {reason}")]
    Import {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The place that an export goes to, or an import comes from, failed.
    #[error("reading or writing the export failed")]
    Io(#[source] std::io::Error),
    /// The store failed in another way.
    #[error("the session store failed")]
    Store(#[source] StoreError),
}

impl Error {
    /// Whether the same may succeed later without any change on the caller's side.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Leased { .. } => true,
            Self::Store(source) => source.is_transient(),
            _ => false,
        }
    }

    /// What a store's error means for this session.
    pub(crate) fn of(session: SessionId, error: StoreError) -> Self {
        match error {
            StoreError::Conflict { session, expected, actual } => {
                Self::Conflict { session, expected, actual }
            }
            StoreError::Fenced { session, held, current } => Self::Fenced { session, held, current },
            StoreError::Leased { session, holder, until } => Self::Leased { session, holder, until },
            StoreError::NotFound { what: Entity::Session, .. } => Self::NotFound { session },
            other => Self::Store(other),
        }
    }
}
