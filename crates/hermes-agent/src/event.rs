//! What a run tells while it goes on (L6).

use hermes_core::{
    CallId, Filled, MemoryId, MemoryKind, Progress, Seq, SessionId, ToolCall, ToolResult, Usage,
};
use serde::Serialize;

use crate::usage::RequestTokens;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// The user's message is in the log, and the turn has begun.
    TurnStarted {
        /// The session.
        session: SessionId,
        /// The message's place: the first of the turn.
        turn: Seq,
    },
    /// What memory gave for the message (R6).
    Recalled {
        /// The memories, best first.
        items: Vec<RecalledItem>,
        /// Why something is missing, where it is.
        trouble: Option<String>,
        /// How long it took, in microseconds.
        elapsed_us: u64,
    },
    /// A request is about to be sent: what it is made of (L4), and what was trimmed for it (S11).
    Request {
        /// The step, from 1.
        step: u32,
        /// The model.
        model: String,
        /// The tokens by part.
        tokens: RequestTokens,
        /// The tools that are offered.
        tools: Vec<String>,
        /// What was trimmed and why.
        explanation: hermes_session::Explanation,
    },
    /// More of the answer.
    Text {
        /// The piece.
        delta: String,
    },
    /// More of the model's thinking, where it is shown.
    Reasoning {
        /// The piece.
        delta: String,
    },
    /// The answer so far is void, since the model failed and is asked again.
    Restarted {
        /// Why.
        reason: String,
        /// The model that is asked next.
        model: String,
    },
    /// The model calls a tool.
    ToolCall {
        /// The call as the model wrote it.
        call: ToolCall,
    },
    /// A call is about to run; this is in the log.
    CallStarted {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// The arguments that are executed, as JSON text.
        arguments: String,
        /// What memory supplied (L2).
        filled: Vec<Filled>,
        /// What was repaired.
        repaired: Vec<String>,
    },
    /// A running call says how far it is.
    Progress {
        /// The call.
        call: CallId,
        /// How much is done.
        done: f64,
        /// How much there is, where that is known.
        total: Option<f64>,
        /// What is being done.
        message: Option<String>,
    },
    /// A call has its result; this is in the log.
    ToolResult {
        /// The result as the model will read it.
        result: ToolResult,
    },
    /// A call waits for a person's approval (T13): the run ends, to be taken up by [`crate::Agent::answer`].
    ApprovalNeeded {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// The arguments that would be executed, as JSON text.
        arguments: String,
        /// What the person is asked.
        reason: String,
    },
    /// What a request cost, as the model's service says.
    Usage {
        /// The step, from 1.
        step: u32,
        /// The tokens.
        usage: Usage,
    },
    /// Something that the user should know, such as an effect whose outcome is unknown.
    Notice {
        /// What it is.
        text: String,
    },
    /// The answer is complete and in the log.
    Answered {
        /// The whole answer.
        text: String,
    },
    /// What memory took from the turn (R3, R4). It follows [`Finished`](Self::Finished), so that nobody waits for it.
    Learned {
        /// What was written, in words.
        written: Vec<String>,
        /// What went wrong, where something did.
        trouble: Option<String>,
    },
    /// The turn has ended.
    Finished {
        /// Why.
        stop: StopReason,
        /// How many requests were made.
        steps: u32,
        /// What they cost together.
        usage: Usage,
    },
}

/// A memory that was recalled, as a run tells it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecalledItem {
    /// The record.
    pub id: MemoryId,
    /// What sort of thing it is.
    pub kind: MemoryKind,
    /// The sentence.
    pub content: String,
    /// The calibrated likeness, 0 to 1.
    pub score: f32,
    /// Why it passed.
    pub why: String,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model gave its answer.
    Answered,
    /// The answer reached the most tokens.
    Length,
    /// The service held the answer back.
    ContentFilter,
    /// The turn reached its most steps.
    MaxSteps,
    /// The turn reached its most time.
    MaxTime,
    /// The model called the same thing again and again.
    Loop,
    /// A call waits for approval.
    Suspended,
    /// The run was cancelled.
    Cancelled,
}

impl From<Progress> for AgentEvent {
    fn from(progress: Progress) -> Self {
        let Progress { call, done, total, message } = progress;
        Self::Progress { call, done, total, message }
    }
}
