//! Cursors: the name of a listing and the sort key of the last item of a page, as JSON.

use hermes_core::{Cursor, Limit, Page, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::error::Error;

/// Reads the cursor of a listing, where there is one.
pub(crate) fn read<K: DeserializeOwned>(listing: &str, cursor: Option<&Cursor>) -> Result<Option<K>, Error> {
    let Some(cursor) = cursor else { return Ok(None) };
    match serde_json::from_str::<(String, K)>(cursor.as_str()) {
        Ok((name, key)) if name == listing => Ok(Some(key)),
        _ => {
            let reason = "it was not made by this listing: begin without one".to_owned();
            Err(StoreError::Invalid { what: "cursor", reason }.into())
        }
    }
}

/// The time and id that a listing by both, the highest first, begins below: those of the cursor, or what is above them all. Two values
/// without an alternative let the index jump to the page.
pub(crate) fn below(after: Option<(i64, &Uuid)>) -> (i64, Uuid) {
    after.map_or((i64::MAX, Uuid::max()), |(time, id)| (time, *id))
}

/// How many rows to read in order to know whether more follow.
pub(crate) fn one_more(limit: Limit) -> i64 {
    i64::try_from(limit.get()).unwrap_or(i64::MAX).saturating_add(1)
}

/// Cuts a page from one item more than it holds.
pub(crate) fn page<T, K: Serialize>(
    listing: &str,
    mut items: Vec<T>,
    limit: Limit,
    key: impl Fn(&T) -> K,
) -> Result<Page<T>, Error> {
    let more = items.len() > limit.get();
    items.truncate(limit.get());
    let next = match items.last() {
        Some(last) if more => {
            let text = serde_json::to_string(&(listing, key(last)));
            Some(Cursor::new(text.map_err(|error| Error::damaged("sort key", error))?))
        }
        _ => None,
    };
    Ok(Page { items, next })
}
