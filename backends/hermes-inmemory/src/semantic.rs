//! Semantic memories: exact search over the owner's vectors.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use hermes_core::{
    Candidate, EmbedderId, Embedding, Limit, MemoryFilter, MemoryId, MemoryRecord, Owner, Page, PageRequest,
    SemanticQuery, SemanticStore, SessionId, StoreError,
};
use jiff::Timestamp;

use crate::journal::{Entry, Journal, backend_error};
use crate::records::{Records, Row};
use crate::session::count;

/// Semantic memories, searched exactly; in memory only, or with a file beside. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct InMemorySemanticStore {
    table: Arc<RwLock<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    space: Option<(EmbedderId, usize)>,
    records: Records,
    vectors: HashMap<MemoryId, Embedding>,
    journal: Option<Journal>,
}

impl Table {
    /// Makes a change last, then makes it.
    fn commit(&mut self, entry: Entry) -> Result<(), StoreError> {
        if let Some(journal) = &mut self.journal {
            journal.write(&entry)?;
        }
        self.apply(entry);
        Ok(())
    }

    fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Space { id, dimension } => {
                self.space = Some((id, dimension));
                self.vectors.clear();
            }
            Entry::Put { record, vector } => {
                if let Some(vector) = vector {
                    self.vectors.insert(record.id, vector);
                }
                self.records.insert(*record);
            }
            Entry::Remove { owner, id } => {
                self.records.remove(&owner, id);
                self.vectors.remove(&id);
            }
        }
    }

    fn check_vector(&self, vector: &Embedding) -> Result<(), StoreError> {
        let reason = match &self.space {
            None => "the store is not bound to an embedder yet".to_owned(),
            Some((id, dimension)) if *dimension != vector.dimension() => {
                format!("it has {} numbers, {id} has {dimension}", vector.dimension())
            }
            Some(_) => return Ok(()),
        };
        Err(StoreError::Invalid { what: "vector", reason })
    }

    fn remove_all(&mut self, ids: Vec<(Owner, MemoryId)>) -> Result<u64, StoreError> {
        let n = count(ids.len());
        for (owner, id) in ids {
            self.commit(Entry::Remove { owner, id })?;
        }
        Ok(n)
    }

    fn query(&self, owner: &Owner, query: &SemanticQuery) -> Result<Vec<Candidate>, StoreError> {
        if let Some(vector) = &query.vector {
            self.check_vector(vector)?;
        }
        let vector = query.vector.as_ref().filter(|vector| !vector.is_zero());
        let terms: BTreeSet<&str> = query.terms.iter().map(String::as_str).collect();
        let cosine = |row: &Row| {
            let own = self.vectors.get(&row.record.id).filter(|own| !own.is_zero())?;
            vector.map(|vector| own.cosine(vector))
        };
        let matching = self.records.of(owner).filter(|row| query.filter.matches(&row.record));
        let all: Vec<(Option<f32>, u32, &Row)> =
            matching.map(|row| (cosine(row), row.hits(&terms), row)).collect();

        let limit = query.limit.get();
        let mut near: Vec<_> = all.iter().filter(|(cosine, ..)| cosine.is_some()).collect();
        near.sort_unstable_by(|a, b| nearest_first(a, b));
        let mut worded: Vec<_> = all.iter().filter(|(_, hits, _)| *hits > 0).collect();
        worded.sort_unstable_by_key(|(_, hits, row)| Reverse((*hits, row.record.updated, row.record.id)));
        let chosen = near.into_iter().take(limit).chain(worded.into_iter().take(limit));
        let chosen: BTreeMap<MemoryId, &(Option<f32>, u32, &Row)> =
            chosen.map(|found| (found.2.record.id, found)).collect();

        let mut found: Vec<_> = chosen.into_values().collect();
        found.sort_unstable_by(|a, b| nearest_first(a, b));
        let candidate = |(cosine, term_hits, row): &(Option<f32>, u32, &Row)| Candidate {
            record: row.record.clone(),
            cosine: *cosine,
            term_hits: *term_hits,
        };
        Ok(found.into_iter().map(candidate).collect())
    }
}

/// Largest cosine first, then most terms, then newest.
fn nearest_first(a: &(Option<f32>, u32, &Row), b: &(Option<f32>, u32, &Row)) -> Ordering {
    let cosine = |found: &(Option<f32>, u32, &Row)| found.0.unwrap_or(f32::NEG_INFINITY);
    cosine(b)
        .total_cmp(&cosine(a))
        .then_with(|| b.1.cmp(&a.1))
        .then_with(|| b.2.record.id.cmp(&a.2.record.id))
}

