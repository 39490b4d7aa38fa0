//! Artifacts.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use hermes_core::{
    ArtifactId, ArtifactRecord, ArtifactStore, Entity, Limit, NewArtifact, Owner, Page, PageRequest,
    SessionId, StoreError,
};
use jiff::Timestamp;

use crate::cursor;
use crate::session::count;
use crate::store::InMemoryStore;

#[derive(Debug)]
struct Row {
    owner: Owner,
    record: ArtifactRecord,
    bytes: Arc<[u8]>,
}

/// All artifacts.
#[derive(Debug, Default)]
pub(crate) struct Artifacts {
    rows: BTreeMap<ArtifactId, Row>,
}

impl Artifacts {
    fn row(&self, owner: &Owner, session: SessionId, id: ArtifactId) -> Option<&Row> {
        self.rows.get(&id).filter(|row| row.owner == *owner && row.record.session == session)
    }

    fn erase(&mut self, gone: impl Fn(&Row) -> bool, limit: usize) -> u64 {
        let gone: Vec<_> =
            self.rows.iter().filter(|(_, row)| gone(row)).map(|(id, _)| *id).take(limit).collect();
        for id in &gone {
            self.rows.remove(id);
        }
        count(gone.len())
    }
}

#[async_trait]
impl ArtifactStore for InMemoryStore {
    async fn put(
        &self,
        owner: &Owner,
        session: SessionId,
        artifact: NewArtifact,
    ) -> Result<ArtifactRecord, StoreError> {
        let NewArtifact { media_type, name, bytes, created, expires } = artifact;
        let id = ArtifactId::generate();
        let record =
            ArtifactRecord { id, session, media_type, name, size: count(bytes.len()), created, expires };
        let row = Row { owner: owner.clone(), record: record.clone(), bytes: bytes.into() };
        self.artifacts().rows.insert(id, row);
        Ok(record)
    }

    async fn get(
        &self,
        owner: &Owner,
        session: SessionId,
        id: ArtifactId,
    ) -> Result<Option<ArtifactRecord>, StoreError> {
        Ok(self.artifacts().row(owner, session, id).map(|row| row.record.clone()))
    }

    async fn read(
        &self,
        owner: &Owner,
        session: SessionId,
        id: ArtifactId,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, StoreError> {
        let bytes = self.artifacts().row(owner, session, id).map(|row| Arc::clone(&row.bytes));
        let bytes =
            bytes.ok_or_else(|| StoreError::NotFound { what: Entity::Artifact, id: id.to_string() })?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let to = from.saturating_add(length).min(bytes.len());
        Ok(bytes.get(from..to).unwrap_or_default().to_vec())
    }

    async fn list(
        &self,
        owner: &Owner,
        session: SessionId,
        page: &PageRequest,
    ) -> Result<Page<ArtifactRecord>, StoreError> {
        let after: Option<(Timestamp, ArtifactId)> = page.cursor.as_ref().map(cursor::read).transpose()?;
        let key = |record: &ArtifactRecord| (record.created, record.id);
        let mut records: Vec<ArtifactRecord> = {
            let table = self.artifacts();
            let rows = table.rows.values().filter(|row| row.owner == *owner && row.record.session == session);
            rows.map(|row| row.record.clone()).collect()
        };
        records.sort_unstable_by_key(|record| Reverse(key(record)));
        let rest = records.into_iter().filter(|record| after.is_none_or(|after| key(record) < after));
        Ok(cursor::page(rest, page.limit, key))
    }

    async fn delete(&self, owner: &Owner, session: SessionId, id: ArtifactId) -> Result<bool, StoreError> {
        let mut table = self.artifacts();
        Ok(table.row(owner, session, id).is_some() && table.rows.remove(&id).is_some())
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        Ok(self.artifacts().erase(|row| row.owner == *owner, usize::MAX))
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        Ok(self.artifacts().erase(|row| row.owner == *owner && row.record.session == session, usize::MAX))
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        let over = |row: &Row| row.record.expires.is_some_and(|expires| expires <= now);
        Ok(self.artifacts().erase(over, limit.get()))
    }
}
