//! A state store and a semantic store with one fault each.

use hermes_core::{
    Candidate, EmbedderId, Embedding, Expected, Limit, MemoryFilter, MemoryId, MemoryRecord, NewState, Owner,
    Page, PageRequest, SemanticQuery, SemanticStore, SessionId, StateEntry, StateKey, StateStore, StoreError,
    Version, async_trait,
};
use hermes_inmemory::{InMemorySemanticStore, InMemoryStore};
use jiff::Timestamp;
use tokio::sync::Barrier;

/// Compares and sets in two steps; by the barrier two always compare before either sets.
#[derive(Debug)]
pub(crate) struct RacyState {
    inner: InMemoryStore,
    two: Barrier,
}

impl RacyState {
    pub(crate) fn new() -> Self {
        Self { inner: InMemoryStore::new(), two: Barrier::new(2) }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl StateStore for RacyState {
    async fn get(&self, owner: &Owner, key: &StateKey) -> Result<Option<StateEntry>, StoreError> {
        StateStore::get(&self.inner, owner, key).await
    }

    async fn put(
        &self,
        owner: &Owner,
        key: &StateKey,
        state: &NewState,
        expected: Expected,
    ) -> Result<Version, StoreError> {
        let present = StateStore::get(&self.inner, owner, key).await?.map(|entry| entry.version);
        self.two.wait().await;
        let holds = match expected {
            Expected::Any => true,
            Expected::Absent => present.is_none(),
            Expected::At(version) => present == Some(version),
        };
        let expected = if holds { Expected::Any } else { expected };
        StateStore::put(&self.inner, owner, key, state, expected).await
    }

    async fn delete(&self, owner: &Owner, key: &StateKey, expected: Expected) -> Result<bool, StoreError> {
        StateStore::delete(&self.inner, owner, key, expected).await
    }

    async fn list(
        &self,
        owner: &Owner,
        namespace: &str,
        page: &PageRequest,
    ) -> Result<Page<StateEntry>, StoreError> {
        StateStore::list(&self.inner, owner, namespace, page).await
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        StateStore::erase_user(&self.inner, owner).await
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        StateStore::erase_session(&self.inner, owner, session).await
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        StateStore::collect(&self.inner, now, limit).await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorFault {
    GivesDistances,
    FiltersAfterRanking,
    TakesAnySpace,
    CollectsWithoutLimit,
}

#[derive(Debug)]
pub(crate) struct BrokenVectors {
    inner: InMemorySemanticStore,
    fault: VectorFault,
}

impl BrokenVectors {
    pub(crate) fn new(fault: VectorFault) -> Self {
        Self { inner: InMemorySemanticStore::new(), fault }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl SemanticStore for BrokenVectors {
    async fn bind(&self, space: &EmbedderId, dimension: usize) -> Result<(), StoreError> {
        match self.inner.bind(space, dimension).await {
            Err(StoreError::SpaceMismatch { .. }) if self.fault == VectorFault::TakesAnySpace => Ok(()),
            result => result,
        }
    }

    async fn reset(&self, space: &EmbedderId, dimension: usize) -> Result<(), StoreError> {
        self.inner.reset(space, dimension).await
    }

    async fn unembedded(&self, limit: Limit) -> Result<Vec<MemoryRecord>, StoreError> {
        self.inner.unembedded(limit).await
    }

    async fn create(&self, record: &MemoryRecord, vector: &Embedding) -> Result<MemoryRecord, StoreError> {
        self.inner.create(record, vector).await
    }

    async fn update(
        &self,
        record: &MemoryRecord,
        vector: Option<&Embedding>,
    ) -> Result<MemoryRecord, StoreError> {
        self.inner.update(record, vector).await
    }

    async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError> {
        self.inner.get(owner, id).await
    }

    async fn list(
        &self,
        owner: &Owner,
        filter: &MemoryFilter,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError> {
        self.inner.list(owner, filter, page).await
    }

    async fn query(&self, owner: &Owner, query: &SemanticQuery) -> Result<Vec<Candidate>, StoreError> {
        match self.fault {
            VectorFault::GivesDistances => {
                let mut found = self.inner.query(owner, query).await?;
                for candidate in &mut found {
                    candidate.cosine = candidate.cosine.map(|cosine| 1.0 - cosine);
                }
                Ok(found)
            }
            VectorFault::FiltersAfterRanking => {
                let unfiltered = SemanticQuery { filter: MemoryFilter::default(), ..query.clone() };
                let mut found = self.inner.query(owner, &unfiltered).await?;
                found.retain(|candidate| query.filter.matches(&candidate.record));
                Ok(found)
            }
            VectorFault::TakesAnySpace | VectorFault::CollectsWithoutLimit => {
                self.inner.query(owner, query).await
            }
        }
    }

    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError> {
        self.inner.touch(owner, ids, at).await
    }

    async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError> {
        self.inner.delete(owner, id).await
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        self.inner.erase_user(owner).await
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        self.inner.erase_session(owner, session).await
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        let limit = if self.fault == VectorFault::CollectsWithoutLimit { Limit::MAX } else { limit };
        self.inner.collect(now, limit).await
    }
}
