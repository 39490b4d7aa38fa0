//! The numbers of the loop, with their defaults.

use std::time::Duration;

use hermes_core::{GenerationOptions, Tokens};
use serde::{Deserialize, Serialize};

/// How an agent drives a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AgentConfig {
    /// The most model requests of one turn: 16.
    pub max_steps: u32,
    /// The most calls of one step that are carried out: 32. The others are answered as blocked.
    pub max_calls: usize,
    /// The most time of one turn: 10 minutes. A running model request or call is cancelled then.
    pub max_time: Duration,
    /// The most time that memory gets to learn from a turn, after its answer: 60 s.
    pub max_learning: Duration,
    /// The most tokens of a whole context, tools included; `None` takes the model's window less the room for the answer.
    pub context_tokens: Option<Tokens>,
    /// How often a transient failure of a model is tried again before the next model is asked: 2 (L6).
    pub model_retries: usize,
    /// The wait before the first retry of a model; it doubles, with jitter: 500 ms.
    pub model_backoff: Duration,
    /// The longest wait for a model that limits requests: 60 s. A longer one counts as a failure.
    pub max_model_wait: Duration,
    /// How long a session's lease lasts unless it is renewed: 30 s. It is renewed at a third of that (S9).
    pub lease: Duration,
    /// How many events wait for a slow reader: 256.
    pub event_buffer: usize,
    /// How often a turn may call the same tool with equal arguments: warned at the third, blocked at the fourth, stopped at the
    /// sixth (L6).
    pub loops: LoopLimits,
    /// How answers are generated.
    pub options: GenerationOptions,
    /// How long a call waits for a person's approval before the answer is no: 24 hours (T13).
    pub approval_life: Duration,
    /// The most lines of the ledger that enter a context: 20 (L3).
    pub ledger_lines: usize,
}

/// When calls that go in circles are warned, blocked and stopped (L6). Each number counts equal calls within a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopLimits {
    /// From this one on, the result carries a warning.
    pub warn: u32,
    /// From this one on, the call is not run.
    pub block: u32,
    /// At this one, the turn stops.
    pub stop: u32,
}

impl Default for LoopLimits {
    fn default() -> Self {
        Self { warn: 3, block: 4, stop: 6 }
    }
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            max_steps: 16,
            max_calls: 32,
            max_time: Duration::from_secs(600),
            max_learning: Duration::from_secs(60),
            context_tokens: None,
            model_retries: 2,
            model_backoff: Duration::from_millis(500),
            max_model_wait: Duration::from_secs(60),
            lease: Duration::from_secs(30),
            event_buffer: 256,
            loops: LoopLimits::default(),
            options: GenerationOptions::default(),
            approval_life: Duration::from_secs(24 * 60 * 60),
            ledger_lines: 20,
        }
    }
}
