//! The traits and data types of Hermes, an agent framework.
//!
//! **Who should depend on this crate:** authors of backends (a store, a model service, an embedder), of tools and of tool
//! sources. Applications depend on `hermes`, which re-exports what they need.
//!
//! # Reading order
//! 1. [`id`]: what can be named, and [`Owner`], which every store call carries.
//! 2. [`message`] and [`session`]: the append-only log, and the contract of the [`SessionStore`] with its leases ([`lease`]).
//! 3. [`tool`]: contracts ([`ToolSpec`]), calls and outcomes; [`idempotency`], [`approval`] and [`artifact`] beside it.
//! 4. [`memory`] and [`embed`]: records, their stores, vectors and calibrated scores.
//! 5. [`model`]: what a model is asked and how its answer streams.
//! 6. [`state`], [`page`], [`token`], [`clock`], [`cancel`], [`json`], [`error`]: the small things all of them use.
//!
//! # Contracts
//! The documentation of a store trait numbers what an implementation must do (**SS1**, **SS2**, …). Each number is a case of the
//! conformance suite in `hermes-testkit`; an implementation is done when the suite passes.
//!
//! # What this crate does not do
//! It has no runtime, opens no connection, reads no clock but [`SystemClock`], and decides nothing: assembling contexts,
//! checking arguments and choosing memories live in the crates above it.
//!
//! # Example
//! A tool of one's own is a contract and what carries it out:
//! ```
//! use std::sync::Arc;
//! use hermes_core::{async_trait, CallContext, Effect, JsonText, Tool, ToolError, ToolOutput, ToolSpec};
//! use serde_json::json;
//!
//! #[derive(Debug)]
//! struct Add(Arc<ToolSpec>);
//!
//! #[derive(serde::Deserialize)]
//! struct Numbers { a: i64, b: i64 }
//!
//! #[async_trait]
//! impl Tool for Add {
//!     fn spec(&self) -> Arc<ToolSpec> {
//!         Arc::clone(&self.0)
//!     }
//!
//!     async fn call(&self, arguments: JsonText, _context: CallContext) -> Result<ToolOutput, ToolError> {
//!         let Numbers { a, b } = arguments.read().map_err(|e| ToolError::failed(e.to_string()))?;
//!         Ok(json!(a + b).into())
//!     }
//! }
//!
//! let add = Add(Arc::new(
//!     ToolSpec::new("add", "Adds two whole numbers")
//!         .input_schema(json!({
//!             "type": "object",
//!             "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
//!             "required": ["a", "b"]
//!         }))
//!         .effect(Effect::ReadOnly),
//! ));
//! assert!(add.spec().is_replayable());
//! ```

pub mod approval;
pub mod artifact;
pub mod cancel;
pub mod clock;
pub mod embed;
pub mod error;
mod forward;
pub mod id;
pub mod idempotency;
pub mod json;
pub mod lease;
pub mod memory;
pub mod message;
pub mod model;
pub mod page;
pub mod session;
pub mod state;
pub mod token;
pub mod tool;

/// The attribute that implementations of the traits here need.
pub use async_trait::async_trait;

pub use approval::{ApprovalNote, ApprovalRequest, Approver, Decision};
pub use artifact::{ArtifactHandle, ArtifactRecord, ArtifactStore, InvalidHandle, NewArtifact};
pub use cancel::{CancelHandle, CancelSignal, Cancelled};
pub use clock::{Clock, SystemClock};
pub use embed::{Calibration, Embedder, EmbedderInfo, Embedding, InvalidScore, Purpose, Score};
pub use error::{BoxError, EmbedError, Entity, ModelError, StoreError};
pub use id::{
    ArtifactId, CallId, CounterId, EmbedderId, FencingToken, HolderId, IdempotencyKey, InvalidId, MemoryId,
    Owner, Seq, SessionId, StepId, TenantId, UserId,
};
pub use idempotency::{Claim, ClaimRecord, ClaimTicket, IdempotencyStore, NewClaim, Takeover};
pub use json::JsonText;
pub use lease::{Lease, LeaseStore};
pub use memory::{
    AttributeKey, Candidate, EpisodicQuery, EpisodicStore, Layer, MemoryFilter, MemoryKind, MemoryRecord,
    MemorySource, MemoryStatus, Provenance, SemanticQuery, SemanticStore,
};
pub use message::{
    Body, CallStarted, ContentPart, FileRef, FileSource, Filled, Kind, Message, NewMessage, ProviderMetadata,
    Role, ToolResult, text_of,
};
pub use model::{
    ChatEvent, ChatMessage, ChatModel, ChatModelExt, ChatReply, ChatRequest, ChatStream, FinishReason,
    GenerationOptions, ModelInfo, Summarizer, SummaryRequest, SummarySubject, ToolChoice, Usage,
};
pub use page::{Cursor, Limit, Page, PageRequest};
pub use session::{
    ContextMetadata, ForkPoint, LogFilter, LogPage, LogQuery, NewSession, Order, SearchHit, SearchQuery,
    SessionRecord, SessionState, SessionStore, StoredSession, Summary, SummaryOrigin, WriteGuard,
};
pub use state::{Expected, NewState, StateEntry, StateKey, StateStore, Version};
pub use token::{TokenCount, TokenCounter, Tokens};
pub use tool::{
    CallContext, CallReport, Effect, FailureKind, KeyRule, KeyScope, Outcome, Progress, ProgressSink, Replay,
    RetryPolicy, SkippedTool, SourceTools, Tool, ToolCall, ToolError, ToolHost, ToolOrigin, ToolOutcome,
    ToolOutput, ToolSource, ToolSpec, UnknownFields,
};
