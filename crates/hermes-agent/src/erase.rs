//! Erasing what hangs on a session or a user, in every store the agent has (S10, decision 9).

use std::sync::Arc;
use std::time::Duration;

use hermes_core::{ArtifactStore, Entity, HolderId, IdempotencyStore, Owner, PageRequest, StoreError};
use hermes_session::Session;

use crate::agent::Agent;
use crate::error::Error;

/// How long a deletion may take.
const DELETING: Duration = Duration::from_secs(60);

/// The stores that only erasing needs by themselves.
#[derive(Debug, Default)]
pub(crate) struct Erasable {
    pub(crate) artifacts: Option<Arc<dyn ArtifactStore>>,
    pub(crate) idempotency: Option<Arc<dyn IdempotencyStore>>,
}

impl Agent {
    /// Deletes a session with everything that hangs on it: its log, artifacts, idempotency keys and state. Memories stay: they are the user's, not
    /// the session's. Says whether there was such a session.
    ///
    /// The log goes first, under a lease, so that no worker goes on from it without the records of what it has done.
    ///
    /// # Errors
    /// [`Error::is_busy`] while another worker drives the session; nothing is deleted then. Otherwise a failure of a store.
    pub async fn delete_session(&self, session: &Session) -> Result<bool, Error> {
        session.lease(&HolderId::generate(), DELETING).await?;
        let deleted = session.delete().await?;
        let (owner, id) = (session.owner(), session.id());
        if let Some(artifacts) = &self.parts.erasable.artifacts {
            artifacts.erase_session(owner, id).await?;
        }
        if let Some(keys) = &self.parts.erasable.idempotency {
            keys.erase_session(owner, id).await?;
        }
        if let Some(state) = &self.parts.state {
            state.erase_session(owner, id).await?;
        }
        Ok(deleted)
    }

    /// Erases a user in every store: sessions, memories with their vectors, artifacts, keys and state; then looks whether anything is left.
    /// Says how many things were removed.
    ///
    /// # Errors
    /// A failure of a store, or [`StoreError::Exists`] when something came while the erasing went on: erase again.
    pub async fn erase_user(&self, owner: &Owner) -> Result<u64, Error> {
        let mut erased = self.parts.sessions.erase_user(owner).await?;
        if let Some(memory) = &self.parts.memory {
            erased += memory.erase_user(owner).await.map_err(Error::Memory)?;
        }
        if let Some(artifacts) = &self.parts.erasable.artifacts {
            erased += artifacts.erase_user(owner).await?;
        }
        if let Some(keys) = &self.parts.erasable.idempotency {
            erased += keys.erase_user(owner).await?;
        }
        if let Some(state) = &self.parts.state {
            erased += state.erase_user(owner).await?;
        }
        self.verify_erased(owner).await?;
        Ok(erased)
    }

    async fn verify_erased(&self, owner: &Owner) -> Result<(), Error> {
        let sessions = self.parts.sessions.list(owner, &PageRequest::default()).await?;
        if let Some(left) = sessions.items.first() {
            return Err(StoreError::Exists { what: Entity::Session, id: left.record.id.to_string() }.into());
        }
        if let Some(memory) = &self.parts.memory
            && let Some(left) = memory.export(owner).await.map_err(Error::Memory)?.first()
        {
            return Err(StoreError::Exists { what: Entity::Memory, id: left.id.to_string() }.into());
        }
        Ok(())
    }
}
