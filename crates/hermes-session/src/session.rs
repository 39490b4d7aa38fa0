//! One session: the one door into its log, its history and its context.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_core::{
    Body, ContextMetadata, Entity, FencingToken, HolderId, Lease, LogPage, LogQuery, Message, NewMessage,
    NewSession, Owner, Seq, SessionId, SessionRecord, StoreError, StoredSession, TokenCount, WriteGuard,
};
use tracing::instrument;

use crate::count::count_message;
use crate::error::Error;
use crate::sessions::Parts;
use crate::window::chat_of;

/// A live handle to a session. Clones share what is known about the session: its last message and the lease.
///
/// The handle knows the place of the last message it has seen and tells the store, so that a message that another writer
/// appended meanwhile is never overlooked: [`Session::append`] then fails with [`Error::Conflict`], and [`Session::refresh`]
/// takes note of what is new. An append whose future is dropped before it ends may or may not have been stored; the next one then
/// fails in the same way.
#[derive(Debug, Clone)]
pub struct Session {
    pub(crate) parts: Arc<Parts>,
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) id: SessionId,
    pub(crate) owner: Owner,
    state: Mutex<State>,
}

#[derive(Debug, Clone)]
struct State {
    record: SessionRecord,
    last: Seq,
    context: ContextMetadata,
    lease: Option<Lease>,
}

/// One or several messages, for [`Session::append`].
#[derive(Debug, Clone, Default)]
pub struct Batch(Vec<NewMessage>);

impl From<NewMessage> for Batch {
    fn from(message: NewMessage) -> Self {
        Self(vec![message])
    }
}

impl From<Vec<NewMessage>> for Batch {
    fn from(messages: Vec<NewMessage>) -> Self {
        Self(messages)
    }
}

impl<const N: usize> From<[NewMessage; N]> for Batch {
    fn from(messages: [NewMessage; N]) -> Self {
        Self(messages.into())
    }
}

impl Session {
    pub(crate) fn of(parts: Arc<Parts>, stored: StoredSession) -> Self {
        let StoredSession { record, state } = stored;
        let (id, owner) = (record.id, record.owner.clone());
        let state = State { record, last: state.last, context: state.context, lease: None };
        Self { parts, shared: Arc::new(Shared { id, owner, state: Mutex::new(state) }) }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.shared.id
    }

