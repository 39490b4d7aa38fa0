//! Checking arguments against a contract: all violations at once, in terms a model can act on (T3). Pure.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use crate::contract::Entry;
use crate::schema;

/// How many characters of a value are shown.
const SHOWN: usize = 60;

/// How many bytes of a value are looked at for showing it.
const LOOKED_AT: usize = 2_048;

/// How many allowed values or known fields are kept for a violation.
const LISTED: usize = 20;

/// How deep violations inside alternatives are followed.
const MAX_NESTING: usize = 4;

/// The most violations that are kept; feedback shows fewer.
const MAX_VIOLATIONS: usize = 100;

/// The hint by which a field says that memory may supply it (L2).
pub const FILL_HINT: &str = "x-hermes-fill";

/// One way in which arguments break a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where, as a JSON pointer into the arguments. For a missing field, where it belongs.
    pub pointer: String,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong at one place. Shown values are shortened, and secrets in them masked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A required field is not there.
    Missing {
        /// What it should be.
        expected: String,
        /// A field that is there and was probably meant to be this one.
        written_as: Option<String>,
    },
    /// A field that the contract does not know.
    Unknown {
        /// The known field that was probably meant.
        nearest: Option<String>,
        /// The fields there are.
        known: Vec<String>,
    },
    /// A value of the wrong type.
    WrongType {
        /// The types that would do.
        expected: Vec<String>,
        /// The type that came.
        got: &'static str,
        /// The value.
        shown: String,
    },
    /// A value that is none of the allowed ones.
    NotAllowed {
        /// The allowed ones, as JSON.
        allowed: Vec<String>,
        /// How many more there are than are listed.
        more: usize,
        /// The one that was probably meant.
        nearest: Option<String>,
        /// The value.
        shown: String,
    },
    /// A value that breaks a limit.
    Limit {
        /// The rule's keyword, such as `minimum` or `maxLength`.
        rule: &'static str,
        /// The limit.
        limit: String,
        /// The value.
        shown: String,
    },
    /// A value that fits none of several alternatives, or more than one where one is asked.
    NoAlternative {
        /// What the alternatives are.
        alternatives: Vec<String>,
        /// The value.
        shown: String,
    },
    /// Any other rule.
    Rule {
        /// The rule's keyword.
        rule: String,
        /// The value.
        shown: String,
    },
}

/// All violations of arguments, in the order of their places; none when they fit.
pub(crate) fn violations(entry: &Entry, arguments: &Value) -> Vec<Violation> {
    if entry.validator.is_valid(arguments) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for error in entry.validator.iter_errors(arguments) {
        collect(&entry.schema, &error, MAX_NESTING, &mut found);
    }
    merge_types_and_values(&mut found);
    pair_slips(&mut found);
    found.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    found.dedup();
    found.truncate(MAX_VIOLATIONS);
    found
}

