//! A schema in few words: what is expected at a place, and what arguments must at least look like.

use jsonschema::ValidationError;
use jsonschema::error::TypeKind;
use serde_json::Value;

use super::shown::shorten;
use super::{LISTED, Problem, Violation, parent_schema};
use crate::contract::Entry;
use crate::schema;

/// How many characters of a description are repeated.
const DESCRIBED: usize = 120;

/// A schema in a few words of its own: `string`, `"fast" | "cheap"`, `array of integer`, with its description where it has one.
pub(super) fn describe(root: &Value, schema: &Value) -> String {
    with_description(root, schema, kind_of(root, schema, 2))
}

/// A kind with the schema's own words: they often say what the types cannot, such as how to write a list into a string.
fn with_description(root: &Value, schema: &Value, kind: String) -> String {
    let about = schema.get("description").or_else(|| schema::resolved(root, schema).get("description"));
    match about.and_then(Value::as_str).map(str::trim).filter(|about| !about.is_empty()) {
        Some(about) => format!("{kind} ({})", hermes_text::truncate_chars(about, DESCRIBED)),
        None => kind,
    }
}

fn kind_of(root: &Value, schema: &Value, nesting: usize) -> String {
    let schema = schema::resolved(root, schema);
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        let mut words: Vec<String> =
            options.iter().take(8).map(|option| shorten(&option.to_string())).collect();
        if options.len() > words.len() {
            words.push("…".to_owned());
        }
        return words.join(" | ");
    }
    if let Some(only) = schema.get("const") {
        return shorten(&only.to_string());
    }
    let named = match schema.get("type") {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        _ => {
            let branches =
                ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)).and_then(Value::as_array);
            return match branches {
                Some(branches) if nesting > 0 => branches
                    .iter()
                    .take(8)
                    .map(|branch| kind_of(root, branch, nesting - 1))
                    .collect::<Vec<_>>()
                    .join(" | "),
                _ => "value".to_owned(),
            };
        }
    };
    match (named.as_str(), schema.get("items")) {
        ("array", Some(items)) if nesting > 0 => format!("array of {}", kind_of(root, items, nesting - 1)),
        ("object", _) => match schema.get("required").and_then(Value::as_array) {
            Some(fields) if !fields.is_empty() => {
                let fields: Vec<&str> = fields.iter().filter_map(Value::as_str).take(8).collect();
                format!("object {{{}}}", fields.join(", "))
            }
            _ => named,
        },
        _ => named,
    }
}

/// The types that would do; an array or object with what belongs in it.
pub(super) fn kinds(root: &Value, error: &ValidationError<'_>, kind: &TypeKind) -> Vec<String> {
    let mut names = type_names(kind);
    let Some(schema) = parent_schema(root, error) else { return names };
    if matches!(names.as_slice(), [only] if only == "array" || only == "object")
        && schema.get("enum").is_none()
    {
        names = vec![kind_of(root, schema, 2)];
    }
    let last = names.pop().map(|last| with_description(root, schema, last));
    names.extend(last);
    names
}

pub(super) fn kinds_of_branches(root: &Value, error: &ValidationError<'_>) -> Vec<String> {
    let branches = root.pointer(error.schema_path().as_str()).and_then(Value::as_array);
    let mut kinds: Vec<String> =
        branches.into_iter().flatten().take(LISTED).map(|branch| kind_of(root, branch, 2)).collect();
    kinds.dedup();
    kinds
}

fn type_names(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(name) => vec![name.to_string()],
        TypeKind::Multiple(names) => names.iter().map(|name| name.to_string()).collect(),
    }
}

/// The longest shape that is shown, in bytes.
const SHAPE: usize = 400;

/// How many schemas are looked at for it: a recursive type has no end.
const SHAPE_PARTS: usize = 60;

/// What arguments must at least look like, where that is more than a flat list of fields: the required ones, with their types for
/// values. `None` where the violations say it all.
pub(crate) fn shape(entry: &Entry, violations: &[Violation]) -> Option<String> {
    let structural = violations.iter().any(|violation| match &violation.problem {
        Problem::Missing { .. } | Problem::Unknown { .. } | Problem::NoAlternative { .. } => true,
        Problem::WrongType { expected, .. } => {
            expected.iter().any(|kind| kind.starts_with("array") || kind.starts_with("object"))
        }
        _ => false,
    });
    if !structural {
        return None;
    }
    let mut parts = SHAPE_PARTS;
    let written = shape_of(&entry.schema, &entry.schema, &mut parts);
    (written.len() <= SHAPE && written.chars().filter(|letter| matches!(letter, '{' | '[')).count() > 1)
        .then_some(written)
}

fn shape_of(root: &Value, schema: &Value, parts: &mut usize) -> String {
    let resolved = schema::resolved(root, schema);
    let Some(left) = parts.checked_sub(1) else { return "…".to_owned() };
    *parts = left;
    match resolved.get("type").and_then(Value::as_str) {
        Some("object") => {
            let properties = resolved.get("properties");
            let required = resolved.get("required").and_then(Value::as_array);
            let field = |name: &str| {
                let inside = properties.and_then(|properties| properties.get(name)).unwrap_or(&Value::Null);
                format!("{}:{}", Value::from(name), shape_of(root, inside, parts))
            };
            let fields: Vec<String> =
                required.into_iter().flatten().filter_map(Value::as_str).map(field).collect();
            format!("{{{}}}", fields.join(","))
        }
        Some("array") => match resolved.get("items") {
            Some(items) => format!("[{}]", shape_of(root, items, parts)),
            None => "[]".to_owned(),
        },
        _ => format!("<{}>", kind_of(root, schema, 1)),
    }
}
