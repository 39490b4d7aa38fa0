//! Leases, kept in their session's row together with its fence (decision 3).

use std::time::Duration;

use async_trait::async_trait;
use hermes_core::clock::later;
use hermes_core::{HolderId, Lease, LeaseStore, Limit, Owner, SessionId, StoreError};
use jiff::Timestamp;

use crate::error::Error;
use crate::row::signed;
use crate::session::{not_found, standing};
use crate::store::PostgresStore;

#[async_trait]
impl LeaseStore for PostgresStore {
    async fn acquire(
        &self,
        owner: &Owner,
        session: SessionId,
        holder: &HolderId,
        ttl: Duration,
        at: Timestamp,
    ) -> Result<Lease, StoreError> {
        self.run("acquire lease", || acquire(self, owner, session, holder, ttl, at)).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration, at: Timestamp) -> Result<Lease, StoreError> {
        self.run("renew lease", || renew(self, lease, ttl, at)).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.run("release lease", || release(self, lease)).await
    }
}

async fn acquire(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    holder: &HolderId,
    ttl: Duration,
    at: Timestamp,
) -> Result<Lease, Error> {
    let mut tx = store.begin().await?;
    let standing = standing(&mut tx, owner, session).await?.ok_or_else(|| not_found(session))?;
    if let Some((other, until)) = standing.lease()?
        && at < until
        && other != *holder
    {
        return Err(StoreError::Leased { session, holder: other, until }.into());
    }
    let expires = later(at, ttl);
    let fence = standing.fence()?.next();
    sqlx::query("UPDATE hermes_session SET fence = $1, lease_holder = $2, lease_expires = $3 WHERE key = $4")
        .bind(signed(fence.get()))
        .bind(holder.as_str())
        .bind(expires.as_microsecond())
        .bind(standing.key)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(Lease { owner: owner.clone(), session, holder: holder.clone(), fence, expires })
}

async fn renew(store: &PostgresStore, lease: &Lease, ttl: Duration, at: Timestamp) -> Result<Lease, Error> {
    let session = lease.session;
    let mut tx = store.begin().await?;
    let standing = standing(&mut tx, &lease.owner, session).await?.ok_or_else(|| not_found(session))?;
    let current = standing.fence()?;
    if current != lease.fence || standing.lease()?.is_none() {
        return Err(StoreError::Fenced { session, held: lease.fence, current }.into());
    }
    let expires = later(at, ttl);
    sqlx::query("UPDATE hermes_session SET lease_expires = $1 WHERE key = $2")
        .bind(expires.as_microsecond())
        .bind(standing.key)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(Lease { expires, ..lease.clone() })
}

async fn release(store: &PostgresStore, lease: &Lease) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    sqlx::query(
        "UPDATE hermes_session SET lease_holder = NULL, lease_expires = NULL
         WHERE id = $1 AND tenant = $2 AND user_id = $3 AND fence = $4",
    )
    .bind(lease.session.as_uuid())
    .bind(lease.owner.tenant.as_str())
    .bind(lease.owner.user.as_str())
    .bind(signed(lease.fence.get()))
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

/// Clears leases that have ended; their fences stay. Sessions that are being written to are left for the next time.
pub(crate) async fn collect(store: &PostgresStore, now: Timestamp, limit: Limit) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query(
        "UPDATE hermes_session SET lease_holder = NULL, lease_expires = NULL
         WHERE key IN (SELECT key FROM hermes_session WHERE lease_expires <= $1 LIMIT $2
                       FOR NO KEY UPDATE SKIP LOCKED)",
    )
    .bind(now.as_microsecond())
    .bind(i64::try_from(limit.get()).unwrap_or(i64::MAX))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}
