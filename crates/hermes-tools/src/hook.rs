//! What the agent adds to the running of a call: its journal, and memory that fills blanks.

use std::fmt::Debug;

use hermes_core::{CallContext, CallStarted, Filled, StoreError, ToolSpec, async_trait};
use serde_json::Value;

/// Writes down that a call is about to run, before anything happens (L5).
///
/// # Contract
/// - **JN1** Once [`Journal::started`] returns, the entry outlives the process.
/// - **JN2** When it fails, the call is not run.
#[async_trait]
pub trait Journal: Debug + Send + Sync + 'static {
    /// Writes the entry: after approval, before the claim.
    ///
    /// # Errors
    /// What the store of the log says, such as a lost lease. The call is given up.
    async fn started(&self, entry: &CallStarted) -> Result<(), StoreError>;
}

/// A required argument that a call left out and whose schema says that memory may supply it.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingArgument {
    /// Where it belongs, as a JSON pointer.
    pub pointer: String,
    /// Its schema, with local references resolved one level.
    pub schema: Value,
    /// The words of its `"x-hermes-fill"` hint.
    pub hint: String,
}

/// Supplies missing arguments from memory (L2).
///
/// It is asked only when required arguments with a hint are all that a call lacks. What it gives is checked by the schema, never
/// replaces what is there, is recorded, and is told to the model.
#[async_trait]
pub trait ArgumentFiller: Debug + Send + Sync + 'static {
    /// Gives values for some of `missing`; none when memory has nothing that fits.
    async fn fill(
        &self,
        spec: &ToolSpec,
        arguments: &Value,
        missing: &[MissingArgument],
        context: &CallContext,
    ) -> Vec<Filled>;
}
