//! Approval: whether a call may run (T13).

use std::fmt::Debug;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::{Owner, SessionId};
use crate::json::JsonText;
use crate::message::Filled;
use crate::tool::{ToolCall, ToolSpec};

/// What an approver is asked.
#[derive(Debug, Clone)]
pub struct ApprovalRequest<'a> {
    /// Whose session it is.
    pub owner: &'a Owner,
    /// The session.
    pub session: SessionId,
    /// The call as the model wrote it.
    pub call: &'a ToolCall,
    /// The tool's contract, with its declared effect.
    pub spec: &'a ToolSpec,
    /// The arguments that would be executed, after repair and filling.
    pub arguments: &'a JsonText,
    /// Which of them memory supplied (L2): an effect on the world wants these confirmed.
    pub filled: &'a [Filled],
}

/// What an approver says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Run it.
    Allow,
    /// Do not run it, and tell the model why.
    Deny {
        /// Why not, for the model and the user.
        reason: String,
    },
    /// Wait for a person. The turn is suspended until the answer comes, in whatever process.
    Ask {
        /// What the person is asked.
        reason: String,
    },
}

/// How a call came to run, kept in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalNote {
    /// Who allowed it: a policy's name or a person's id.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// Decides whether calls may run.
///
/// # Contract
/// - **AP1** The decision depends on the request alone: asked again with the same request, as after a crash, it may answer the same.
/// - **AP2** An approver that cannot decide answers [`Decision::Deny`] or [`Decision::Ask`], never [`Decision::Allow`].
#[async_trait]
pub trait Approver: Debug + Send + Sync + 'static {
    /// Decides one call.
    async fn decide(&self, request: &ApprovalRequest<'_>) -> Decision;
}
