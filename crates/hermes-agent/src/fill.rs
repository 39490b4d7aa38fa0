//! Memory fills blanks (L2): what was recalled for the turn may supply arguments that a call left out.

use std::sync::Arc;

use hermes_core::{CallContext, Filled, JsonText, ToolSpec, async_trait};
use hermes_memory::{Recall, fill::filling};
use hermes_tools::{ArgumentFiller, MissingArgument};
use serde_json::Value;

/// Fills from the memories of one turn.
#[derive(Debug)]
pub(crate) struct MemoryFiller {
    pub(crate) recall: Arc<Recall>,
}

#[async_trait]
impl ArgumentFiller for MemoryFiller {
    async fn fill(
        &self,
        _spec: &ToolSpec,
        _arguments: &Value,
        missing: &[MissingArgument],
        _context: &CallContext,
    ) -> Vec<Filled> {
        let fill = |missing: &MissingArgument| {
            let filling = filling(&self.recall, &missing.schema)?;
            Some(Filled {
                pointer: missing.pointer.clone(),
                value: JsonText::from(&filling.value),
                memory: filling.memory,
            })
        };
        missing.iter().filter_map(fill).collect()
    }
}
