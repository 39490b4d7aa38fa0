//! State entries.

use std::collections::BTreeMap;
use std::ops::Bound;

use async_trait::async_trait;
use hermes_core::{
    Entity, Expected, Limit, NewState, Owner, Page, PageRequest, SessionId, StateEntry, StateKey, StateStore,
    StoreError, Version,
};
use jiff::Timestamp;

use crate::cursor;
use crate::session::count;
use crate::store::InMemoryStore;

/// All state entries.
#[derive(Debug, Default)]
pub(crate) struct States {
    rows: BTreeMap<(Owner, StateKey), StateEntry>,
}

impl States {
    fn check(&self, place: &(Owner, StateKey), expected: Expected) -> Result<Option<Version>, StoreError> {
        let actual = self.rows.get(place).map(|entry| entry.version);
        let wanted = match expected {
            Expected::Any => return Ok(actual),
            Expected::Absent => None,
            Expected::At(version) => Some(version),
        };
        if actual == wanted {
            return Ok(actual);
        }
        let number = |version: Option<Version>| version.map_or(0, Version::get);
        let id = place.1.to_string();
        Err(StoreError::VersionMismatch {
            what: Entity::State,
            id,
            expected: number(wanted),
            actual: number(actual),
        })
    }

    fn erase(&mut self, gone: impl Fn(&Owner, &StateEntry) -> bool, limit: usize) -> u64 {
        let gone = self.rows.iter().filter(|((owner, _), entry)| gone(owner, entry));
        let gone: Vec<_> = gone.take(limit).map(|(place, _)| place.clone()).collect();
        for place in &gone {
            self.rows.remove(place);
        }
        count(gone.len())
    }
}

#[async_trait]
impl StateStore for InMemoryStore {
    async fn get(&self, owner: &Owner, key: &StateKey) -> Result<Option<StateEntry>, StoreError> {
        Ok(self.states().rows.get(&(owner.clone(), key.clone())).cloned())
    }

    async fn put(
        &self,
        owner: &Owner,
        key: &StateKey,
        state: &NewState,
        expected: Expected,
    ) -> Result<Version, StoreError> {
        let place = (owner.clone(), key.clone());
        let mut table = self.states();
        let version = table.check(&place, expected)?.map_or(Version::FIRST, Version::next);
        let NewState { value, session, at, expires } = state.clone();
        table
            .rows
            .insert(place, StateEntry { key: key.clone(), value, version, session, updated: at, expires });
        Ok(version)
    }

    async fn delete(&self, owner: &Owner, key: &StateKey, expected: Expected) -> Result<bool, StoreError> {
        let place = (owner.clone(), key.clone());
        let mut table = self.states();
        table.check(&place, expected)?;
        Ok(table.rows.remove(&place).is_some())
    }

    async fn list(
        &self,
        owner: &Owner,
        namespace: &str,
        page: &PageRequest,
    ) -> Result<Page<StateEntry>, StoreError> {
        let after: Option<String> = page.cursor.as_ref().map(cursor::read).transpose()?;
        let place = |key: String| (owner.clone(), StateKey::new(namespace, key));
        let from =
            after.map_or_else(|| Bound::Included(place(String::new())), |key| Bound::Excluded(place(key)));
        let table = self.states();
        let rows = table.rows.range((from, Bound::Unbounded));
        let own = rows
            .take_while(|((of, key), _)| of == owner && key.namespace == namespace)
            .map(|(_, entry)| entry.clone());
        Ok(cursor::page(own, page.limit, |entry| entry.key.key.clone()))
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        Ok(self.states().erase(|of, _| of == owner, usize::MAX))
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        Ok(self.states().erase(|of, entry| of == owner && entry.session == Some(session), usize::MAX))
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        Ok(self.states().erase(|_, entry| entry.expires.is_some_and(|expires| expires <= now), limit.get()))
    }
}