fn collect(root: &Value, error: &ValidationError<'_>, nesting: usize, found: &mut Vec<Violation>) {
    if found.len() >= MAX_VIOLATIONS * 2 {
        return;
    }
    let pointer = error.instance_path().as_str();
    let at = |problem| Violation { pointer: pointer.to_owned(), problem };
    let value = error.instance().as_ref();
    let shown = || shown_at(root, error, pointer, value);
    let limit = |rule: &'static str, limit: String| Problem::Limit { rule, limit, shown: shown() };
    let problem = match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let expected =
                field_schema(root, error, name).map_or_else(String::new, |schema| describe(root, schema));
            found.push(Violation {
                pointer: format!("{pointer}/{}", schema::escape(name)),
                problem: Problem::Missing { expected, written_as: None },
            });
            return;
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = parent_schema(root, error)
                .map(|schema| schema::field_names(root, schema))
                .unwrap_or_default();
            for name in unexpected.iter().take(MAX_VIOLATIONS) {
                // A field that is there already was not meant a second time.
                let free = known.iter().map(String::as_str).filter(|known| value.get(known).is_none());
                found.push(Violation {
                    pointer: format!("{pointer}/{}", schema::escape(name)),
                    problem: Problem::Unknown {
                        nearest: hermes_text::nearest(name, free).map(str::to_owned),
                        known: known.iter().take(LISTED).cloned().collect(),
                    },
                });
            }
            return;
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            match closest(context, error) {
                Closest::Types(expected) => {
                    Problem::WrongType { expected, got: type_of(value), shown: shown() }
                }
                Closest::Branch(branch) if nesting > 0 => {
                    for inner in branch {
                        collect(root, inner, nesting - 1, found);
                    }
                    return;
                }
                _ => Problem::NoAlternative { alternatives: alternatives(root, error), shown: shown() },
            }
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            Problem::NoAlternative { alternatives: alternatives(root, error), shown: shown() }
        }
        ValidationErrorKind::Type { kind } => {
            Problem::WrongType { expected: type_names(kind), got: type_of(value), shown: shown() }
        }
        ValidationErrorKind::Enum { options } => {
            not_allowed(options.as_array().map_or(&[][..], Vec::as_slice), value, shown())
        }
        ValidationErrorKind::Constant { expected_value } => {
            not_allowed(std::slice::from_ref(&**expected_value), value, shown())
        }
        ValidationErrorKind::Minimum { limit: bound } => limit("minimum", bound.to_string()),
        ValidationErrorKind::Maximum { limit: bound } => limit("maximum", bound.to_string()),
        ValidationErrorKind::ExclusiveMinimum { limit: bound } => {
            limit("exclusiveMinimum", bound.to_string())
        }
        ValidationErrorKind::ExclusiveMaximum { limit: bound } => {
            limit("exclusiveMaximum", bound.to_string())
        }
        ValidationErrorKind::MultipleOf { multiple_of } => limit("multipleOf", multiple_of.to_string()),
        ValidationErrorKind::MinLength { limit: bound } => limit("minLength", bound.to_string()),
        ValidationErrorKind::MaxLength { limit: bound } => limit("maxLength", bound.to_string()),
        ValidationErrorKind::MinItems { limit: bound } => limit("minItems", bound.to_string()),
        ValidationErrorKind::MaxItems { limit: bound } => limit("maxItems", bound.to_string()),
        ValidationErrorKind::MinProperties { limit: bound } => limit("minProperties", bound.to_string()),
        ValidationErrorKind::MaxProperties { limit: bound } => limit("maxProperties", bound.to_string()),
        ValidationErrorKind::Pattern { pattern } => {
            limit("pattern", hermes_text::truncate_chars(pattern, 200).into_owned())
        }
        ValidationErrorKind::Format { format } => limit("format", format.clone()),
        other => Problem::Rule { rule: other.keyword().to_owned(), shown: shown() },
    };
    found.push(at(problem));
}

/// What the alternatives of a value say together.
enum Closest<'a> {
    /// All of them want another type.
    Types(Vec<String>),
    /// One is plainly the one that was meant.
    Branch(&'a [ValidationError<'static>]),
    /// It cannot be told.
    Unclear,
}

fn closest<'a>(context: &'a [Vec<ValidationError<'static>>], error: &ValidationError<'_>) -> Closest<'a> {
    let here = error.instance_path();
    let wrong_type = |branch: &[ValidationError<'static>]| {
        branch.iter().find_map(|inner| match inner.kind() {
            ValidationErrorKind::Type { kind } if inner.instance_path() == here => Some(type_names(kind)),
            _ => None,
        })
    };
    let typed: Vec<_> = context.iter().filter_map(|branch| wrong_type(branch)).collect();
    if typed.len() == context.len() {
        let mut names: Vec<String> = typed.into_iter().flatten().collect();
        names.dedup();
        return Closest::Types(names);
    }
    let mut fitting: Vec<&[ValidationError<'static>]> =
        context.iter().map(Vec::as_slice).filter(|branch| wrong_type(branch).is_none()).collect();
    // A field that names the variant (`const`, `enum`) tells which one was meant.
    let names_another = |branch: &[ValidationError<'static>]| {
        branch.iter().any(|inner| {
            matches!(inner.kind(), ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. })
        })
    };
    if fitting.len() > 1 && fitting.iter().any(|branch| !names_another(branch)) {
        fitting.retain(|branch| !names_another(branch));
    }
    match fitting.as_slice() {
        [only] => Closest::Branch(only),
        _ => Closest::Unclear,
    }
}

