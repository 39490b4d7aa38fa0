//! Tools with a contract, and calls that are checked, explained and made to happen once.
//!
//! **Who should depend on this crate:** programs that let a model call functions, with or without the rest of Hermes. Authors of
//! tools and of tool sources need `hermes-core` only.
//!
//! # What it does with a call
//! [`ToolRegistry::execute`] takes the text that a model wrote and always gives a result that a model can read:
//!
//! 1. repair of broken syntax, lossless and reported ([`Repair`], T4);
//! 2. strict validation: all violations at once, with what was expected and the nearest match, in English or Chinese (T3);
//! 3. missing arguments from memory, where the contract allows it ([`ArgumentFiller`], L2);
//! 4. approval: allow, deny, or suspend until a person answers ([`SuspendedCall`], T13);
//! 5. the journal's entry ([`Journal`], L5), then the claim of the key (T8);
//! 6. attempts with a limit, a cancellation signal and retries that never repeat an effect by guess (T6, T7);
//! 7. the recorded outcome, shortened for the context, the whole kept as an artifact (T10).
//!
//! [`ToolRegistry::execute_step`] does so for the calls of one step (T11), [`ToolRegistry::select`] chooses which tools a model is
//! told of (T12), and [`ToolRegistry::stats`] counts how it went (T5).
//!
//! # Example
//! ```
//! use hermes_core::{CallContext, CallId, Effect, Owner, Seq, SessionId, StepId, TenantId, ToolCall, ToolHost as _, ToolSpec, UserId};
//! use hermes_tools::ToolRegistry;
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize)]
//! struct Search { cuisine: String, city: Option<String> }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tools = ToolRegistry::new();
//! tools.register(
//!     ToolSpec::new("search_restaurant", "Find restaurants by cuisine and city")
//!         .input_schema(json!({
//!             "type": "object",
//!             "properties": { "cuisine": { "type": "string" }, "city": { "type": "string" } },
//!             "required": ["cuisine"]
//!         }))
//!         .effect(Effect::ReadOnly),
//!     |query: Search, _context: CallContext| async move {
//!         Ok(json!([{ "name": "Shu Xiang", "cuisine": query.cuisine, "city": query.city }]))
//!     },
//! )?;
//!
//! let context = || -> Result<CallContext, Box<dyn std::error::Error>> {
//!     let owner = Owner::new(TenantId::new("acme")?, UserId::new("dana")?);
//!     Ok(CallContext::new(owner, SessionId::generate(), Seq::new(1), StepId::generate(), CallId::new("c1")?))
//! };
//! let good = ToolCall::new(CallId::new("c1")?, "search_restaurant", r#"{"cuisine": "Sichuan",}"#);
//! let outcome = tools.call(&good, context()?).await;
//! assert!(outcome.is_success());
//! assert_eq!(outcome.report.repaired, ["removed trailing commas: 1"]);
//!
//! let bad = ToolCall::new(CallId::new("c1")?, "search_restaurant", r#"{"cusine": "Sichuan"}"#);
//! let told = tools.call(&bad, context()?).await.to_model_text();
//! assert!(told.contains("/cuisine: required field is missing"));
//! assert!(told.contains(r#"did you mean \"cuisine\"?"#));
//! # Ok(())
//! # }
//! ```
//!
//! # What it does not do
//! It knows no MCP, no model and no database: a source of tools is any [`ToolSource`](hermes_core::ToolSource), keys and artifacts
//! live in any store. It writes no log: that is the agent's, through [`Journal`].

mod attempt;
mod batch;
pub mod builtin;
mod canonical;
mod claim;
mod config;
mod contract;
mod error;
mod execute;
mod feedback;
mod func;
mod hook;
mod options;
mod prepare;
mod rank;
mod registry;
mod repair;
mod retry;
mod schema;
mod select;
mod source;
mod stats;
mod truncate;
mod validate;

pub use batch::StepCall;
pub use canonical::{Place, key_of};
pub use config::{Repair, ToolConfig};
pub use error::{AttachError, ContractError, RegisterError};
pub use feedback::ArgumentFault;
#[cfg(feature = "schemars")]
pub use func::schema_for;
pub use func::{BlockingTool, FnTool};
pub use hermes_text::Language;
pub use hook::{ArgumentFiller, Journal, MissingArgument};
pub use options::{Approved, ExecuteOptions, Executed, Resume, SuspendedCall};
pub use prepare::{Verdict, replayed_arguments};
pub use registry::ToolRegistry;
pub use select::{Folding, SelectConfig, SelectInput, Selection};
pub use source::Refreshed;
pub use stats::{Counts, Stats, ToolStats, UNKNOWN_TOOL};
pub use validate::{FILL_HINT, Problem, Violation};
