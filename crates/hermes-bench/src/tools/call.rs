//! The public calls and tools, and how they are registered.

use std::path::Path;

use hermes_core::{BoxError, CallContext, CallId, Effect, ToolCall, ToolError, ToolSpec, UnknownFields};
use hermes_tools::{Repair, ToolConfig, ToolRegistry};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::data::read_lines;

/// A call that somebody made or should have made.
#[derive(Debug, Deserialize)]
pub(crate) struct Recorded {
    /// Its name in the data.
    pub(crate) id: String,
    #[serde(alias = "tool")]
    name: String,
    #[serde(rename = "inputSchema")]
    pub(crate) schema: Value,
    pub(crate) arguments: Value,
    /// The verdict of the validator that made the file.
    pub(crate) valid: bool,
    /// Its reason.
    pub(crate) why: Option<String>,
}

/// A tool of a corpus.
#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) server: String,
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(rename = "inputSchema")]
    pub(crate) schema: Value,
    pub(crate) tokens: usize,
}

/// Reads one file of calls.
pub(crate) fn read(data: &Path, name: &str) -> Result<Vec<Recorded>, BoxError> {
    Ok(read_lines(data, &format!("{name}.jsonl"))?)
}

/// A name that providers accept: other characters become `_`, and what is too long is cut.
pub(crate) fn legal(name: &str) -> String {
    let kept =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' });
    kept.take(64).collect()
}

/// A contract for a tool of the data.
pub(crate) fn contract(name: &str, description: &str, schema: &Value) -> ToolSpec {
    ToolSpec::new(name, description).input_schema(modern(schema)).effect(Effect::ReadOnly)
}

/// The schema with draft 4's boolean bounds as numbers, as `hermes-mcp` registers it; one public server writes them so.
fn modern(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut fields: Map<String, Value> =
                fields.iter().map(|(name, value)| (name.clone(), modern(value))).collect();
            for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
                match fields.get(exclusive) {
                    Some(Value::Bool(true)) => match fields.remove(bound) {
                        Some(limit) => drop(fields.insert(exclusive.to_owned(), limit)),
                        None => drop(fields.remove(exclusive)),
                    },
                    Some(Value::Bool(false)) => drop(fields.remove(exclusive)),
                    _ => {}
                }
            }
            Value::Object(fields)
        }
        Value::Array(items) => items.iter().map(modern).collect(),
        other => other.clone(),
    }
}

/// Adds a tool that does nothing.
pub(crate) fn add(registry: &ToolRegistry, spec: ToolSpec) -> Result<(), BoxError> {
    registry.register(spec, |_: IgnoredAny, _: CallContext| async { Ok::<Value, ToolError>(Value::Null) })?;
    Ok(())
}

impl Recorded {
    /// The tool's legal name.
    pub(crate) fn tool(&self) -> String {
        legal(&self.name)
    }

    /// A registry with this call's tool alone.
    pub(crate) fn registry(&self, unknown: UnknownFields, repair: Repair) -> Result<ToolRegistry, BoxError> {
        let mut config = ToolConfig::default();
        config.repair = repair;
        let registry = ToolRegistry::with_config(config).with_language(hermes_tools::Language::English);
        add(&registry, contract(&self.tool(), "", &self.schema).unknown_fields(unknown))?;
        Ok(registry)
    }

    /// A call of the tool with these arguments.
    pub(crate) fn call(&self, arguments: impl Into<String>) -> ToolCall {
        ToolCall::new(CallId::generate(), self.tool(), arguments)
    }
}
