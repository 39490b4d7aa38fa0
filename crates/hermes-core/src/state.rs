//! State: small durable facts under namespaced keys, so that no trait is born for each (pins, counters, suspended turns).

use std::fmt::{self, Debug};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::id::{Owner, SessionId};
use crate::json::JsonText;
use crate::page::{Limit, Page, PageRequest};

/// The name of a state entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StateKey {
    /// Who uses it, such as `hermes.mcp.pin`.
    pub namespace: String,
    /// Which entry.
    pub key: String,
}

impl StateKey {
    /// Joins the two.
    #[must_use]
    pub fn new(namespace: impl Into<String>, key: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), key: key.into() }
    }
}

impl fmt::Display for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.key)
    }
}

/// The version of a state entry: 1 when it is made, one more with each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(u64);

impl Version {
    /// The version of a new entry.
    pub const FIRST: Self = Self(1);

    /// Takes a stored number.
    #[must_use]
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The version after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// What must be so for a change to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Nothing.
    Any,
    /// There is no such entry.
    Absent,
    /// The entry is at this version.
    At(Version),
}

/// A change of a state entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewState {
    /// The value.
    pub value: JsonText,
    /// The session it belongs to, if any; with it, the entry is erased.
    pub session: Option<SessionId>,
    /// Now.
    pub at: Timestamp,
    /// When it may be collected; `None` keeps it.
    pub expires: Option<Timestamp>,
}

/// A stored state entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateEntry {
    /// Its name.
    pub key: StateKey,
    /// The value.
    pub value: JsonText,
    /// The version.
    pub version: Version,
    /// The session it belongs to, if any.
    pub session: Option<SessionId>,
    /// When it last changed.
    pub updated: Timestamp,
    /// When it may be collected.
    pub expires: Option<Timestamp>,
}

/// Keeps small JSON values under names, with compare-and-set. The same key under two owners is two entries.
///
/// What has expired is still there until it is collected: the reader looks at `expires`.
///
/// # Contract
/// - **ST1** `put` stores the value byte for byte and gives the new version: [`Version::FIRST`] for a new entry, the next one otherwise.
/// - **ST2** `put` with [`Expected::Absent`] on an entry that is there, or [`Expected::At`] another version than the present one (0 when
///   there is none), fails with [`StoreError::VersionMismatch`], which carries both, and changes nothing.
/// - **ST3** Of several who put with the same expectation at once, one wins.
/// - **ST4** `get` gives the entry, or `None`; so it does for another owner's.
/// - **ST5** `delete` removes the entry under the same conditions and says whether there was one. An entry made anew later begins at the first version.
/// - **ST6** `list` gives an owner's entries of a namespace by key, ascending by bytes, in pages.
/// - **ST7** `erase_user` and `erase_session` remove all of an owner's, or those that belong to a session, and nothing else, and say how many.
/// - **ST8** `collect` removes entries whose expiry is at or before `now`, at most `limit`, and never one without expiry.
#[async_trait]
pub trait StateStore: Debug + Send + Sync + 'static {
    /// Gives an entry.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn get(&self, owner: &Owner, key: &StateKey) -> Result<Option<StateEntry>, StoreError>;

    /// Stores an entry when `expected` holds.
    ///
    /// # Errors
    /// [`StoreError::VersionMismatch`], or a failure of the backend.
    async fn put(
        &self,
        owner: &Owner,
        key: &StateKey,
        state: &NewState,
        expected: Expected,
    ) -> Result<Version, StoreError>;

    /// Removes an entry when `expected` holds; says whether there was one.
    ///
    /// # Errors
    /// [`StoreError::VersionMismatch`], or a failure of the backend.
    async fn delete(&self, owner: &Owner, key: &StateKey, expected: Expected) -> Result<bool, StoreError>;

    /// Lists an owner's entries of a namespace.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a cursor that is not this store's, or a failure of the backend.
    async fn list(
        &self,
        owner: &Owner,
        namespace: &str,
        page: &PageRequest,
    ) -> Result<Page<StateEntry>, StoreError>;

    /// Removes all entries of an owner; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;

    /// Removes all entries that belong to a session; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;

    /// Removes expired entries, at most `limit`; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
}
