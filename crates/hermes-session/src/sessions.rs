//! All sessions of a store: create, open, list, search, import, delete (S10).

use std::sync::Arc;

use hermes_core::{
    Clock, NewSession, Owner, Page, PageRequest, SearchHit, SearchQuery, SessionId, SessionStore,
    StoredSession, Summarizer, SystemClock, TokenCounter, WriteGuard,
};
use tracing::instrument;

use crate::config::SessionConfig;
use crate::count::EstimateCounter;
use crate::error::Error;
use crate::session::Session;
use crate::sticky::{RuleSticky, StickyPolicy};

/// What every session of a store shares.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) summarizer: Option<Arc<dyn Summarizer>>,
    pub(crate) sticky: Arc<dyn StickyPolicy>,
    pub(crate) config: SessionConfig,
}

/// The sessions of a store. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Sessions {
    parts: Arc<Parts>,
}

impl Sessions {
    /// The sessions of this store, with the defaults: tokens by estimate, the system's clock, no model for summaries, sticky by rule.
    #[must_use]
    pub fn new(store: impl SessionStore) -> Self {
        Self::from_arc(Arc::new(store))
    }

    /// The same for a store that is shared already.
    #[must_use]
    pub fn from_arc(store: Arc<dyn SessionStore>) -> Self {
        let parts = Parts {
            store,
            counter: Arc::new(EstimateCounter::new()),
            clock: Arc::new(SystemClock),
            summarizer: None,
            sticky: Arc::new(RuleSticky),
            config: SessionConfig::default(),
        };
        Self { parts: Arc::new(parts) }
    }

    /// Counts tokens with this counter.
    #[must_use]
    pub fn with_counter(self, counter: impl TokenCounter) -> Self {
        self.change(|parts| parts.counter = Arc::new(counter))
    }

    /// Takes the time from this clock.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock) -> Self {
        self.change(|parts| parts.clock = Arc::new(clock))
    }

    /// Lets a model write the summaries (S4); the digest stands in where it fails.
    #[must_use]
    pub fn with_summarizer(self, summarizer: impl Summarizer) -> Self {
        self.change(|parts| parts.summarizer = Some(Arc::new(summarizer)))
    }

    /// Decides by this policy which messages are sticky (S5).
    #[must_use]
    pub fn with_sticky_policy(self, policy: impl StickyPolicy) -> Self {
        self.change(|parts| parts.sticky = Arc::new(policy))
    }

    /// Uses these settings.
    #[must_use]
    pub fn with_config(self, config: SessionConfig) -> Self {
        self.change(|parts| parts.config = config)
    }

    fn change(self, change: impl FnOnce(&mut Parts)) -> Self {
        let mut parts = Arc::unwrap_or_clone(self.parts);
        change(&mut parts);
        Self { parts: Arc::new(parts) }
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &SessionConfig {
        &self.parts.config
    }

    /// The store, for what it offers beyond sessions.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn SessionStore> {
        &self.parts.store
    }

    /// The counter.
    #[must_use]
    pub fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.parts.counter
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.parts.clock
    }

    /// Begins a new conversation.
    ///
    /// # Errors
    /// [`Error::Store`]: a title that is too long, or a failure of the backend.
    pub async fn create(&self, owner: &Owner, title: impl Into<String> + Send) -> Result<Session, Error> {
        let new = NewSession::new(owner.clone(), title, self.parts.clock.now());
        self.create_with(new).await
    }

    /// Begins a new conversation whose id, time zone or time of creation the caller chose.
    ///
    /// # Errors
    /// [`Error::Store`]: an id that is taken, a title that is too long, or a failure of the backend.
    #[instrument(name = "session.create", skip_all, fields(session = %new.id))]
    pub async fn create_with(&self, new: NewSession) -> Result<Session, Error> {
        let stored = self.parts.store.create(&new).await.map_err(|error| Error::of(new.id, error))?;
        Ok(Session::of(Arc::clone(&self.parts), stored))
    }

    /// Opens a session of this owner.
    ///
    /// # Errors
    /// [`Error::NotFound`], also when the session is another owner's; or a failure of the backend.
    #[instrument(name = "session.open", skip_all, fields(session = %session))]
    pub async fn open(&self, owner: &Owner, session: SessionId) -> Result<Session, Error> {
        let stored = self.parts.store.get(owner, session).await.map_err(|error| Error::of(session, error))?;
        let stored = stored.ok_or(Error::NotFound { session })?;
        Ok(Session::of(Arc::clone(&self.parts), stored))
    }

    /// Lists an owner's sessions, last changed first.
    ///
    /// # Errors
    /// [`Error::Store`]: a cursor of another store, or a failure of the backend.
    #[instrument(name = "session.list", skip_all)]
    pub async fn list(&self, owner: &Owner, page: &PageRequest) -> Result<Page<StoredSession>, Error> {
        self.parts.store.list(owner, page).await.map_err(Error::Store)
    }

    /// Finds messages in an owner's sessions, newest first: those that hold all words of the text, in English or Chinese.
    ///
    /// # Errors
    /// [`Error::Store`]: a cursor of another store, or a failure of the backend.
    #[instrument(name = "session.search", skip_all)]
    pub async fn search(&self, owner: &Owner, query: &SearchQuery) -> Result<Page<SearchHit>, Error> {
        self.parts.store.search(owner, query).await.map_err(Error::Store)
    }

    /// Deletes a session with its log, context and lease; says whether there was one.
    ///
    /// # Errors
    /// [`Error::Leased`] while a worker drives it, or a failure of the backend.
    #[instrument(name = "session.delete", skip_all, fields(session = %session))]
    pub async fn delete(&self, owner: &Owner, session: SessionId) -> Result<bool, Error> {
        let guard = WriteGuard::unleased(self.parts.clock.now());
        self.parts.store.delete(owner, session, guard).await.map_err(|error| Error::of(session, error))
    }

    /// Deletes all sessions of an owner; says how many there were.
    ///
    /// # Errors
    /// A failure of the backend.
    #[instrument(name = "session.erase_user", skip_all)]
    pub async fn erase_user(&self, owner: &Owner) -> Result<u64, Error> {
        self.parts.store.erase_user(owner).await.map_err(Error::Store)
    }
}