fn not_allowed(allowed: &[Value], value: &Value, shown: String) -> Problem {
    let words: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
    let nearest =
        value.as_str().and_then(|word| hermes_text::nearest(hermes_text::truncate_bytes(word, 256), words));
    let listed: Vec<String> = allowed.iter().take(LISTED).map(|value| shorten(&value.to_string())).collect();
    Problem::NotAllowed {
        more: allowed.len() - listed.len(),
        allowed: listed,
        nearest: nearest.map(|word| Value::from(word).to_string()),
        shown,
    }
}

/// Where a value has the wrong type and is not among the allowed ones, the allowed ones say it all.
fn merge_types_and_values(found: &mut Vec<Violation>) {
    let valued: Vec<String> = found
        .iter()
        .filter(|violation| matches!(violation.problem, Problem::NotAllowed { .. }))
        .map(|violation| violation.pointer.clone())
        .collect();
    found.retain(|violation| {
        !(matches!(violation.problem, Problem::WrongType { .. }) && valued.contains(&violation.pointer))
    });
}

/// Joins a missing field with an unknown one beside it whose name is nearly the same.
fn pair_slips(found: &mut [Violation]) {
    let slips: Vec<(String, String)> = found
        .iter()
        .filter_map(|violation| match &violation.problem {
            Problem::Unknown { nearest: Some(meant), .. } => {
                let (parent, written) = violation.pointer.rsplit_once('/')?;
                Some((format!("{parent}/{}", schema::escape(meant)), schema::unescape(written)))
            }
            _ => None,
        })
        .collect();
    for violation in found {
        if let Problem::Missing { written_as, .. } = &mut violation.problem {
            *written_as = slips
                .iter()
                .find(|(pointer, _)| *pointer == violation.pointer)
                .map(|(_, written)| shorten(written));
        }
    }
}

/// The schema object whose keyword was broken.
fn parent_schema<'a>(root: &'a Value, error: &ValidationError<'_>) -> Option<&'a Value> {
    let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
    root.pointer(parent)
}

fn field_schema<'a>(root: &'a Value, error: &ValidationError<'_>, name: &str) -> Option<&'a Value> {
    let object = parent_schema(root, error)?;
    object.get("properties").and_then(|fields| fields.get(name))
}

/// A missing field with a hint: its pointer, schema and words.
pub(crate) fn fillable(entry: &Entry, arguments: &Value) -> Vec<crate::hook::MissingArgument> {
    let mut found = Vec::new();
    for error in entry.validator.iter_errors(arguments) {
        let ValidationErrorKind::Required { property } = error.kind() else { continue };
        let Some(name) = property.as_str() else { continue };
        let Some(schema) = field_schema(&entry.schema, &error, name) else { continue };
        let resolved = schema::resolved(&entry.schema, schema);
        let hint = schema.get(FILL_HINT).or_else(|| resolved.get(FILL_HINT)).and_then(Value::as_str);
        if let Some(hint) = hint {
            found.push(crate::hook::MissingArgument {
                pointer: format!("{}/{}", error.instance_path(), schema::escape(name)),
                schema: resolved.clone(),
                hint: hint.to_owned(),
            });
        }
    }
    found
}

fn alternatives(root: &Value, error: &ValidationError<'_>) -> Vec<String> {
    let branches = root.pointer(error.schema_path().as_str()).and_then(Value::as_array);
    branches.into_iter().flatten().take(LISTED).map(|branch| describe(root, branch)).collect()
}

/// A schema in a few words of its own: `string`, `"fast" | "cheap"`, `array of integer`, with its description where it has one.
fn describe(root: &Value, schema: &Value) -> String {
    let kind = kind_of(root, schema, 2);
    let about = schema.get("description").or_else(|| schema::resolved(root, schema).get("description"));
    match about.and_then(Value::as_str) {
        Some(about) => format!("{kind} ({})", hermes_text::truncate_chars(about, SHOWN)),
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
                format!("object with {}", fields.join(", "))
            }
            _ => named,
        },
        _ => named,
    }
}

fn type_names(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(name) => vec![name.to_string()],
        TypeKind::Multiple(names) => names.iter().map(|name| name.to_string()).collect(),
    }
}

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
fn shown_at(root: &Value, error: &ValidationError<'_>, pointer: &str, value: &Value) -> String {
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

fn shorten(text: &str) -> String {
    hermes_text::truncate_chars(hermes_text::truncate_bytes(text, LOOKED_AT), SHOWN).into_owned()
}

#[cfg(test)]
mod tests;
