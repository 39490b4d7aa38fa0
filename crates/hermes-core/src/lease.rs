//! Leases: one worker at a time drives a session (S9).

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::id::{FencingToken, HolderId, Owner, SessionId};

/// A right to write to a session until a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Whose session it is.
    pub owner: Owner,
    /// The session.
    pub session: SessionId,
    /// Who holds it.
    pub holder: HolderId,
    /// The fence that was raised when it was taken; every write carries it.
    pub fence: FencingToken,
    /// When it ends unless it is renewed.
    pub expires: Timestamp,
}

/// Gives leases on sessions.
///
/// Time is the caller's: every call says what time it is.
///
/// # Contract
/// - **LE1** `acquire` on a session without a live lease gives one whose fence is higher than every earlier fence of that session.
/// - **LE2** `acquire` while another holder's lease is live fails with [`StoreError::Leased`], which names the holder and the expiry.
/// - **LE3** `acquire` by the holder of the live lease gives it anew, with a higher fence.
/// - **LE4** A lease is live until its expiry and no longer: at the expiry itself another may take it.
/// - **LE5** `renew` of the lease that stands moves its expiry to `at + ttl`, even after it has expired, as long as nobody took it.
/// - **LE6** `renew` of a lease that was taken by another or given back fails with [`StoreError::Fenced`].
/// - **LE7** `release` ends the lease at once; releasing one that was lost or released already does nothing.
/// - **LE8** Of several who acquire at once, one wins; the others get [`StoreError::Leased`].
/// - **LE9** `acquire` on a session that this owner does not have fails with [`StoreError::NotFound`].
/// - **LE10** Releasing does not lower the fence: the next lease's is higher still.
#[async_trait]
pub trait LeaseStore: Debug + Send + Sync + 'static {
    /// Takes the lease on a session for `ttl` from `at`, and raises the session's fence.
    ///
    /// # Errors
    /// [`StoreError::Leased`], [`StoreError::NotFound`], or a failure of the backend.
    async fn acquire(
        &self,
        owner: &Owner,
        session: SessionId,
        holder: &HolderId,
        ttl: Duration,
        at: Timestamp,
    ) -> Result<Lease, StoreError>;

    /// Moves a lease's expiry to `at + ttl`.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] when the lease was lost, [`StoreError::NotFound`] when the session is gone.
    async fn renew(&self, lease: &Lease, ttl: Duration, at: Timestamp) -> Result<Lease, StoreError>;

    /// Gives a lease back.
    ///
    /// # Errors
    /// A failure of the backend only.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;
}
