//! Artifacts: the whole of what was shortened for a context (T10, M5).

use std::fmt::{self, Debug};
use std::str::FromStr;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::id::{ArtifactId, Owner, Seq, SessionId};
use crate::page::{Limit, Page, PageRequest};

/// What a shortened text says about where the whole is: `artifact:<id>` or `log:<seq>` (S6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArtifactHandle {
    /// An artifact of the session.
    Artifact(ArtifactId),
    /// A message of the session's own log.
    Log(Seq),
}

impl fmt::Display for ArtifactHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Artifact(id) => write!(f, "artifact:{id}"),
            Self::Log(seq) => write!(f, "log:{seq}"),
        }
    }
}

/// A text that is no handle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a handle: expected artifact:<id> or log:<number>")]
pub struct InvalidHandle;

impl FromStr for ArtifactHandle {
    type Err = InvalidHandle;

    fn from_str(text: &str) -> Result<Self, InvalidHandle> {
        if let Some(id) = text.strip_prefix("artifact:") {
            id.parse().map(Self::Artifact).map_err(|_| InvalidHandle)
        } else if let Some(seq) = text.strip_prefix("log:") {
            seq.parse().map(Self::Log).map_err(|_| InvalidHandle)
        } else {
            Err(InvalidHandle)
        }
    }
}

/// An artifact that is not stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArtifact {
    /// The media type, such as `text/plain; charset=utf-8`.
    pub media_type: String,
    /// What it is called, for people.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// When it was made.
    pub created: Timestamp,
    /// When it may be collected; `None` keeps it as long as its session.
    pub expires: Option<Timestamp>,
}

/// A stored artifact, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRecord {
    /// Its id.
    pub id: ArtifactId,
    /// The session it belongs to.
    pub session: SessionId,
    /// The media type.
    pub media_type: String,
    /// What it is called.
    pub name: String,
    /// How many bytes it has.
    pub size: u64,
    /// When it was made.
    pub created: Timestamp,
    /// When it may be collected.
    pub expires: Option<Timestamp>,
}

/// Keeps artifacts. Each belongs to one session of one owner, and only that session reads it.
///
/// # Contract
/// - **AR1** `put` stores the bytes under a new id; `get` gives the record and `read` the bytes, equal.
/// - **AR2** `read` gives the bytes from `offset`, at most `length`; beyond the end it gives none.
/// - **AR3** An artifact of another owner or another session is not there: `get` gives `None`, `read` fails with [`StoreError::NotFound`], `delete` gives `false`.
/// - **AR4** `list` gives a session's artifacts, newest first (then by id, descending), in pages.
/// - **AR5** `delete` removes one and says whether there was one.
/// - **AR6** `erase_user` and `erase_session` remove all of an owner's, or of a session's, and nothing else, and say how many.
/// - **AR7** `collect` removes artifacts whose expiry is at or before `now`, at most `limit`, and never one without expiry.
#[async_trait]
pub trait ArtifactStore: Debug + Send + Sync + 'static {
    /// Stores an artifact.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn put(
        &self,
        owner: &Owner,
        session: SessionId,
        artifact: NewArtifact,
    ) -> Result<ArtifactRecord, StoreError>;

    /// Gives an artifact's record.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn get(
        &self,
        owner: &Owner,
        session: SessionId,
        id: ArtifactId,
    ) -> Result<Option<ArtifactRecord>, StoreError>;

    /// Reads at most `length` bytes from `offset`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or a failure of the backend.
    async fn read(
        &self,
        owner: &Owner,
        session: SessionId,
        id: ArtifactId,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, StoreError>;

    /// Lists a session's artifacts, newest first.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a cursor that is not this store's, or a failure of the backend.
    async fn list(
        &self,
        owner: &Owner,
        session: SessionId,
        page: &PageRequest,
    ) -> Result<Page<ArtifactRecord>, StoreError>;

    /// Removes an artifact; says whether there was one.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn delete(&self, owner: &Owner, session: SessionId, id: ArtifactId) -> Result<bool, StoreError>;

    /// Removes all artifacts of an owner; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;

    /// Removes all artifacts of a session; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;

    /// Removes expired artifacts, at most `limit`; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_read_back_from_their_text() {
        for handle in [ArtifactHandle::Artifact(ArtifactId::generate()), ArtifactHandle::Log(Seq::new(42))] {
            assert_eq!(handle.to_string().parse(), Ok(handle));
        }
        for wrong in ["", "artifact:", "artifact:12", "log:", "log:-1", "file:x"] {
            assert_eq!(wrong.parse::<ArtifactHandle>(), Err(InvalidHandle), "{wrong}");
        }
    }
}
