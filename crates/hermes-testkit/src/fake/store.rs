//! A store that fails when it is told to.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_core::{
    ArtifactId, ArtifactRecord, ArtifactStore, Candidate, Claim, ClaimRecord, ClaimTicket, ContextMetadata,
    EmbedderId, Embedding, EpisodicQuery, EpisodicStore, Expected, HolderId, IdempotencyKey,
    IdempotencyStore, JsonText, Lease, LeaseStore, Limit, LogPage, LogQuery, MemoryFilter, MemoryId,
    MemoryRecord, Message, NewArtifact, NewClaim, NewMessage, NewSession, NewState, Owner, Page, PageRequest,
    SearchHit, SearchQuery, SemanticQuery, SemanticStore, Seq, SessionId, SessionStore, StateEntry, StateKey,
    StateStore, StoreError, StoredSession, Version, WriteGuard, async_trait,
};
use jiff::Timestamp;

/// How a call fails. Each gives [`StoreError::Backend`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Nothing happens, and the same call may succeed later.
    Transient,
    /// Nothing happens, and trying again will not help.
    Permanent,
    /// It happens, and the answer is lost; the same call may be tried again.
    AnswerLost,
}

#[derive(Debug)]
struct Plan {
    call: Option<&'static str>,
    left: usize,
    fault: Fault,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<&'static str>,
    plans: Vec<Plan>,
    down: Option<Fault>,
}

/// A store around another that fails at the calls it was told to; every other call goes through. Clones are one store.
///
/// Calls are named by trait and method, such as `SessionStore::append`.
#[derive(Debug, Clone)]
pub struct FailingStore<S> {
    inner: S,
    state: Arc<Mutex<State>>,
}

impl<S> FailingStore<S> {
    /// A store that does not fail yet.
    #[must_use]
    pub fn new(inner: S) -> Self {
        Self { inner, state: Arc::default() }
    }

    /// Lets the `n`-th call from now on fail; the next one is the first.
    pub fn fail_at(&self, n: usize, fault: Fault) {
        self.with(|state| state.plans.push(Plan { call: None, left: n, fault }));
    }

    /// Lets the `n`-th call of one method from now on fail.
    pub fn fail_call(&self, call: &'static str, n: usize, fault: Fault) {
        self.with(|state| state.plans.push(Plan { call: Some(call), left: n, fault }));
    }

    /// Lets every call fail until [`FailingStore::heal`].
    pub fn fail_always(&self, fault: Fault) {
        self.with(|state| state.down = Some(fault));
    }

    /// Forgets all that was planned.
    pub fn heal(&self) {
        self.with(|state| {
            state.plans.clear();
            state.down = None;
        });
    }

    /// The calls so far, oldest first, those that failed included.
    #[must_use]
    pub fn calls(&self) -> Vec<&'static str> {
        self.with(|state| state.calls.clone())
    }

    /// The store inside, which does not fail.
    #[must_use]
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What happens to the call that is about to be made.
    fn next(&self, call: &'static str) -> Option<Fault> {
        self.with(|state| {
            state.calls.push(call);
            let mut fault = state.down;
            state.plans.retain_mut(|plan| {
                if plan.call.is_none_or(|planned| planned == call) {
                    plan.left = plan.left.saturating_sub(1);
                    if plan.left == 0 {
                        fault = Some(plan.fault);
                    }
                }
                plan.left > 0
            });
            fault
        })
    }
}

fn error(call: &'static str, fault: Fault) -> StoreError {
    let source = format!("{fault:?} failure, as planned by the test").into();
    StoreError::Backend { backend: "failing", op: call, transient: fault != Fault::Permanent, source }
}

macro_rules! failing {
    ($trait:ident { $(async fn $name:ident(&self $(, $arg:ident: $ty:ty)*) -> $out:ty;)* }) => {
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<S: $trait> $trait for FailingStore<S> {
            $(async fn $name(&self $(, $arg: $ty)*) -> Result<$out, StoreError> {
                let call = concat!(stringify!($trait), "::", stringify!($name));
                match self.next(call) {
                    None => $trait::$name(&self.inner $(, $arg)*).await,
                    Some(Fault::AnswerLost) => {
                        $trait::$name(&self.inner $(, $arg)*).await?;
                        Err(error(call, Fault::AnswerLost))
                    }
                    Some(fault) => Err(error(call, fault)),
                }
            })*
        }
    };
}

failing!(LeaseStore {
    async fn acquire(&self, owner: &Owner, session: SessionId, holder: &HolderId, ttl: Duration, at: Timestamp) -> Lease;
    async fn renew(&self, lease: &Lease, ttl: Duration, at: Timestamp) -> Lease;
    async fn release(&self, lease: &Lease) -> ();
});

