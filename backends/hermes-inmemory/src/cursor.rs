//! Cursors: the sort key of the last item of a page, as JSON.

use hermes_core::{Cursor, Limit, Page, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a cursor of ours.
pub(crate) fn read<K: DeserializeOwned>(cursor: &Cursor) -> Result<K, StoreError> {
    serde_json::from_str(cursor.as_str()).map_err(|_| StoreError::Invalid {
        what: "cursor",
        reason: "it was not made by this listing".to_owned(),
    })
}

/// Cuts a page from items that are in order and begin after the cursor.
pub(crate) fn page<T, K: Serialize>(
    items: impl Iterator<Item = T>,
    limit: Limit,
    key: impl Fn(&T) -> K,
) -> Page<T> {
    let mut items: Vec<T> = items.take(limit.get() + 1).collect();
    let more = items.len() > limit.get();
    items.truncate(limit.get());
    let next = items
        .last()
        .filter(|_| more)
        .and_then(|last| serde_json::to_string(&key(last)).ok())
        .map(Cursor::new);
    Page { items, next }
}
