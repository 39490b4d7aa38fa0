//! Values as feedback shows them: shortened, and without secrets.

use jsonschema::ValidationError;
use serde_json::Value;

use super::{LOOKED_AT, SHOWN, parent_schema};

/// The JSON type of a value.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The value as feedback shows it, nothing of it where its field or schema says that it is secret.
pub(super) fn shown_at(root: &Value, error: &ValidationError<'_>, pointer: &str, value: &Value) -> String {
    let schema = parent_schema(root, error);
    let secret = schema.is_some_and(|schema| {
        schema.get("writeOnly") == Some(&Value::Bool(true))
            || schema.get("format").and_then(Value::as_str) == Some("password")
    });
    let name = pointer.rsplit_once('/').map_or("", |(_, name)| name);
    if secret { "[masked]".to_owned() } else { shown(name, value) }
}

/// A value shortened and masked; `name` is the field it stands in, which may tell that it is a secret.
pub(crate) fn shown(name: &str, value: &Value) -> String {
    shown_to(name, value, 2)
}

fn shown_to(name: &str, value: &Value, nesting: usize) -> String {
    let inside = nesting.saturating_sub(1);
    match value {
        Value::String(text) => {
            let head = hermes_text::truncate_bytes(text, LOOKED_AT);
            if hermes_text::contains_secret(head).is_none()
                && hermes_text::contains_secret(&format!("{name}={head}")).is_some()
            {
                return "[masked]".to_owned();
            }
            shorten(&Value::from(hermes_text::mask_secrets(head).into_owned()).to_string())
        }
        Value::Array(items) if nesting == 0 && !items.is_empty() => "[…]".to_owned(),
        Value::Object(fields) if nesting == 0 && !fields.is_empty() => "{…}".to_owned(),
        Value::Array(items) => {
            let mut parts: Vec<String> =
                items.iter().take(4).map(|item| shown_to(name, item, inside)).collect();
            parts.extend((items.len() > parts.len()).then(|| "…".to_owned()));
            shorten(&format!("[{}]", parts.join(",")))
        }
        Value::Object(fields) => {
            let part = |(name, item): (&String, &Value)| {
                format!("{}:{}", Value::from(shorten(name)), shown_to(name, item, inside))
            };
            let mut parts: Vec<String> = fields.iter().take(4).map(part).collect();
            parts.extend((fields.len() > parts.len()).then(|| "…".to_owned()));
            shorten(&format!("{{{}}}", parts.join(",")))
        }
        scalar => scalar.to_string(),
    }
}

pub(super) fn shorten(text: &str) -> String {
    hermes_text::truncate_chars(hermes_text::truncate_bytes(text, LOOKED_AT), SHOWN).into_owned()
}
