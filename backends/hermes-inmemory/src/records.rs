//! Memory records by owner, with the rules that both layers share.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hermes_core::{
    Entity, MemoryFilter, MemoryId, MemoryRecord, MemoryStatus, Owner, Page, PageRequest, SessionId,
    StoreError, Version,
};
use jiff::Timestamp;

use crate::cursor;
use crate::session::count;

/// A record with the terms it is found by.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) record: MemoryRecord,
    terms: BTreeSet<String>,
}

impl Row {
    fn new(record: MemoryRecord) -> Self {
        let terms = hermes_text::index_terms(&record.content).into_iter().collect();
        Self { record, terms }
    }

    /// How many different ones of the terms the record holds.
    pub(crate) fn hits(&self, terms: &BTreeSet<&str>) -> u32 {
        u32::try_from(terms.iter().filter(|term| self.terms.contains(**term)).count()).unwrap_or(u32::MAX)
    }
}

/// Records by owner and id.
#[derive(Debug, Default)]
pub(crate) struct Records {
    rows: BTreeMap<Owner, BTreeMap<MemoryId, Row>>,
    owners: BTreeMap<MemoryId, Owner>,
}

impl Records {
    /// The rows of one owner.
    pub(crate) fn of(&self, owner: &Owner) -> impl Iterator<Item = &Row> {
        self.rows.get(owner).into_iter().flat_map(BTreeMap::values)
    }

    /// The records of all owners.
    pub(crate) fn all(&self) -> impl Iterator<Item = &MemoryRecord> {
        self.rows.values().flat_map(BTreeMap::values).map(|row| &row.record)
    }

    pub(crate) fn get(&self, owner: &Owner, id: MemoryId) -> Option<&MemoryRecord> {
        self.rows.get(owner)?.get(&id).map(|row| &row.record)
    }

    /// The new record as it is to be stored.
    pub(crate) fn check_new(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError> {
        if self.owners.contains_key(&record.id) {
            return Err(exists(record.id));
        }
        self.check_twin(record)?;
        Ok(MemoryRecord { version: Version::FIRST, ..record.clone() })
    }

    /// The changed record as it is to be stored.
    pub(crate) fn check_change(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError> {
        let id = record.id.to_string();
        let Some(present) = self.get(&record.owner, record.id) else {
            return Err(StoreError::NotFound { what: Entity::Memory, id });
        };
        if present.version != record.version {
            let (expected, actual) = (record.version.get(), present.version.get());
            return Err(StoreError::VersionMismatch { what: Entity::Memory, id, expected, actual });
        }
        self.check_twin(record)?;
        Ok(MemoryRecord { version: record.version.next(), ..record.clone() })
    }

    /// At most one active record of an owner has a fingerprint.
    fn check_twin(&self, record: &MemoryRecord) -> Result<(), StoreError> {
        let is_twin = |other: &MemoryRecord| {
            other.id != record.id
                && other.status == MemoryStatus::Active
                && other.fingerprint == record.fingerprint
        };
        match self.of(&record.owner).find(|row| is_twin(&row.record)) {
            Some(twin) if record.status == MemoryStatus::Active => Err(exists(twin.record.id)),
            _ => Ok(()),
        }
    }

    /// Stores a record that was checked.
    pub(crate) fn insert(&mut self, record: MemoryRecord) {
        self.owners.insert(record.id, record.owner.clone());
        self.rows.entry(record.owner.clone()).or_default().insert(record.id, Row::new(record));
    }

    pub(crate) fn list(
        &self,
        owner: &Owner,
        filter: &MemoryFilter,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError> {
        let after: Option<(Timestamp, MemoryId)> = page.cursor.as_ref().map(cursor::read).transpose()?;
        let key = |record: &MemoryRecord| (record.updated, record.id);
        let matching = self.of(owner).map(|row| &row.record).filter(|record| filter.matches(record));
        let mut matching: Vec<_> =
            matching.filter(|record| after.is_none_or(|after| key(record) < after)).collect();
        matching.sort_unstable_by_key(|record| Reverse(key(record)));
        Ok(cursor::page(matching.into_iter().cloned(), page.limit, key))
    }

    /// The records after a recall at `at`, to be stored.
    pub(crate) fn touched(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Vec<MemoryRecord> {
        let ids: BTreeSet<_> = ids.iter().copied().collect();
        let records = ids.into_iter().filter_map(|id| self.get(owner, id)).cloned();
        records
            .map(|r| MemoryRecord { recalled: Some(at), recall_count: r.recall_count.saturating_add(1), ..r })
            .collect()
    }

    pub(crate) fn remove(&mut self, owner: &Owner, id: MemoryId) -> bool {
        let removed = self.rows.get_mut(owner).and_then(|rows| rows.remove(&id)).is_some();
        if removed {
            self.owners.remove(&id);
        }
        removed
    }

    /// The ids of an owner's records.
    pub(crate) fn ids(&self, owner: &Owner) -> Vec<MemoryId> {
        self.of(owner).map(|row| row.record.id).collect()
    }

    /// The ids of records that only this session proves.
    pub(crate) fn of_session(&self, owner: &Owner, session: SessionId) -> Vec<MemoryId> {
        let only = |record: &MemoryRecord| {
            !record.provenance.is_empty()
                && record.provenance.iter().all(|provenance| provenance.session == session)
        };
        self.of(owner).filter(|row| only(&row.record)).map(|row| row.record.id).collect()
    }

    /// Owner and id of records that may be removed, at most `limit`.
    pub(crate) fn expired(&self, now: Timestamp, limit: usize) -> Vec<(Owner, MemoryId)> {
        let over = self.all().filter(|record| record.expires.is_some_and(|expires| expires <= now));
        over.take(limit).map(|record| (record.owner.clone(), record.id)).collect()
    }

    /// Removes several; says how many there were.
    pub(crate) fn remove_all<'a>(&mut self, ids: impl IntoIterator<Item = (&'a Owner, MemoryId)>) -> u64 {
        count(ids.into_iter().filter(|(owner, id)| self.remove(owner, *id)).count())
    }
}

fn exists(id: MemoryId) -> StoreError {
    StoreError::Exists { what: Entity::Memory, id: id.to_string() }
}
