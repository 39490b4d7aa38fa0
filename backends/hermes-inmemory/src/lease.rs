//! Leases, kept in their session's row.

use std::time::Duration;

use async_trait::async_trait;
use hermes_core::clock::later;
use hermes_core::{HolderId, Lease, LeaseStore, Owner, SessionId, StoreError};
use jiff::Timestamp;

use crate::store::InMemoryStore;

/// Who holds a session until when.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) holder: HolderId,
    pub(crate) expires: Timestamp,
}

#[async_trait]
impl LeaseStore for InMemoryStore {
    async fn acquire(
        &self,
        owner: &Owner,
        session: SessionId,
        holder: &HolderId,
        ttl: Duration,
        at: Timestamp,
    ) -> Result<Lease, StoreError> {
        let mut table = self.sessions();
        let row = table.row_mut(owner, session)?;
        if let Some(held) = &row.lease
            && at < held.expires
            && held.holder != *holder
        {
            return Err(StoreError::Leased { session, holder: held.holder.clone(), until: held.expires });
        }
        let expires = later(at, ttl);
        row.state.fence = row.state.fence.next();
        row.lease = Some(Held { holder: holder.clone(), expires });
        Ok(Lease { owner: owner.clone(), session, holder: holder.clone(), fence: row.state.fence, expires })
    }

    async fn renew(&self, lease: &Lease, ttl: Duration, at: Timestamp) -> Result<Lease, StoreError> {
        let mut table = self.sessions();
        let row = table.row_mut(&lease.owner, lease.session)?;
        let current = row.state.fence;
        match &mut row.lease {
            Some(held) if current == lease.fence => {
                held.expires = later(at, ttl);
                Ok(Lease { expires: held.expires, ..lease.clone() })
            }
            _ => Err(StoreError::Fenced { session: lease.session, held: lease.fence, current }),
        }
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut table = self.sessions();
        if let Ok(row) = table.row_mut(&lease.owner, lease.session)
            && row.state.fence == lease.fence
        {
            row.lease = None;
        }
        Ok(())
    }
}
