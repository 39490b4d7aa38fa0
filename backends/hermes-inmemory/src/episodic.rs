//! Episodic memories.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use async_trait::async_trait;
use hermes_core::{
    Candidate, EpisodicQuery, EpisodicStore, Limit, MemoryFilter, MemoryId, MemoryRecord, Owner, Page,
    PageRequest, SessionId, StoreError,
};
use jiff::Timestamp;

use crate::store::InMemoryStore;

#[async_trait]
impl EpisodicStore for InMemoryStore {
    async fn create(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError> {
        let mut table = self.episodic();
        let record = table.check_new(record)?;
        table.insert(record.clone());
        Ok(record)
    }

    async fn update(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError> {
        let mut table = self.episodic();
        let record = table.check_change(record)?;
        table.insert(record.clone());
        Ok(record)
    }

    async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError> {
        Ok(self.episodic().get(owner, id).cloned())
    }

    async fn list(
        &self,
        owner: &Owner,
        filter: &MemoryFilter,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError> {
        self.episodic().list(owner, filter, page)
    }

    async fn query(&self, owner: &Owner, query: &EpisodicQuery) -> Result<Vec<Candidate>, StoreError> {
        let terms: BTreeSet<&str> = query.terms.iter().map(String::as_str).collect();
        let table = self.episodic();
        let matching = table.of(owner).filter(|row| query.filter.matches(&row.record));
        let mut found: Vec<_> =
            matching.map(|row| (row.hits(&terms), &row.record)).filter(|(hits, _)| *hits > 0).collect();
        found.sort_unstable_by_key(|(hits, record)| Reverse((*hits, record.updated, record.id)));
        let best = found.into_iter().take(query.limit.get());
        Ok(best
            .map(|(term_hits, record)| Candidate { record: record.clone(), cosine: None, term_hits })
            .collect())
    }

    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError> {
        let mut table = self.episodic();
        for record in table.touched(owner, ids, at) {
            table.insert(record);
        }
        Ok(())
    }

    async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError> {
        Ok(self.episodic().remove(owner, id))
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        let mut table = self.episodic();
        let ids = table.ids(owner);
        Ok(table.remove_all(ids.into_iter().map(|id| (owner, id))))
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        let mut table = self.episodic();
        let ids = table.of_session(owner, session);
        Ok(table.remove_all(ids.into_iter().map(|id| (owner, id))))
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        let mut table = self.episodic();
        let expired = table.expired(now, limit.get());
        Ok(table.remove_all(expired.iter().map(|(owner, id)| (owner, *id))))
    }
}