    /// Whose it is.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.shared.owner
    }

    /// Who it is, as last seen.
    #[must_use]
    pub fn record(&self) -> SessionRecord {
        self.state().record.clone()
    }

    /// The place of the last message, as last seen; [`Seq::START`] for an empty log.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.state().last
    }

    /// What is known about its context, as last seen: the summary, what it covers, marks made by call.
    #[must_use]
    pub fn metadata(&self) -> ContextMetadata {
        self.state().context.clone()
    }

    /// The lease that this handle holds, if it holds one.
    #[must_use]
    pub fn held_lease(&self) -> Option<Lease> {
        self.state().lease.clone()
    }

    /// Nothing panics while the lock is held, so a poisoned one still holds a whole state.
    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note_context(&self, context: ContextMetadata) {
        self.state().context = context;
    }

    pub(crate) fn guard(&self) -> WriteGuard {
        let at = self.parts.clock.now();
        let fence: Option<FencingToken> = self.state().lease.as_ref().map(|lease| lease.fence);
        WriteGuard { at, fence }
    }

    pub(crate) fn failed(&self, error: StoreError) -> Error {
        Error::of(self.shared.id, error)
    }

    /// Adds messages to the log: the one door (S3). All of them are stored, at consecutive places, or none.
    ///
    /// It counts their tokens and lets the [`StickyPolicy`](crate::StickyPolicy) look at what the user says.
    ///
    /// # Errors
    /// [`Error::Conflict`] when another writer was faster, [`Error::Fenced`] when the lease was lost, [`Error::Leased`] when another
    /// worker holds one, or a failure of the backend. Nothing is stored then.
    pub async fn append(&self, messages: impl Into<Batch> + Send) -> Result<Vec<Message>, Error> {
        self.append_all(messages.into().0).await
    }

    /// The same for a list of messages.
    ///
    /// # Errors
    /// As [`Session::append`].
    #[instrument(name = "session.append", skip_all, fields(session = %self.shared.id, messages = messages.len()))]
    pub async fn append_all(&self, mut messages: Vec<NewMessage>) -> Result<Vec<Message>, Error> {
        for message in &mut messages {
            self.count(message);
            // Only what the user says is looked at; everything else is sticky by call.
            if !message.sticky && matches!(message.body, Body::User { .. }) {
                message.sticky = self.parts.sticky.is_sticky(message).await;
            }
        }
        let (expected, guard) = (self.last(), self.guard());
        let store = &self.parts.store;
        let stored = store.append(&self.shared.owner, self.shared.id, expected, &messages, guard).await;
        let stored = stored.map_err(|error| self.failed(error))?;
        if let Some(last) = stored.last() {
            let mut state = self.state();
            state.last = state.last.max(last.seq());
        }
        Ok(stored)
    }

    fn count(&self, message: &mut NewMessage) {
        let counter = self.parts.counter.as_ref();
        if message.tokens.as_ref().is_none_or(|count| &count.counter != counter.id()) {
            // A journal entry is never sent, so it has no count.
            message.tokens = chat_of(&message.body, message.provider.clone()).map(|chat| TokenCount {
                tokens: count_message(counter, &chat),
                counter: counter.id().clone(),
            });
        }
    }

    /// Takes note of what other writers did; gives the place of the last message.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the session is gone, or a failure of the backend.
    #[instrument(name = "session.refresh", skip_all, fields(session = %self.shared.id))]
    pub async fn refresh(&self) -> Result<Seq, Error> {
        let stored = self.stored().await?;
        let mut state = self.state();
        state.record = stored.record;
        state.last = stored.state.last;
        state.context = stored.state.context;
        Ok(state.last)
    }

    async fn stored(&self) -> Result<StoredSession, Error> {
        let stored = self
            .parts
            .store
            .get(&self.shared.owner, self.shared.id)
            .await
            .map_err(|error| self.failed(error))?;
        stored.ok_or(Error::NotFound { session: self.shared.id })
    }

    /// Reads a part of the log: the full trajectory, whatever was trimmed from contexts (S3).
    ///
    /// # Errors
    /// [`Error::NotFound`] when the session is gone, or a failure of the backend.
    #[instrument(name = "session.history", skip_all, fields(session = %self.shared.id))]
    pub async fn history(&self, query: &LogQuery) -> Result<LogPage, Error> {
        self.parts
            .store
            .page(&self.shared.owner, self.shared.id, query)
            .await
            .map_err(|error| self.failed(error))
    }

    /// Reads one message; `None` where there is none at this place.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the session is gone, or a failure of the backend.
    #[instrument(name = "session.message", skip_all, fields(session = %self.shared.id, seq = %seq))]
    pub async fn message(&self, seq: Seq) -> Result<Option<Message>, Error> {
        let found = self.parts.store.messages(&self.shared.owner, self.shared.id, &[seq]).await;
        Ok(found.map_err(|error| self.failed(error))?.pop())
    }

    /// Changes the title.
    ///
    /// # Errors
    /// [`Error::Fenced`], [`Error::Leased`], [`Error::Store`] for a title that is too long, or a failure of the backend.
    #[instrument(name = "session.rename", skip_all, fields(session = %self.shared.id))]
    pub async fn rename(&self, title: &str) -> Result<(), Error> {
        let guard = self.guard();
        let done = self.parts.store.rename(&self.shared.owner, self.shared.id, title, guard).await;
        done.map_err(|error| self.failed(error))?;
        title.clone_into(&mut self.state().record.title);
        Ok(())
    }

    /// Begins another session with the messages up to and including `at`.
    ///
    /// # Errors
    /// [`Error::Store`] for a place beyond the last message, or a failure of the backend.
    #[instrument(name = "session.fork", skip_all, fields(session = %self.shared.id, at = %at))]
    pub async fn fork(&self, at: Seq, title: impl Into<String> + Send) -> Result<Self, Error> {
        let mut new = NewSession::new(self.shared.owner.clone(), title, self.parts.clock.now());
        new.time_zone = self.record().time_zone;
        let fork = self.parts.store.fork(&self.shared.owner, self.shared.id, at, &new).await;
        Ok(Self::of(Arc::clone(&self.parts), fork.map_err(|error| self.failed(error))?))
    }

    /// Marks a message as never to be trimmed, after its append (S5). Marking it twice does nothing more.
    ///
    /// # Errors
    /// [`Error::Store`] for a place without a message, [`Error::Fenced`], [`Error::Leased`], or a failure of the backend.
    #[instrument(name = "session.mark_sticky", skip_all, fields(session = %self.shared.id, seq = %seq))]
    pub async fn mark_sticky(&self, seq: Seq) -> Result<(), Error> {
        if self.message(seq).await?.is_none() {
            return Err(Error::Store(StoreError::NotFound { what: Entity::Message, id: seq.to_string() }));
        }
        let mut context = self.stored().await?.state.context;
        if let Err(place) = context.sticky.binary_search(&seq) {
            context.sticky.insert(place, seq);
            self.put_context(context).await?;
        }
        Ok(())
    }

    pub(crate) async fn put_context(&self, context: ContextMetadata) -> Result<(), Error> {
        let guard = self.guard();
        let done = self.parts.store.put_context(&self.shared.owner, self.shared.id, &context, guard).await;
        done.map_err(|error| self.failed(error))?;
        self.note_context(context);
        Ok(())
    }

    /// Deletes the session with its log, context and lease; says whether there was one.
    ///
    /// # Errors
    /// [`Error::Fenced`], [`Error::Leased`], or a failure of the backend.
    #[instrument(name = "session.delete", skip_all, fields(session = %self.shared.id))]
    pub async fn delete(&self) -> Result<bool, Error> {
        let guard = self.guard();
        let done = self.parts.store.delete(&self.shared.owner, self.shared.id, guard).await;
        done.map_err(|error| self.failed(error))
    }

    /// Takes the session's lease for `ttl`, so that no other worker writes to it (S9). Later writes of this handle and its
    /// clones carry the fence. Call [`Session::refresh`] afterwards where another worker may have written before.
    ///
    /// # Errors
    /// [`Error::Leased`] while another worker holds it, [`Error::NotFound`], or a failure of the backend.
    #[instrument(name = "session.lease", skip_all, fields(session = %self.shared.id))]
    pub async fn lease(&self, holder: &HolderId, ttl: Duration) -> Result<Lease, Error> {
        let at = self.parts.clock.now();
        let lease = self.parts.store.acquire(&self.shared.owner, self.shared.id, holder, ttl, at).await;
        let lease = lease.map_err(|error| self.failed(error))?;
        self.state().lease = Some(lease.clone());
        Ok(lease)
    }

    /// Makes the lease last for `ttl` from now.
    ///
    /// # Errors
    /// [`Error::NotLeased`] when this handle holds none, [`Error::Fenced`] when it was lost, or a failure of the backend.
    #[instrument(name = "session.renew", skip_all, fields(session = %self.shared.id))]
    pub async fn renew(&self, ttl: Duration) -> Result<Lease, Error> {
        let lease = self.held_lease().ok_or(Error::NotLeased { session: self.shared.id })?;
        let renewed = self.parts.store.renew(&lease, ttl, self.parts.clock.now()).await;
        let renewed = renewed.map_err(|error| self.failed(error))?;
        self.state().lease = Some(renewed.clone());
        Ok(renewed)
    }

    /// Gives the lease back; does nothing when this handle holds none or has lost it.
    ///
    /// # Errors
    /// A failure of the backend.
    #[instrument(name = "session.release", skip_all, fields(session = %self.shared.id))]
    pub async fn release(&self) -> Result<(), Error> {
        let Some(lease) = self.held_lease() else { return Ok(()) };
        self.parts.store.release(&lease).await.map_err(|error| self.failed(error))?;
        let mut state = self.state();
        // Another clone may have taken a new one meanwhile.
        if state.lease.as_ref().is_some_and(|held| held.fence == lease.fence) {
            state.lease = None;
        }
        Ok(())
    }
}
