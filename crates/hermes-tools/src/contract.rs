//! The checks of registration, and what is compiled once for all calls (T2).

use std::sync::Arc;

use hermes_core::{Tool, ToolSpec, UnknownFields};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::error::ContractError;
use crate::schema::{self, SchemaFault};

/// The most retries a contract may ask for (T7).
pub(crate) const MAX_RETRIES: u8 = 2;

/// The longest name providers accept (T2).
const MAX_NAME: usize = 64;

/// A registered tool: its contract, checked and compiled, and what carries it out.
pub(crate) struct Entry {
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) tool: Arc<dyn Tool>,
    /// The source that supplied it; `None` when it was registered here.
    pub(crate) source: Option<Arc<str>>,
    /// The input schema as calls are checked against it.
    pub(crate) schema: Value,
    pub(crate) validator: Validator,
    /// What checks the output, where the contract says what it looks like.
    pub(crate) output: Option<Validator>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.spec.name)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

/// Checks a tool's contract and compiles it.
pub(crate) fn compile(tool: Arc<dyn Tool>, source: Option<Arc<str>>) -> Result<Entry, ContractError> {
    let spec = tool.spec();
    check_name(&spec.name)?;
    check_settings(&spec)?;
    check_top(&spec.input_schema)?;
    check_schema("input", &spec.input_schema)?;
    let output = match &spec.output_schema {
        Some(output) => {
            check_schema("output", output)?;
            Some(build("output", output)?)
        }
        None => None,
    };
    let schema = match spec.unknown_fields {
        UnknownFields::Forbid => schema::closed(&spec.input_schema),
        UnknownFields::AsSchema => spec.input_schema.clone(),
    };
    let validator = build("input", &schema)?;
    let entry = Entry { spec, tool, source, schema, validator, output };
    check_examples(&entry)?;
    Ok(entry)
}

fn check_name(name: &str) -> Result<(), ContractError> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(legal) {
        return Err(ContractError::Name);
    }
    Ok(())
}

fn check_settings(spec: &ToolSpec) -> Result<(), ContractError> {
    let fault = |field, reason: String| Err(ContractError::Setting { field, reason });
    if spec.timeout.is_some_and(|timeout| timeout.is_zero()) {
        return fault("timeout", "it must be longer than nothing".to_owned());
    }
    if spec.retry.retries > MAX_RETRIES {
        return fault(
            "retry",
            format!("at most {MAX_RETRIES} retries are allowed, not {}", spec.retry.retries),
        );
    }
    for pointer in spec.key.iter().flat_map(|rule| rule.arguments.iter().flatten()) {
        if !pointer.starts_with('/') {
            return fault(
                "key",
                format!("{pointer:?} is no JSON pointer; an argument is named as in /order/number"),
            );
        }
    }
    Ok(())
}

fn check_top(input: &Value) -> Result<(), ContractError> {
    if input.get("type").and_then(Value::as_str) == Some("object") {
        return Ok(());
    }
    Err(ContractError::Schema {
        which: "input",
        pointer: String::new(),
        reason: "the top must say \"type\": \"object\", since arguments are an object".to_owned(),
        source: None,
    })
}

fn check_schema(which: &'static str, value: &Value) -> Result<(), ContractError> {
    schema::check(value).map_err(|SchemaFault { pointer, reason }| ContractError::Schema {
        which,
        pointer,
        reason,
        source: None,
    })
}

/// Compiles without network and files, and with patterns that take linear time whatever the text.
fn build(which: &'static str, schema: &Value) -> Result<Validator, ContractError> {
    jsonschema::options().offline().with_pattern_options(PatternOptions::regex()).build(schema).map_err(
        |error| {
            let text = error.to_string();
            ContractError::Schema {
                which,
                pointer: error.instance_path().as_str().to_owned(),
                reason: hermes_text::truncate_chars(&text, 300).into_owned(),
                source: Some(Box::new(error)),
            }
        },
    )
}

fn check_examples(entry: &Entry) -> Result<(), ContractError> {
    for (at, example) in entry.spec.examples.iter().enumerate() {
        if let Err(error) = entry.validator.validate(example) {
            let reason = format!("at {:?}: {error}", error.instance_path().as_str());
            let reason = hermes_text::truncate_chars(&reason, 300).into_owned();
            return Err(ContractError::Example { number: at + 1, reason });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