failing!(SessionStore {
    async fn create(&self, session: &NewSession) -> StoredSession;
    async fn get(&self, owner: &Owner, session: SessionId) -> Option<StoredSession>;
    async fn list(&self, owner: &Owner, page: &PageRequest) -> Page<StoredSession>;
    async fn rename(&self, owner: &Owner, session: SessionId, title: &str, guard: WriteGuard) -> ();
    async fn append(&self, owner: &Owner, session: SessionId, expected: Seq, messages: &[NewMessage], guard: WriteGuard) -> Vec<Message>;
    async fn page(&self, owner: &Owner, session: SessionId, query: &LogQuery) -> LogPage;
    async fn messages(&self, owner: &Owner, session: SessionId, places: &[Seq]) -> Vec<Message>;
    async fn put_context(&self, owner: &Owner, session: SessionId, context: &ContextMetadata, guard: WriteGuard) -> ();
    async fn search(&self, owner: &Owner, query: &SearchQuery) -> Page<SearchHit>;
    async fn fork(&self, owner: &Owner, session: SessionId, at: Seq, fork: &NewSession) -> StoredSession;
    async fn delete(&self, owner: &Owner, session: SessionId, guard: WriteGuard) -> bool;
    async fn erase_user(&self, owner: &Owner) -> u64;
    async fn collect(&self, now: Timestamp, limit: Limit) -> u64;
});

failing!(IdempotencyStore {
    async fn claim(&self, owner: &Owner, key: &IdempotencyKey, claim: &NewClaim) -> Claim;
    async fn complete(&self, ticket: &ClaimTicket, outcome: &JsonText, at: Timestamp, retain_until: Timestamp) -> ();
    async fn release(&self, ticket: &ClaimTicket) -> ();
    async fn get(&self, owner: &Owner, key: &IdempotencyKey) -> Option<ClaimRecord>;
    async fn erase_user(&self, owner: &Owner) -> u64;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> u64;
    async fn collect(&self, now: Timestamp, limit: Limit) -> u64;
});

failing!(ArtifactStore {
    async fn put(&self, owner: &Owner, session: SessionId, artifact: NewArtifact) -> ArtifactRecord;
    async fn get(&self, owner: &Owner, session: SessionId, id: ArtifactId) -> Option<ArtifactRecord>;
    async fn read(&self, owner: &Owner, session: SessionId, id: ArtifactId, offset: u64, length: usize) -> Vec<u8>;
    async fn list(&self, owner: &Owner, session: SessionId, page: &PageRequest) -> Page<ArtifactRecord>;
    async fn delete(&self, owner: &Owner, session: SessionId, id: ArtifactId) -> bool;
    async fn erase_user(&self, owner: &Owner) -> u64;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> u64;
    async fn collect(&self, now: Timestamp, limit: Limit) -> u64;
});

failing!(StateStore {
    async fn get(&self, owner: &Owner, key: &StateKey) -> Option<StateEntry>;
    async fn put(&self, owner: &Owner, key: &StateKey, state: &NewState, expected: Expected) -> Version;
    async fn delete(&self, owner: &Owner, key: &StateKey, expected: Expected) -> bool;
    async fn list(&self, owner: &Owner, namespace: &str, page: &PageRequest) -> Page<StateEntry>;
    async fn erase_user(&self, owner: &Owner) -> u64;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> u64;
    async fn collect(&self, now: Timestamp, limit: Limit) -> u64;
});

failing!(EpisodicStore {
    async fn create(&self, record: &MemoryRecord) -> MemoryRecord;
    async fn update(&self, record: &MemoryRecord) -> MemoryRecord;
    async fn get(&self, owner: &Owner, id: MemoryId) -> Option<MemoryRecord>;
    async fn list(&self, owner: &Owner, filter: &MemoryFilter, page: &PageRequest) -> Page<MemoryRecord>;
    async fn query(&self, owner: &Owner, query: &EpisodicQuery) -> Vec<Candidate>;
    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> ();
    async fn delete(&self, owner: &Owner, id: MemoryId) -> bool;
    async fn erase_user(&self, owner: &Owner) -> u64;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> u64;
    async fn collect(&self, now: Timestamp, limit: Limit) -> u64;
});

failing!(SemanticStore {
    async fn bind(&self, space: &EmbedderId, dimension: usize) -> ();
    async fn reset(&self, space: &EmbedderId, dimension: usize) -> ();
    async fn unembedded(&self, limit: Limit) -> Vec<MemoryRecord>;
    async fn create(&self, record: &MemoryRecord, vector: &Embedding) -> MemoryRecord;
    async fn update(&self, record: &MemoryRecord, vector: Option<&Embedding>) -> MemoryRecord;
    async fn get(&self, owner: &Owner, id: MemoryId) -> Option<MemoryRecord>;
    async fn list(&self, owner: &Owner, filter: &MemoryFilter, page: &PageRequest) -> Page<MemoryRecord>;
    async fn query(&self, owner: &Owner, query: &SemanticQuery) -> Vec<Candidate>;
    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> ();
    async fn delete(&self, owner: &Owner, id: MemoryId) -> bool;
    async fn erase_user(&self, owner: &Owner) -> u64;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> u64;
    async fn collect(&self, now: Timestamp, limit: Limit) -> u64;
});
