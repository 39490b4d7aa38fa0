//! Taking the time.

use std::time::{Duration, Instant};

/// Runs `work` and says how long it took.
pub(crate) async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let start = now();
    let done = work.await;
    (done, start.elapsed())
}

/// The same for work that is not async.
pub(crate) fn timed_call<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let done = work();
    (done, start.elapsed())
}

#[expect(clippy::disallowed_methods, reason = "a measure of real time asks the real clock")]
fn now() -> Instant {
    Instant::now()
}

/// Times of one thing, taken in several rounds.
#[derive(Debug, Default)]
pub(crate) struct Times {
    rounds: Vec<f64>,
    round: Vec<Duration>,
}

impl Times {
    pub(crate) fn add(&mut self, time: Duration) {
        self.round.push(time);
    }

    /// Ends a round.
    pub(crate) fn end_round(&mut self) {
        self.rounds.extend(median(&mut self.round));
        self.round.clear();
    }

    /// The median of the quietest round, in microseconds: what else runs on the machine only ever adds to a time.
    pub(crate) fn micros(&self) -> Option<f64> {
        self.rounds.iter().copied().min_by(f64::total_cmp)
    }
}

/// The median in microseconds.
fn median(times: &mut [Duration]) -> Option<f64> {
    times.sort_unstable();
    times.get(times.len() / 2).map(|time| time.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_quietest_round_counts() {
        let mut times = Times::default();
        assert_eq!(times.micros(), None);
        for round in [[9, 7, 8], [4, 100, 5]] {
            for time in round {
                times.add(Duration::from_micros(time));
            }
            times.end_round();
        }
        assert_eq!(times.micros(), Some(5.0));
    }
}
