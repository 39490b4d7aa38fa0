//! The line before a session: runs of one agent on one session come one after the other (S9).
//!
//! The lease keeps other processes away. Within a process it would not do: runs of one agent are one holder, and clones of a
//! session's handle share its lease.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hermes_core::SessionId;
use tokio::sync::OwnedMutexGuard;

type Door = tokio::sync::Mutex<()>;

/// Who drives which session in this process.
#[derive(Debug, Default)]
pub(crate) struct Line(Mutex<HashMap<SessionId, Weak<Door>>>);

impl Line {
    /// Waits until no earlier run drives the session; the session is this run's for as long as it keeps the guard.
    pub(crate) async fn turn(&self, session: SessionId) -> OwnedMutexGuard<()> {
        self.door(session).lock_owned().await
    }

    fn door(&self, session: SessionId) -> Arc<Door> {
        let mut doors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(door) = doors.get(&session).and_then(Weak::upgrade) {
            return door;
        }
        doors.retain(|_, door| door.strong_count() > 0);
        let door = Arc::new(Door::default());
        doors.insert(session, Arc::downgrade(&door));
        door
    }
}
