//! Checking arguments against a contract: all violations at once, in terms a model can act on (T3). Pure.

mod kind;
mod shown;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::contract::Entry;
use crate::schema;
use kind::{describe, kinds, kinds_of_branches};
use shown::{shorten, shown_at};

pub(crate) use kind::shape;
pub(crate) use shown::type_of;

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
                problem: Problem::Missing { expected, written_as: undeclared_slip(root, error, name) },
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
                        nearest: meant(name, free).map(str::to_owned),
                        known: known.iter().take(LISTED).cloned().collect(),
                    },
                });
            }
            return;
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            match closest(context, error) {
                Closest::Types => Problem::WrongType {
                    expected: kinds_of_branches(root, error),
                    got: type_of(value),
                    shown: shown(),
                },
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
            Problem::WrongType { expected: kinds(root, error, kind), got: type_of(value), shown: shown() }
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
    Types,
    /// One is plainly the one that was meant.
    Branch(&'a [ValidationError<'static>]),
    /// It cannot be told.
    Unclear,
}

fn closest<'a>(context: &'a [Vec<ValidationError<'static>>], error: &ValidationError<'_>) -> Closest<'a> {
    let here = error.instance_path();
    let wrong_type = |branch: &[ValidationError<'static>]| {
        branch.iter().any(|inner| {
            matches!(inner.kind(), ValidationErrorKind::Type { .. }) && inner.instance_path() == here
        })
    };
    let mut fitting: Vec<&[ValidationError<'static>]> =
        context.iter().map(Vec::as_slice).filter(|branch| !wrong_type(branch)).collect();
    if fitting.is_empty() {
        return Closest::Types;
    }
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
    let word = hermes_text::truncate_bytes(value.as_str().unwrap_or_default(), 256);
    let nearest = hermes_text::nearest(word, words.iter().copied()).map(|near| {
        // Values that differ in case alone (`AA`, `Aa`): the one written most like it.
        let same = words.iter().filter(|other| other.to_lowercase() == near.to_lowercase());
        same.min_by_key(|other| other.chars().zip(word.chars()).filter(|(a, b)| a != b).count())
            .copied()
            .unwrap_or(near)
    });
    let mut likely_first: Vec<&Value> = allowed.iter().collect();
    if allowed.len() > LISTED {
        // Of a long list the part is shown that holds what came, or is held by it: `en` and `en_US`.
        likely_first.sort_by_key(|option| !resembles(option, value));
    }
    let listed: Vec<String> =
        likely_first.into_iter().take(LISTED).map(|value| shorten(&value.to_string())).collect();
    Problem::NotAllowed {
        more: allowed.len() - listed.len(),
        allowed: listed,
        nearest: nearest.map(|word| Value::from(word).to_string()),
        shown,
    }
}

fn resembles(option: &Value, value: &Value) -> bool {
    let (Some(option), Some(word)) = (option.as_str(), value.as_str()) else { return false };
    let (option, word) = (option.to_lowercase(), hermes_text::truncate_bytes(word, 256).to_lowercase());
    !word.is_empty() && !option.is_empty() && (option.contains(&word) || word.contains(&option))
}

/// The candidate that was probably meant by a field's name: nearly the same letters, or the same words and some more (`path` for
/// `file_path`, `names` for `stationNames`), where only one has them.
fn meant<'a>(name: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let name = hermes_text::truncate_bytes(name, 256);
    if let Some(near) = hermes_text::nearest(name, candidates.clone()) {
        return Some(near);
    }
    let words = hermes_text::rank_terms(name);
    let mut sharing = candidates.filter(|candidate| {
        let other = hermes_text::rank_terms(candidate);
        let within =
            |few: &[String], many: &[String]| !few.is_empty() && few.iter().all(|word| many.contains(word));
        within(&words, &other) || within(&other, &words)
    });
    sharing.next().filter(|_| sharing.next().is_none())
}

/// How a missing field was written, where unknown fields are allowed and so are no violation: one that no property names.
fn undeclared_slip(root: &Value, error: &ValidationError<'_>, missing: &str) -> Option<String> {
    let known = schema::field_names(root, parent_schema(root, error)?);
    let came = error.instance().as_ref().as_object()?;
    let undeclared = came.keys().map(String::as_str).filter(|name| !known.contains(*name));
    meant(missing, undeclared).map(shorten)
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
            let slip = slips.iter().find(|(pointer, _)| *pointer == violation.pointer);
            *written_as = slip.map(|(_, written)| shorten(written)).or_else(|| written_as.take());
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

#[cfg(test)]
mod tests;
