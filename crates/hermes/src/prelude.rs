//! What most programs use; `use hermes::prelude::*;`.

#[cfg(feature = "agent")]
pub use hermes_agent::{Agent, AgentEvent, Run};
pub use hermes_core::{CallContext, Effect, NewMessage, Owner, SessionId, ToolError, ToolOutput, ToolSpec};
#[cfg(feature = "memory")]
pub use hermes_memory::Memory;
#[cfg(feature = "session")]
pub use hermes_session::{Budget, Session, Sessions};
#[cfg(feature = "tools")]
pub use hermes_tools::ToolRegistry;
