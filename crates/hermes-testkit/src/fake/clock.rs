//! A clock that stands still until it is moved.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hermes_core::{Clock, clock};
use jiff::Timestamp;

use crate::sample;

/// A clock that stands still until it is moved. Clones are one clock.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows this time.
    #[must_use]
    pub fn new(at: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(at.as_microsecond())))
    }

    /// Moves it forward, and gives the new time.
    #[expect(clippy::must_use_candidate, reason = "it moves the clock; the new time is a convenience")]
    pub fn advance(&self, by: Duration) -> Timestamp {
        let to = clock::later(self.now(), by);
        self.set(to);
        to
    }

    /// Sets it, forward or back.
    pub fn set(&self, to: Timestamp) {
        self.0.store(to.as_microsecond(), Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    /// A clock that shows the time from which all samples count, [`sample::at`]`(0)`.
    fn default() -> Self {
        Self::new(sample::at(0))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.0.load(Ordering::SeqCst)).expect("it was a time when it was set")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_move_together_and_keep_microseconds() {
        let clock = ManualClock::default();
        let other = clock.clone();
        assert_eq!(clock.advance(Duration::from_nanos(1_999)), other.now());
        assert_eq!(other.now().as_microsecond(), sample::at(0).as_microsecond() + 1);
        other.set(sample::at(-5));
        assert_eq!(clock.now(), sample::at(-5));
    }
}
