//! What can go wrong, as variants that a caller can act on.

use std::error::Error;
use std::time::Duration;

use jiff::Timestamp;

use crate::id::{EmbedderId, FencingToken, HolderId, Seq, SessionId};

/// Any error, for the source of one of ours.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// What a [`StoreError`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Entity {
    /// A session.
    Session,
    /// A message of a session's log.
    Message,
    /// A memory record.
    Memory,
    /// An artifact.
    Artifact,
    /// An idempotency key.
    Claim,
    /// A state entry.
    State,
    /// A lease.
    Lease,
}

impl std::fmt::Display for Entity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Message => "message",
            Self::Memory => "memory",
            Self::Artifact => "artifact",
            Self::Claim => "idempotency key",
            Self::State => "state entry",
            Self::Lease => "lease",
        })
    }
}

/// Why a store refused or failed.
///
/// Each variant but the last is something the caller can do something about, with the data to do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such thing for this owner. What another owner has is not found either.
    #[error("no {what} {id} for this user")]
    NotFound {
        /// What was looked for.
        what: Entity,
        /// Its id, as text.
        id: String,
    },
    /// Something with this id, or with the same content where only one may be, is there already.
    #[error("{what} {id} exists already")]
    Exists {
        /// What was to be made.
        what: Entity,
        /// The id of the one that is there, as text.
        id: String,
    },
    /// Another writer appended first: load what came and decide anew.
    #[error("session {session} has moved on: its last message is {actual}, not {expected}")]
    Conflict {
        /// The session.
        session: SessionId,
        /// The last sequence that the caller thought there was.
        expected: Seq,
        /// The last sequence there is.
        actual: Seq,
    },
    /// The caller's lease was taken by another: stop writing.
    #[error("the lease on session {session} was lost: its fence is {current}, the caller holds {held}")]
    Fenced {
        /// The session.
        session: SessionId,
        /// The fence that the caller carried.
        held: FencingToken,
        /// The fence that stands.
        current: FencingToken,
    },
    /// Another holder has a live lease: wait, or take it after its expiry.
    #[error("session {session} is leased by {holder} until {until}")]
    Leased {
        /// The session.
        session: SessionId,
        /// Who holds it.
        holder: HolderId,
        /// When the lease ends unless it is renewed.
        until: Timestamp,
    },
    /// A compare-and-set lost: read the present version and decide anew.
    #[error("{what} {id} was changed meanwhile: it is at version {actual}, not {expected}")]
    VersionMismatch {
        /// What was to be changed.
        what: Entity,
        /// Its id, as text.
        id: String,
        /// The version that the caller expected; 0 means "not there".
        expected: u64,
        /// The version there is; 0 means "not there".
        actual: u64,
    },
    /// Vectors of one space were offered to a store that holds another's: re-embed, do not mix (R13).
    #[error("the store holds vectors of {stored}, not of {given}: re-embed its memories first")]
    SpaceMismatch {
        /// The space of what is stored.
        stored: EmbedderId,
        /// The space of what was given.
        given: EmbedderId,
    },
    /// The call itself makes no sense to the store.
    #[error("invalid {what}: {reason}")]
    Invalid {
        /// Which argument.
        what: &'static str,
        /// What is wrong with it and what to do.
        reason: String,
    },
    /// The database was written by a newer Hermes (B4): update this program; nothing was touched.
    #[error(
        "the {backend} database has schema {found}, this program knows up to {supported}: use a newer Hermes"
    )]
    NewerSchema {
        /// The backend.
        backend: &'static str,
        /// The schema version found.
        found: i64,
        /// The newest version this program knows.
        supported: i64,
    },
    /// What is stored cannot be read back.
    #[error("stored {what} is damaged: {reason}")]
    Corrupt {
        /// What was read.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The backend failed.
    #[error("{backend}: {op} failed")]
    Backend {
        /// The backend.
        backend: &'static str,
        /// The operation.
        op: &'static str,
        /// Whether the same call may succeed later.
        transient: bool,
        /// What the backend said.
        #[source]
        source: BoxError,
    },
}

impl StoreError {
    /// Whether the same call, unchanged, may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Backend { transient: true, .. } | Self::Leased { .. })
    }
}

/// Why a model did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The service asks to wait.
    #[error("the model service is limiting requests{}", after(*retry_after))]
    RateLimited {
        /// How long to wait, where the service said so.
        retry_after: Option<Duration>,
    },
    /// No connection could be made.
    #[error("cannot reach the model service at {url}")]
    Unreachable {
        /// The address, without credentials.
        url: String,
        /// What the connection said.
        #[source]
        source: BoxError,
    },
    /// The key is missing, wrong or not allowed to do this.
    #[error("the model service refused the credentials ({status})")]
    Unauthorized {
        /// The HTTP status.
        status: u16,
    },
    /// The request holds more tokens than the model takes.
    #[error("the request does not fit the model's context: {message}")]
    ContextTooLong {
        /// What the service said.
        message: String,
    },
    /// The service found the request wrong; sending it again will not help.
    #[error("the model service refused the request ({status}): {message}")]
    InvalidRequest {
        /// The HTTP status.
        status: u16,
        /// What the service said.
        message: String,
    },
    /// The service failed.
    #[error("the model service failed ({status}): {message}")]
    Server {
        /// The HTTP status.
        status: u16,
        /// What the service said.
        message: String,
    },
    /// Nothing came for too long.
    #[error("the model service sent nothing for {waited:?}")]
    TimedOut {
        /// How long was waited.
        waited: Duration,
    },
    /// The answer broke off before its end.
    #[error("the model's answer broke off")]
    Interrupted {
        /// What broke.
        #[source]
        source: Option<BoxError>,
    },
    /// The answer is not what the protocol says.
    #[error("the model service sent something unreadable: {reason}")]
    BadResponse {
        /// What is wrong with it.
        reason: String,
    },
    /// The client could not be set up.
    #[error("the model client is not usable: {reason}")]
    Config {
        /// What is wrong and what to do.
        reason: String,
    },
}

fn after(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |wait| format!(", retry after {} s", wait.as_secs_f32().ceil()))
}

impl ModelError {
    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Unreachable { .. }
                | Self::Server { .. }
                | Self::TimedOut { .. }
                | Self::Interrupted { .. }
        )
    }

    /// How long the service asks to wait, where it said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } => *retry_after,
            _ => None,
        }
    }
}

/// Why a text got no vector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The numbers are no vector: none, or one that is not finite.
    #[error("not a vector: {reason}")]
    NotAVector {
        /// What is wrong with the numbers.
        reason: &'static str,
    },
    /// The service gave vectors of another length than its description says.
    #[error("the embedder gave {actual} numbers where its space has {expected}")]
    Dimension {
        /// The length of the space.
        expected: usize,
        /// The length that came.
        actual: usize,
    },
    /// The service behind the embedder did not answer as it should.
    #[error("the embedding service failed")]
    Service(#[source] ModelError),
    /// The embedder failed otherwise.
    #[error("embedding failed: {reason}")]
    Failed {
        /// What happened.
        reason: String,
    },
}

impl EmbedError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Service(source) if source.is_transient())
    }
}
