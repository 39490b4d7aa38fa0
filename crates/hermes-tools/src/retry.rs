//! Whether and when a failed attempt is made again (T7). Pure.

use std::time::Duration;

use hermes_core::{Effect, ToolError, ToolSpec};

use crate::contract::MAX_RETRIES;

/// What to do after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait, then try again under the same key.
    RetryAfter(Duration),
    /// It stays failed.
    Stop,
}

/// Decides after attempt number `attempts` (from 1) has failed; `random` is in `0..1`.
///
/// Only what may pass is tried again: transient failures, and lost answers of tools that can be replayed. A tool with side effects is
/// tried again only under its key ([`ToolSpec::is_replayable`], the one predicate), even where it says that nothing has happened.
pub(crate) fn after(spec: &ToolSpec, error: &ToolError, attempts: u8, random: f64) -> Next {
    let asked = match error {
        ToolError::Transient { retry_after, .. } => *retry_after,
        ToolError::Unknown { .. } => None,
        _ => return Next::Stop,
    };
    let policy = &spec.retry;
    if !spec.is_replayable() || attempts > policy.retries.min(MAX_RETRIES) {
        return Next::Stop;
    }
    match asked {
        // Trying earlier than asked is rude and useless; waiting longer than the policy allows keeps the user waiting.
        Some(asked) if asked > policy.max => Next::Stop,
        Some(asked) => Next::RetryAfter(asked.max(backoff(policy.base, policy.max, attempts, random))),
        None => Next::RetryAfter(backoff(policy.base, policy.max, attempts, random)),
    }
}

/// Doubles with each attempt, less up to a quarter at random, so that callers part and yet each wait is longer than the last.
fn backoff(base: Duration, max: Duration, attempts: u8, random: f64) -> Duration {
    let doubled = base.saturating_mul(1_u32 << u32::from(attempts.saturating_sub(1).min(16)));
    doubled.min(max).mul_f64(1.0 - 0.25 * random.clamp(0.0, 1.0))
}

/// The longest that all attempts of a call can take, waits included: how long a claim must live.
pub(crate) fn longest(spec: &ToolSpec, timeout: Duration) -> Duration {
    let retries = if spec.is_replayable() { u32::from(spec.retry.retries.min(MAX_RETRIES)) } else { 0 };
    timeout.saturating_mul(retries + 1).saturating_add(spec.retry.max.saturating_mul(retries))
}

/// Whether a call without an answer may have changed the world.
pub(crate) fn may_have_happened(spec: &ToolSpec) -> bool {
    spec.effect == Effect::SideEffect
}

#[cfg(test)]
mod tests {
    use hermes_core::{Replay, RetryPolicy};

    use super::*;

    fn wait(next: Next) -> u128 {
        match next {
            Next::RetryAfter(wait) => wait.as_millis(),
            Next::Stop => panic!("no retry"),
        }
    }

    #[test]
    fn waits_grow_and_end_after_two_retries() {
        let spec = ToolSpec::new("t", "").effect(Effect::ReadOnly);
        let error = ToolError::transient("503");
        assert_eq!(wait(after(&spec, &error, 1, 0.0)), 200);
        assert_eq!(wait(after(&spec, &error, 1, 1.0)), 150);
        // The shortest second wait is longer than the longest first.
        assert_eq!(wait(after(&spec, &error, 2, 1.0)), 300);
        assert_eq!(after(&spec, &error, 3, 0.5), Next::Stop);
    }

    #[test]
    fn a_server_that_says_when_is_obeyed_within_bounds() {
        let spec = ToolSpec::new("t", "").effect(Effect::ReadOnly);
        let asking = |seconds| ToolError::Transient {
            message: String::new(),
            retry_after: Some(Duration::from_secs(seconds)),
            source: None,
        };
        assert_eq!(wait(after(&spec, &asking(3), 1, 0.0)), 3_000);
        assert_eq!(after(&spec, &asking(11), 1, 0.0), Next::Stop);
    }

    #[test]
    fn effects_are_repeated_under_their_key_only() {
        let unknown = ToolError::Unknown { message: String::new(), source: None };
        let pay = ToolSpec::new("pay", "");
        for error in [&unknown, &ToolError::transient("reset")] {
            assert_eq!(after(&pay, error, 1, 0.0), Next::Stop);
            assert_ne!(after(&pay.clone().replay(Replay::UnderKey), error, 1, 0.0), Next::Stop);
        }
        assert_eq!(after(&pay.replay(Replay::UnderKey), &ToolError::failed("no"), 1, 0.0), Next::Stop);
    }

    #[test]
    fn a_claim_lives_as_long_as_all_attempts() {
        let spec = ToolSpec::new("t", "").effect(Effect::ReadOnly).retry(RetryPolicy::default());
        assert_eq!(longest(&spec, Duration::from_secs(10)), Duration::from_secs(50));
        assert_eq!(longest(&ToolSpec::new("pay", ""), Duration::from_secs(10)), Duration::from_secs(10));
    }
}
