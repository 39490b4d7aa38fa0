//! Settings of sessions, with the defaults that the requirements fix.

use std::time::Duration;

use hermes_core::Tokens;
use serde::{Deserialize, Serialize};

/// How sessions assemble and fold their contexts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SessionConfig {
    /// How many turns are sent whole after a fold (S4: 12).
    pub window_turns: usize,
    /// How many turns fold at once (S4: 4). Up to `window_turns + fold_batch - 1` turns are sent whole in between.
    pub fold_batch: usize,
    /// How much of what the budget leaves beside the system prompt trimming aims at, in percent: above it, results of earlier turns shrink and old
    /// turns fold, though the whole would still fit; what a current turn needs beyond it, it gets. 100 turns this off. Our choice: 40, which sends
    /// a quarter of the tokens of the measured logs (`docs/benchmarks.md`).
    pub aim_percent: u8,
    /// How many turns stay whole, the current one included, when turns fold for the sake of that aim. Our choice: 4.
    pub aim_turns: usize,
    /// The most tokens of folded sticky messages that are sent word for word; past it the oldest are condensed (S5). Our choice: 1,000.
    pub sticky_budget: Tokens,
    /// The most tokens of a summary's text. Our choice: 600, half as much again as the 400 of the measured baseline.
    pub summary_max: Tokens,
    /// The most tokens of the anchors beside it. Our choice: 200, about 40 identifiers.
    pub anchors_max: Tokens,
    /// The most tokens of any one tool result in a context (S6). Our choice: 4,000, above nine in ten results of the measured logs
    /// (p90: 2,080).
    pub tool_result_max: Tokens,
    /// What an oversized old result shrinks to (S6). Our choice: 200, about the median of the measured results (244).
    pub shrunk_result: Tokens,
    /// The most tokens that a summariser is given at once; a longer text gets the digest. Our choice: 16,000, what small models take.
    pub summary_input_max: Tokens,
    /// How long the summariser is left alone after a failure; doubled with each further one, up to 64 times (S4). Our choice: 60 s.
    pub fold_cooldown: Duration,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            window_turns: 12,
            fold_batch: 4,
            aim_percent: 40,
            aim_turns: 4,
            sticky_budget: Tokens::new(1_000),
            summary_max: Tokens::new(600),
            anchors_max: Tokens::new(200),
            tool_result_max: Tokens::new(4_000),
            shrunk_result: Tokens::new(200),
            summary_input_max: Tokens::new(16_000),
            fold_cooldown: Duration::from_secs(60),
        }
    }
}

impl SessionConfig {
    /// Sets how many turns are sent whole after a fold; at least one, the current turn.
    #[must_use]
    pub fn with_window_turns(mut self, turns: usize) -> Self {
        self.window_turns = turns.max(1);
        self
    }

    /// Sets how many turns fold at once; at least one.
    #[must_use]
    pub fn with_fold_batch(mut self, turns: usize) -> Self {
        self.fold_batch = turns.max(1);
        self
    }

    /// Sets how much of the budget trimming aims at, in percent; 100 lets everything stand that fits.
    #[must_use]
    pub fn with_aim_percent(mut self, percent: u8) -> Self {
        self.aim_percent = percent.min(100);
        self
    }

    /// Sets how many turns stay whole when turns fold for the sake of that aim; at least one.
    #[must_use]
    pub fn with_aim_turns(mut self, turns: usize) -> Self {
        self.aim_turns = turns.max(1);
        self
    }

    /// Sets the most tokens of sticky messages that are sent word for word.
    #[must_use]
    pub fn with_sticky_budget(mut self, tokens: Tokens) -> Self {
        self.sticky_budget = tokens;
        self
    }

    /// Sets the most tokens of a summary's text.
    #[must_use]
    pub fn with_summary_max(mut self, tokens: Tokens) -> Self {
        self.summary_max = tokens;
        self
    }

    /// Sets the most tokens of any one tool result.
    #[must_use]
    pub fn with_tool_result_max(mut self, tokens: Tokens) -> Self {
        self.tool_result_max = tokens;
        self
    }

    /// Sets what an oversized old result shrinks to.
    #[must_use]
    pub fn with_shrunk_result(mut self, tokens: Tokens) -> Self {
        self.shrunk_result = tokens;
        self
    }

    /// Sets the most tokens of the anchors beside a summary.
    #[must_use]
    pub fn with_anchors_max(mut self, tokens: Tokens) -> Self {
        self.anchors_max = tokens;
        self
    }

    /// Sets how long the summariser is left alone after its first failure.
    #[must_use]
    pub fn with_fold_cooldown(mut self, cooldown: Duration) -> Self {
        self.fold_cooldown = cooldown;
        self
    }

    /// How many turns are due to fold when this many stand unfolded, the current one included: whole batches, and none
    /// while fewer than a batch is over the window.
    #[must_use]
    pub fn turns_due(&self, standing: usize) -> usize {
        let batch = self.fold_batch.max(1);
        standing.saturating_sub(self.window_turns.max(1)) / batch * batch
    }
}

#[cfg(test)]
mod tests {
    use super::SessionConfig;

    #[test]
    fn four_turns_fold_when_the_sixteenth_begins() {
        let config = SessionConfig::default();
        for (standing, due) in [(0, 0), (12, 0), (15, 0), (16, 4), (19, 4), (20, 8), (1_000, 988)] {
            assert_eq!(config.turns_due(standing), due, "{standing} turns");
        }
    }
}
