//! Looking after what is kept, a bounded piece at a time (R8).
//!
//! This much is done: what was recalled or said again becomes lasting before its days are over, what two writers left contradicting is
//! settled in favour of the later statement, and what is over is removed. Near-duplicates are not merged and unused lasting memories are
//! not demoted yet.

use hermes_core::{
    Cursor, Expected, JsonText, Layer, Limit, MemoryFilter, MemoryId, MemoryRecord, MemoryStatus, NewState,
    Owner, PageRequest, StateKey, StoreError,
};

use crate::error::Error;
use crate::memory::Memory;

/// The namespace of the janitor's place in the state store.
pub const JANITOR_NAMESPACE: &str = "hermes.memory.janitor";

/// What a run did. Each act is told to the log as well.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TidyReport {
    /// How many memories were looked at.
    pub seen: usize,
    /// The ones that became lasting.
    pub promoted: Vec<MemoryId>,
    /// The ones that gave way to a later statement about the same; each can be brought back with [`Memory::undo`] on the other.
    pub retired: Vec<MemoryId>,
    /// Whether the user's short-lived memories have been gone through; the next run begins anew.
    pub finished: bool,
}

impl Memory {
    /// Looks after a user's short-lived memories, at most `limit` of them; the next run goes on from there. Without a state store each run
    /// begins anew with those that were updated last.
    ///
    /// # Errors
    /// A failure of a store or of the embedder; what was done until then stays done, and running again is safe.
    pub async fn tidy(&self, owner: &Owner, limit: Limit) -> Result<TidyReport, Error> {
        let filter = MemoryFilter { statuses: vec![MemoryStatus::Active], ..MemoryFilter::default() };
        let place = self.place(owner).await?;
        let page = match self.episodic.list(owner, &filter, &PageRequest { cursor: place, limit }).await {
            // A place that the store does not know any more: begin anew.
            Err(StoreError::Invalid { .. }) => {
                self.episodic.list(owner, &filter, &PageRequest::first(limit)).await?
            }
            other => other?,
        };
        let mut report =
            TidyReport { seen: page.items.len(), finished: page.next.is_none(), ..TidyReport::default() };
        for record in page.items {
            if self.gives_way(&record).await? {
                report.retired.push(record.id);
            } else if record.recall_count > 0 || record.provenance.len() > 1 {
                let id = record.id;
                match self.promote(record).await {
                    // The same sentence is lasting already.
                    Ok(_) | Err(Error::Store(StoreError::Exists { .. })) => {
                        tracing::info!(%id, "a short-lived memory became lasting");
                        report.promoted.push(id);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        self.put_place(owner, page.next.as_ref()).await?;
        Ok(report)
    }

    /// Removes memories of all users whose time is over, at most `limit` of each layer; says how many. Run [`Memory::tidy`] for active
    /// users more often than [`crate::MemoryConfig::episodic_life`], so that what was recalled is lasting by then.
    ///
    /// # Errors
    /// A failure of a store.
    pub async fn collect(&self, limit: Limit) -> Result<u64, Error> {
        let now = self.clock.now();
        Ok(self.episodic.collect(now, limit).await? + self.semantic.collect(now, limit).await?)
    }

    /// Marks a record as replaced where a later statement about the same attribute counts as well.
    async fn gives_way(&self, record: &MemoryRecord) -> Result<bool, Error> {
        if record.attribute.is_none() {
            return Ok(false);
        }
        let filter = MemoryFilter {
            statuses: vec![MemoryStatus::Active],
            attribute: record.attribute.clone(),
            ..MemoryFilter::default()
        };
        let page = PageRequest::first(Limit::default());
        let mut same = self.list(&record.owner, Layer::Episodic, &filter, &page).await?.items;
        same.extend(self.list(&record.owner, Layer::Semantic, &filter, &page).await?.items);
        let latest = same.into_iter().max_by_key(|other| (other.valid_from, other.id));
        let Some(mut latest) = latest.filter(|latest| latest.id != record.id) else { return Ok(false) };
        if latest.supersedes.is_none() {
            latest.supersedes = Some(record.id);
            latest = self.change(&latest).await?;
        }
        self.retire(std::slice::from_ref(record), &latest).await?;
        tracing::info!(id = %record.id, by = %latest.id, "a memory gave way to a later one");
        Ok(true)
    }

    async fn place(&self, owner: &Owner) -> Result<Option<Cursor>, Error> {
        let Some(state) = &self.state else { return Ok(None) };
        let entry = state.get(owner, &place_key()).await?;
        Ok(entry.and_then(|entry| entry.value.read().ok()))
    }

    async fn put_place(&self, owner: &Owner, place: Option<&Cursor>) -> Result<(), Error> {
        let Some(state) = &self.state else { return Ok(()) };
        match place {
            Some(cursor) => {
                let value = JsonText::of(cursor)
                    .map_err(|source| Error::Corrupt { what: "janitor's place", source })?;
                let new = NewState { value, session: None, at: self.clock.now(), expires: None };
                state.put(owner, &place_key(), &new, Expected::Any).await?;
            }
            None => {
                state.delete(owner, &place_key(), Expected::Any).await?;
            }
        }
        Ok(())
    }
}

fn place_key() -> StateKey {
    StateKey::new(JANITOR_NAMESPACE, "episodic")
}
