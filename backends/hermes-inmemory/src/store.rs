//! The store: one handle on all tables, each behind its own lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::artifact::Artifacts;
use crate::idempotency::Claims;
use crate::records::Records;
use crate::session::SessionTable;
use crate::state::States;

/// Sessions, leases, claims, artifacts, state and episodic memories, for as long as the process lives. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct InMemoryStore {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    sessions: Mutex<SessionTable>,
    claims: Mutex<Claims>,
    artifacts: Mutex<Artifacts>,
    states: Mutex<States>,
    episodic: Mutex<Records>,
}

impl InMemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, SessionTable> {
        lock(&self.inner.sessions)
    }

    pub(crate) fn claims(&self) -> MutexGuard<'_, Claims> {
        lock(&self.inner.claims)
    }

    pub(crate) fn artifacts(&self) -> MutexGuard<'_, Artifacts> {
        lock(&self.inner.artifacts)
    }

    pub(crate) fn states(&self) -> MutexGuard<'_, States> {
        lock(&self.inner.states)
    }

    pub(crate) fn episodic(&self) -> MutexGuard<'_, Records> {
        lock(&self.inner.episodic)
    }
}

/// Locks a table. No table is left half changed by a panic, since each change is decided before it is made.
pub(crate) fn lock<T>(table: &Mutex<T>) -> MutexGuard<'_, T> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}
