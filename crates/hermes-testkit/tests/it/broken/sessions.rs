//! A session store with one fault.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use hermes_core::{
    ContextMetadata, HolderId, JsonText, Lease, LeaseStore, Limit, LogPage, LogQuery, Message, NewMessage,
    NewSession, Owner, Page, PageRequest, SearchHit, SearchQuery, Seq, SessionId, SessionStore, StoreError,
    StoredSession, WriteGuard, async_trait,
};
use hermes_inmemory::InMemoryStore;
use jiff::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionFault {
    IgnoresExpected,
    LeaksInList,
    LeaksInGet,
    AcceptsAnyFence,
    GuessesMore,
    RewritesJson,
    KeepsMilliseconds,
    ForksEverySummary,
    RenewsWhatIsLost,
}

#[derive(Debug)]
pub(crate) struct BrokenSessions {
    inner: InMemoryStore,
    fault: SessionFault,
    owners: Mutex<BTreeSet<Owner>>,
}

impl BrokenSessions {
    pub(crate) fn new(inner: InMemoryStore, fault: SessionFault) -> Self {
        Self { inner, fault, owners: Mutex::default() }
    }

    fn owners(&self) -> Vec<Owner> {
        self.owners.lock().expect("no test panics under this lock").iter().cloned().collect()
    }

    async fn stored(&self, owner: &Owner, session: SessionId) -> Option<StoredSession> {
        SessionStore::get(&self.inner, owner, session).await.ok().flatten()
    }

    /// The guard as the faulty store understands it.
    async fn guard(&self, owner: &Owner, session: SessionId, guard: WriteGuard) -> WriteGuard {
        let present = self.stored(owner, session).await.map(|stored| stored.state.fence);
        match (self.fault, guard.fence, present) {
            (SessionFault::AcceptsAnyFence, Some(_), Some(present)) => {
                WriteGuard { fence: Some(present), ..guard }
            }
            _ => guard,
        }
    }

    fn spoilt(&self, message: &NewMessage, guard: WriteGuard) -> NewMessage {
        let mut message = message.clone();
        match self.fault {
            SessionFault::RewritesJson => {
                for data in message.provider.values_mut() {
                    *data = rewritten(data);
                }
            }
            SessionFault::KeepsMilliseconds => {
                let at = message.created.unwrap_or(guard.at).as_millisecond();
                message.created = Timestamp::from_millisecond(at).ok();
            }
            _ => {}
        }
        message
    }
}

/// JSON as it is after someone parsed it and wrote it again.
pub(crate) fn rewritten(json: &JsonText) -> JsonText {
    JsonText::from(&json.read::<serde_json::Value>().expect("it is JSON"))
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl LeaseStore for BrokenSessions {
    async fn acquire(
        &self,
        owner: &Owner,
        session: SessionId,
        holder: &HolderId,
        ttl: Duration,
        at: Timestamp,
    ) -> Result<Lease, StoreError> {
        self.inner.acquire(owner, session, holder, ttl, at).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration, at: Timestamp) -> Result<Lease, StoreError> {
        match self.inner.renew(lease, ttl, at).await {
            Err(StoreError::Fenced { .. }) if self.fault == SessionFault::RenewsWhatIsLost => {
                Ok(Lease { expires: at + ttl, ..lease.clone() })
            }
            result => result,
        }
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        LeaseStore::release(&self.inner, lease).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl SessionStore for BrokenSessions {
    async fn create(&self, session: &NewSession) -> Result<StoredSession, StoreError> {
        self.owners.lock().expect("no test panics under this lock").insert(session.owner.clone());
        SessionStore::create(&self.inner, session).await
    }

    async fn get(&self, owner: &Owner, session: SessionId) -> Result<Option<StoredSession>, StoreError> {
        if self.fault == SessionFault::LeaksInGet {
            for owner in self.owners() {
                if let Some(stored) = self.stored(&owner, session).await {
                    return Ok(Some(stored));
                }
            }
        }
        SessionStore::get(&self.inner, owner, session).await
    }

    async fn list(&self, owner: &Owner, page: &PageRequest) -> Result<Page<StoredSession>, StoreError> {
        let mut listed = SessionStore::list(&self.inner, owner, page).await?;
        if self.fault == SessionFault::LeaksInList {
            for other in self.owners().iter().filter(|other| *other != owner) {
                listed.items.extend(SessionStore::list(&self.inner, other, page).await?.items);
            }
        }
        Ok(listed)
    }

    async fn rename(
        &self,
        owner: &Owner,
        session: SessionId,
        title: &str,
        guard: WriteGuard,
    ) -> Result<(), StoreError> {
        let guard = self.guard(owner, session, guard).await;
        self.inner.rename(owner, session, title, guard).await
    }

    async fn append(
        &self,
        owner: &Owner,
        session: SessionId,
        expected: Seq,
        messages: &[NewMessage],
        guard: WriteGuard,
    ) -> Result<Vec<Message>, StoreError> {
        let guard = self.guard(owner, session, guard).await;
        let messages: Vec<_> = messages.iter().map(|message| self.spoilt(message, guard)).collect();
        let mut result = self.inner.append(owner, session, expected, &messages, guard).await;
        while let (SessionFault::IgnoresExpected, Err(StoreError::Conflict { actual, .. })) =
            (self.fault, &result)
        {
            result = self.inner.append(owner, session, *actual, &messages, guard).await;
        }
        result
    }

    async fn page(&self, owner: &Owner, session: SessionId, query: &LogQuery) -> Result<LogPage, StoreError> {
        let mut page = self.inner.page(owner, session, query).await?;
        if self.fault == SessionFault::GuessesMore {
            page.more = page.messages.len() == query.limit.get();
        }
        Ok(page)
    }

    async fn messages(
        &self,
        owner: &Owner,
        session: SessionId,
        places: &[Seq],
    ) -> Result<Vec<Message>, StoreError> {
        self.inner.messages(owner, session, places).await
    }

    async fn put_context(
        &self,
        owner: &Owner,
        session: SessionId,
        context: &ContextMetadata,
        guard: WriteGuard,
    ) -> Result<(), StoreError> {
        let guard = self.guard(owner, session, guard).await;
        self.inner.put_context(owner, session, context, guard).await
    }

    async fn search(&self, owner: &Owner, query: &SearchQuery) -> Result<Page<SearchHit>, StoreError> {
        self.inner.search(owner, query).await
    }

    async fn fork(
        &self,
        owner: &Owner,
        session: SessionId,
        at: Seq,
        fork: &NewSession,
    ) -> Result<StoredSession, StoreError> {
        let mut made = self.inner.fork(owner, session, at, fork).await?;
        if self.fault == SessionFault::ForksEverySummary
            && let Some(parent) = self.stored(owner, session).await
        {
            made.state.context = parent.state.context;
            self.inner
                .put_context(owner, fork.id, &made.state.context, WriteGuard::unleased(fork.created))
                .await?;
        }
        Ok(made)
    }

    async fn delete(&self, owner: &Owner, session: SessionId, guard: WriteGuard) -> Result<bool, StoreError> {
        let guard = self.guard(owner, session, guard).await;
        SessionStore::delete(&self.inner, owner, session, guard).await
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        SessionStore::erase_user(&self.inner, owner).await
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        SessionStore::collect(&self.inner, now, limit).await
    }
}
