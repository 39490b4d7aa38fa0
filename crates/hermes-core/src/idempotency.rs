//! Idempotency: an effect happens once (T8).

use std::fmt::Debug;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::id::{FencingToken, HolderId, IdempotencyKey, Owner, SessionId};
use crate::json::JsonText;
use crate::page::Limit;

/// What is to be done when the holder of a claim has died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Takeover {
    /// Say so: the call must not run again.
    Never,
    /// Take the claim over: the call may run again under the same key.
    IfAbandoned,
}

/// A wish to run the effect of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewClaim {
    /// The session it belongs to; with it, the claim is erased.
    pub session: SessionId,
    /// The tool, for people who read the database.
    pub tool: String,
    /// Who would run it.
    pub holder: HolderId,
    /// Now.
    pub at: Timestamp,
    /// When the holder counts as dead unless it has completed.
    pub expires: Timestamp,
    /// What to do with an abandoned claim.
    pub takeover: Takeover,
}

/// A right to run an effect and to record its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimTicket {
    /// Whose key it is.
    pub owner: Owner,
    /// The key.
    pub key: IdempotencyKey,
    /// The fence of this claim: higher than that of the claim it took over.
    pub fence: FencingToken,
}

/// What came of a wish to run an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claim {
    /// Run it, then `complete` or `release` the ticket.
    Won(ClaimTicket),
    /// It has run: this is its recorded outcome.
    Done {
        /// The outcome, as it was recorded.
        outcome: JsonText,
        /// When it was recorded.
        at: Timestamp,
    },
    /// It is running.
    InProgress {
        /// Who runs it.
        holder: HolderId,
        /// When that one counts as dead.
        expires: Timestamp,
    },
    /// Its holder died between claim and record, and the wish forbids to run it again: the outcome is unknown.
    Abandoned {
        /// Who had it.
        holder: HolderId,
        /// When that one counted as dead.
        expired: Timestamp,
    },
}

/// How a key stands, without claiming it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// The tool.
    pub tool: String,
    /// The session of the last claim.
    pub session: SessionId,
    /// Who claimed it last.
    pub holder: HolderId,
    /// When that one counts as dead.
    pub expires: Timestamp,
    /// The recorded outcome, once there is one.
    pub outcome: Option<JsonText>,
}

/// Keeps claims on effects and their outcomes. Keys of different owners never meet.
///
/// # Contract
/// - **ID1** `claim` of a key that was never claimed, or was released, is [`Claim::Won`].
/// - **ID2** `claim` while a claim is live (before its `expires`) is [`Claim::InProgress`] and names holder and expiry, whoever asks.
/// - **ID3** `claim` after `complete` is [`Claim::Done`] with the outcome byte for byte, whatever the expiry.
/// - **ID4** `claim` at or after the expiry of a claim without outcome is [`Claim::Abandoned`] under [`Takeover::Never`], and [`Claim::Won`]
///   with a higher fence under [`Takeover::IfAbandoned`].
/// - **ID5** `complete` or `release` with a ticket that was taken over, released or completed, even when the key was claimed anew since, fails with [`StoreError::VersionMismatch`] and changes nothing.
/// - **ID6** `complete` records the outcome even after the claim has expired, as long as nobody took it over. A second `complete` fails with
///   [`StoreError::VersionMismatch`] and leaves the first outcome.
/// - **ID7** `release` makes the key free again; it says that nothing has happened.
/// - **ID8** Of several who claim a key at once, one wins.
/// - **ID9** The same key under two owners is two keys.
/// - **ID10** `get` gives how a key stands and changes nothing.
/// - **ID11** `collect` removes completed records whose retention has ended by `now`, at most `limit`, and never one without outcome.
/// - **ID12** `erase_user` and `erase_session` remove all of an owner's, or of a session's, and nothing else, and say how many.
#[async_trait]
pub trait IdempotencyStore: Debug + Send + Sync + 'static {
    /// Asks for the right to run an effect.
    ///
    /// # Errors
    /// A failure of the backend only: all else is a [`Claim`].
    async fn claim(&self, owner: &Owner, key: &IdempotencyKey, claim: &NewClaim)
    -> Result<Claim, StoreError>;

    /// Records the outcome of an effect, to be kept until `retain_until`.
    ///
    /// # Errors
    /// [`StoreError::VersionMismatch`] when the claim is not the caller's any more, or a failure of the backend.
    async fn complete(
        &self,
        ticket: &ClaimTicket,
        outcome: &JsonText,
        at: Timestamp,
        retain_until: Timestamp,
    ) -> Result<(), StoreError>;

    /// Gives a claim back because nothing has happened.
    ///
    /// # Errors
    /// [`StoreError::VersionMismatch`] when the claim is not the caller's any more, or a failure of the backend.
    async fn release(&self, ticket: &ClaimTicket) -> Result<(), StoreError>;

    /// Looks at a key.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn get(&self, owner: &Owner, key: &IdempotencyKey) -> Result<Option<ClaimRecord>, StoreError>;

    /// Removes all keys of an owner; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;

    /// Removes all keys that were last claimed by a session; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;

    /// Removes completed records past their retention, at most `limit`; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
}
