//! Settings. What the requirements fix are the defaults, and they live here alone.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::select::SelectConfig;

/// Whether broken syntax in a call's arguments is mended before they are checked (T4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Lossless repairs are made and reported.
    #[default]
    On,
    /// What is not exactly right is refused.
    Off,
}

/// The settings of a [`ToolRegistry`](crate::ToolRegistry).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolConfig {
    /// How long one attempt of a local tool may take unless its contract says otherwise: 10 s (T6).
    pub timeout: Duration,
    /// The same for tools that come from a source, such as an MCP server: 60 s (T6).
    pub source_timeout: Duration,
    /// How long a tool may go on after its signal was raised before its future is dropped: 100 ms.
    pub grace: Duration,
    /// Whether broken syntax in arguments is mended (T4).
    pub repair: Repair,
    /// The most tokens of an output that reach the context; the whole becomes an artifact (T10): 2,000, some 8 KB of English.
    pub result_tokens: u32,
    /// About the most tokens that the outputs of one turn together take in the context (T10): 24,000. What comes after gets a preview of
    /// 200 tokens, and the whole is kept.
    pub turn_tokens: u32,
    /// The most tokens of a feedback or error text (T3): 500.
    pub feedback_tokens: u32,
    /// The most bytes of an output that are kept as an artifact: 32 MiB. What is longer loses its end.
    pub artifact_bytes: usize,
    /// How many calls of one step run at once (T11): 8.
    pub concurrency: usize,
    /// How long recorded outcomes are kept (T8): 30 days. A journal entry older than this is not run again either.
    pub retention: Duration,
    /// How long a call waits for the same call running elsewhere before it says so (T8): 2 s.
    pub wait: Duration,
    /// Which tools are sent (T12).
    pub select: SelectConfig,
}

impl Default for ToolConfig {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            source_timeout: Duration::from_secs(60),
            grace: Duration::from_millis(100),
            repair: Repair::On,
            result_tokens: 2_000,
            turn_tokens: 24_000,
            feedback_tokens: 500,
            artifact_bytes: 32 << 20,
            concurrency: 8,
            retention: Duration::from_secs(30 * 24 * 60 * 60),
            wait: Duration::from_secs(2),
            select: SelectConfig::default(),
        }
    }
}