impl InMemorySemanticStore {
    /// An empty store, for as long as the process lives.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens or makes a store with a file. The file is read whole, which blocks: call it while starting up.
    ///
    /// # Errors
    /// [`StoreError::Backend`] when the file cannot be read or written, or another process has it open;
    /// [`StoreError::Corrupt`] when it is no such file, and [`StoreError::NewerSchema`] when a newer Hermes wrote it. A file that cannot be
    /// read is left as it is.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let mut table = Table::default();
        let (mut journal, entries) = Journal::open(path.as_ref())?;
        let read = entries.len();
        entries.into_iter().for_each(|entry| table.apply(entry));
        let live = table.records.all().count();
        if read > 2 * live + 64 {
            journal.rewrite(
                table.space.clone(),
                table.records.all().map(|record| (record, table.vectors.get(&record.id))),
            )?;
        }
        table.journal = Some(journal);
        Ok(Self { table: Arc::new(RwLock::new(table)) })
    }

    /// Runs a change: beside the runtime's threads where it writes to a file, so that it ends once begun.
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Table) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let table = Arc::clone(&self.table);
        let run = move || change(&mut table.write().unwrap_or_else(PoisonError::into_inner));
        let to_file = self.read(|table| table.journal.is_some());
        if to_file {
            tokio::task::spawn_blocking(run).await.map_err(|e| backend_error("change", e))?
        } else {
            run()
        }
    }

    fn read<T>(&self, read: impl FnOnce(&Table) -> T) -> T {
        read(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl SemanticStore for InMemorySemanticStore {
    async fn bind(&self, space: &EmbedderId, dimension: usize) -> Result<(), StoreError> {
        let space = space.clone();
        self.change(move |table| match &table.space {
            Some((stored, of)) if *stored == space && *of == dimension => Ok(()),
            Some((stored, _)) if !table.vectors.is_empty() => {
                Err(StoreError::SpaceMismatch { stored: stored.clone(), given: space })
            }
            _ => table.commit(Entry::Space { id: space, dimension }),
        })
        .await
    }

    async fn reset(&self, space: &EmbedderId, dimension: usize) -> Result<(), StoreError> {
        let id = space.clone();
        self.change(move |table| table.commit(Entry::Space { id, dimension })).await
    }

    async fn unembedded(&self, limit: Limit) -> Result<Vec<MemoryRecord>, StoreError> {
        Ok(self.read(|table| {
            let without = table.records.all().filter(|record| !table.vectors.contains_key(&record.id));
            without.take(limit.get()).cloned().collect()
        }))
    }

    async fn create(&self, record: &MemoryRecord, vector: &Embedding) -> Result<MemoryRecord, StoreError> {
        let (record, vector) = (record.clone(), vector.clone());
        self.change(move |table| {
            table.check_vector(&vector)?;
            let record = table.records.check_new(&record)?;
            table.commit(Entry::Put { record: Box::new(record.clone()), vector: Some(vector) })?;
            Ok(record)
        })
        .await
    }

    async fn update(
        &self,
        record: &MemoryRecord,
        vector: Option<&Embedding>,
    ) -> Result<MemoryRecord, StoreError> {
        let (record, vector) = (record.clone(), vector.cloned());
        self.change(move |table| {
            if let Some(vector) = &vector {
                table.check_vector(vector)?;
            }
            let record = table.records.check_change(&record)?;
            table.commit(Entry::Put { record: Box::new(record.clone()), vector })?;
            Ok(record)
        })
        .await
    }

    async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError> {
        Ok(self.read(|table| table.records.get(owner, id).cloned()))
    }

    async fn list(
        &self,
        owner: &Owner,
        filter: &MemoryFilter,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError> {
        self.read(|table| table.records.list(owner, filter, page))
    }

    async fn query(&self, owner: &Owner, query: &SemanticQuery) -> Result<Vec<Candidate>, StoreError> {
        // Comparing this many vectors of a few hundred numbers takes well under a millisecond.
        const FEW: usize = 2_000;
        if self.read(|table| table.records.of(owner).nth(FEW).is_none()) {
            return self.read(|table| table.query(owner, query));
        }
        let (this, owner, query) = (self.clone(), owner.clone(), query.clone());
        tokio::task::spawn_blocking(move || this.read(|table| table.query(&owner, &query)))
            .await
            .map_err(|e| backend_error("query", e))?
    }

    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError> {
        let (owner, ids) = (owner.clone(), ids.to_vec());
        self.change(move |table| {
            let touched = table.records.touched(&owner, &ids, at);
            touched
                .into_iter()
                .try_for_each(|record| table.commit(Entry::Put { record: Box::new(record), vector: None }))
        })
        .await
    }

    async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError> {
        let owner = owner.clone();
        self.change(move |table| match table.records.get(&owner, id) {
            Some(_) => table.commit(Entry::Remove { owner, id }).map(|()| true),
            None => Ok(false),
        })
        .await
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        let owner = owner.clone();
        self.change(move |table| {
            let ids = table.records.ids(&owner).into_iter().map(|id| (owner.clone(), id)).collect();
            let erased = table.remove_all(ids)?;
            table.forget_history()?;
            Ok(erased)
        })
        .await
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        let owner = owner.clone();
        self.change(move |table| {
            let ids =
                table.records.of_session(&owner, session).into_iter().map(|id| (owner.clone(), id)).collect();
            let erased = table.remove_all(ids)?;
            table.forget_history()?;
            Ok(erased)
        })
        .await
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        self.change(move |table| {
            let expired = table.records.expired(now, limit.get());
            table.remove_all(expired)
        })
        .await
    }
}

impl Table {
    /// Rewrites the file without history, so that what was erased is gone from it too.
    fn forget_history(&mut self) -> Result<(), StoreError> {
        let Self { space, records, vectors, journal } = self;
        match journal {
            Some(journal) => {
                journal.rewrite(space.clone(), records.all().map(|record| (record, vectors.get(&record.id))))
            }
            None => Ok(()),
        }
    }
}
