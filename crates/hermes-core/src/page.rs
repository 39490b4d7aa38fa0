//! Pages: every listing is bounded.

use serde::{Deserialize, Serialize};

/// How many items at the most, from 1 to [`Limit::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit(u16);

impl Limit {
    /// The most that one page holds.
    pub const MAX: Self = Self(1_000);

    /// Takes a number, held between 1 and [`Limit::MAX`].
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self(u16::try_from(n).unwrap_or(u16::MAX).clamp(1, Self::MAX.0))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

impl Default for Limit {
    /// A hundred.
    fn default() -> Self {
        Self(100)
    }
}

/// Where the next page begins: opaque text that only the store that made it reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    /// Wraps a store's text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageRequest {
    /// Where to begin: the [`Page::next`] of the page before, or `None` for the first.
    pub cursor: Option<Cursor>,
    /// How many at the most.
    pub limit: Limit,
}

impl PageRequest {
    /// The first page, of at most `limit` items.
    #[must_use]
    pub fn first(limit: Limit) -> Self {
        Self { cursor: None, limit }
    }
}

/// Some items, and where the rest begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The items, in the listing's order.
    pub items: Vec<T>,
    /// Where the next page begins; `None` at the end, also when the last page is exactly full.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// A page after which nothing comes.
    #[must_use]
    pub fn last(items: Vec<T>) -> Self {
        Self { items, next: None }
    }

    /// Changes each item.
    #[must_use]
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next }
    }
}
