//! `find_tools`: the model asks for tools that it was not told of (T12).

use std::sync::{Arc, Weak};

use hermes_core::{CallContext, Effect, JsonText, Tool, ToolError, ToolOutput, ToolSpec, async_trait};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::registry::{Settings, Shared, ToolRegistry};

/// How many tools are named unless the call asks for fewer.
const MOST: usize = 10;

/// Finds tools of a registry by what they should do. What it finds is sent from the next step on.
#[derive(Debug)]
pub struct FindTools {
    spec: Arc<ToolSpec>,
    settings: Arc<Settings>,
    /// The registry holds this tool: holding it in turn would keep both for ever.
    shared: Weak<Shared>,
}

#[derive(Debug, Deserialize)]
struct Query {
    query: String,
    group: Option<String>,
    limit: Option<usize>,
}

impl FindTools {
    /// Searches a registry, to which it should be added.
    #[must_use]
    pub fn new(registry: &ToolRegistry) -> Self {
        let spec = ToolSpec::new(
            "find_tools",
            "Search for more tools by what they should do. The tools found can be called from the next step on.",
        )
        .input_schema(json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "minLength": 1, "description": "What the tool should do, in a few words" },
                "group": { "type": "string", "description": "Only tools of this group" },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": "How many at most" }
            },
            "required": ["query"]
        }))
        .effect(Effect::ReadOnly)
        .always_on();
        Self {
            spec: Arc::new(spec),
            settings: Arc::clone(&registry.settings),
            shared: Arc::downgrade(&registry.shared),
        }
    }
}

#[async_trait]
impl Tool for FindTools {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn call(&self, arguments: JsonText, context: CallContext) -> Result<ToolOutput, ToolError> {
        let query: Query =
            arguments.read().map_err(|error| ToolError::InvalidArguments { message: error.to_string() })?;
        let Some(shared) = self.shared.upgrade() else {
            return Err(ToolError::failed("the registry of tools is gone"));
        };
        let registry = ToolRegistry { settings: Arc::clone(&self.settings), shared };
        let of_group =
            |spec: &Arc<ToolSpec>| query.group.as_ref().is_none_or(|group| spec.groups.contains(group));
        let found: Vec<Arc<ToolSpec>> = registry
            .find(&query.query, usize::MAX)
            .await
            .into_iter()
            .filter(|spec| spec.name != self.spec.name && of_group(spec))
            .take(query.limit.unwrap_or(MOST).min(MOST))
            .collect();
        registry.shared.found.add(context.session, found.iter().map(|spec| spec.name.clone()));
        let named: Vec<Value> = found
            .iter()
            .map(|spec| json!({ "name": spec.name, "description": hermes_text::truncate_chars(&spec.description, 200) }))
            .collect();
        Ok(json!({ "tools": named }).into())
    }
}
