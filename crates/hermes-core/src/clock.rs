//! Time comes in through a [`Clock`].

use std::fmt::Debug;

use jiff::Timestamp;

/// Says what time it is. Everything in Hermes that depends on time asks one, so that tests can set it.
///
/// Times are UTC in whole microseconds, since that is what databases keep: a stored time reads back equal.
pub trait Clock: Debug + Send + Sync + 'static {
    /// The present time, in whole microseconds.
    fn now(&self) -> Timestamp;
}

/// The operating system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system's clock")]
    fn now(&self) -> Timestamp {
        truncate_to_micros(Timestamp::now())
    }
}

/// Drops what is finer than a microsecond.
#[must_use]
pub fn truncate_to_micros(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

/// `at` plus `span`, held at the end of time instead of overflowing.
#[must_use]
pub fn later(at: Timestamp, span: std::time::Duration) -> Timestamp {
    at.checked_add(span).map_or(Timestamp::MAX, truncate_to_micros)
}
