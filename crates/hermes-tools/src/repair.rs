//! Lossless repair of a call's syntax (T4). Pure.
//!
//! Only spellings with one evident meaning are mended, and never the inside of a string:
//!
//! | came | becomes | where |
//! |---|---|---|
//! | nothing, or white space | `{}` | the whole arguments |
//! | a fenced code block around them | its inside | the whole arguments |
//! | `,` before `}` or `]` | nothing | outside strings |
//! | a string that holds an object or array | the object or array | where the schema takes no string and the value fits |
//! | `null` | the field left out | where the schema takes no `null` and the field is optional |
//!
//! A value's meaning is not guessed: `"5"` stays a string, `True` is no JSON, and `null` for the whole arguments is refused.

use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::schema;

/// How many repairs by the schema are tried for one call; each costs a validation.
const MAX_TRIES: usize = 64;

/// One repair that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Repaired {
    /// Nothing came for the arguments, and `{}` was taken.
    Empty,
    /// A fence around the arguments was taken off.
    Fence,
    /// Trailing commas were taken out.
    TrailingCommas {
        /// How many.
        count: usize,
    },
    /// JSON inside a string was taken out of it.
    Decoded {
        /// Where, as a JSON pointer; empty for the whole.
        pointer: String,
    },
    /// A `null` for an optional field was taken out.
    DroppedNull {
        /// Which field, as a JSON pointer.
        pointer: String,
    },
}

impl fmt::Display for Repaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("took {} for empty arguments"),
            Self::Fence => f.write_str("removed the code fence around the arguments"),
            Self::TrailingCommas { count } => write!(f, "removed trailing commas: {count}"),
            Self::Decoded { pointer } if pointer.is_empty() => {
                f.write_str("decoded the arguments from a JSON string")
            }
            Self::Decoded { pointer } => write!(f, "decoded JSON in the string at {pointer}"),
            Self::DroppedNull { pointer } => write!(f, "dropped null at {pointer}"),
        }
    }
}

/// Arguments that could be read, and what had to be mended for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Read {
    pub(crate) value: Value,
    /// The JSON text of `value`; what came, where no repair changed it.
    pub(crate) text: String,
    pub(crate) repaired: Vec<Repaired>,
}

/// Reads arguments as they came, without repair.
///
/// # Errors
/// Why the text is not JSON, in the parser's words.
pub(crate) fn read(text: &str) -> Result<Read, String> {
    let value = parse(text)?;
    Ok(Read { value, text: text.trim().to_owned(), repaired: Vec::new() })
}

/// Reads arguments, mending the syntax of the whole.
///
/// # Errors
/// Why the text as it came is not JSON.
pub(crate) fn read_repaired(text: &str) -> Result<Read, String> {
    let read = read_text(text)?;
    // Arguments are an object: a string around one is an encoding too many.
    let Value::String(inner) = &read.value else { return Ok(read) };
    match read_text(inner) {
        Ok(inside) if inside.value.is_object() && !inner.trim().is_empty() => {
            let mut repaired = read.repaired;
            repaired.push(Repaired::Decoded { pointer: String::new() });
            repaired.extend(inside.repaired);
            Ok(Read { repaired, ..inside })
        }
        _ => Ok(read),
    }
}

fn read_text(text: &str) -> Result<Read, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Ok(Read {
            value: Value::Object(Map::new()),
            text: "{}".to_owned(),
            repaired: vec![Repaired::Empty],
        });
    }
    let refusal = match read(trimmed) {
        Ok(read) => return Ok(read),
        Err(refusal) => refusal,
    };
    let mut repaired = Vec::new();
    let mut mended = trimmed.to_owned();
    if let Some(inside) = without_fence(trimmed) {
        mended = inside.to_owned();
        repaired.push(Repaired::Fence);
    }
    let (text, count) = without_trailing_commas(&mended);
    if count > 0 {
        mended = text;
        repaired.push(Repaired::TrailingCommas { count });
    }
    match parse(&mended) {
        Ok(value) if !repaired.is_empty() => Ok(Read { value, text: mended, repaired }),
        _ => Err(refusal),
    }
}

/// The inside of a code fence that stands around the whole text.
fn without_fence(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("```")?.strip_suffix("```")?;
    // What follows the opening fence is a language's name, then the end of the line; some models leave the line break out.
    let name = inside.len() - inside.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric()).len();
    let rest = inside.get(name..)?;
    rest.starts_with(|letter: char| letter.is_whitespace() || matches!(letter, '{' | '['))
        .then(|| rest.trim())
}

/// The text without commas that stand before a closing bracket, and how many there were. Strings are passed over.
fn without_trailing_commas(text: &str) -> (String, usize) {
    let mut kept = String::with_capacity(text.len());
    let (mut in_string, mut escaped, mut count) = (false, false, 0);
    // The last character outside strings that is no white space: a comma after an opening bracket or a comma is no trailing one.
    let mut before = None;
    for (at, letter) in text.char_indices() {
        if in_string {
            (in_string, escaped) = (letter != '"' || escaped, letter == '\\' && !escaped);
            kept.push(letter);
            continue;
        }
        let next = || text.get(at + letter.len_utf8()..).and_then(|rest| rest.trim_start().chars().next());
        if letter == ','
            && !matches!(before, None | Some('[' | '{' | ',' | ':'))
            && matches!(next(), Some(']' | '}'))
        {
            count += 1;
            before = Some(',');
            continue;
        }
        in_string = letter == '"';
        if !letter.is_whitespace() {
            before = Some(letter);
        }
        kept.push(letter);
    }
    (kept, count)
}

/// Mends what the schema shows to be a slip of encoding: nested strings that should be objects or arrays, and `null` for nothing.
///
/// Every step must leave fewer violations and no new one.
pub(crate) fn mend_values(validator: &Validator, read: Read) -> Read {
    if validator.is_valid(&read.value) || has_inexact_number(&read.value) {
        return read;
    }
    let Read { mut value, text, mut repaired } = read;
    let before = repaired.len();
    let mut known = faults(validator, &value);
    let mut tries = MAX_TRIES;
    while !known.is_empty() {
        let step =
            validator.iter_errors(&value).filter_map(|error| mending(&value, &error)).take(tries).find_map(
                |(repair, candidate)| {
                    tries -= 1;
                    let left = faults(validator, &candidate);
                    let better = left.len() < known.len() && left.iter().all(|fault| known.contains(fault));
                    better.then_some((repair, candidate, left))
                },
            );
        let Some((repair, candidate, left)) = step else { break };
        (value, known) = (candidate, left);
        repaired.push(repair);
    }
    let text = if repaired.len() > before { value.to_string() } else { text };
    Read { value, text, repaired }
}

/// Writing a number beyond what a double holds would change it, and a repair by value writes the arguments anew.
fn has_inexact_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            number.is_f64() && number.as_f64().is_some_and(|double| double.abs() >= 9_007_199_254_740_992.0)
        }
        Value::Array(items) => items.iter().any(has_inexact_number),
        Value::Object(fields) => fields.values().any(has_inexact_number),
        _ => false,
    }
}

/// What is wrong, in a form that can be compared: place and rule.
fn faults(validator: &Validator, value: &Value) -> Vec<(String, String)> {
    validator.iter_errors(value).map(|error| fault(&error)).collect()
}

fn fault(error: &ValidationError<'_>) -> (String, String) {
    let place = error.instance_path().as_str().to_owned();
    let rule = match error.kind() {
        ValidationErrorKind::Required { property } => format!("{}:{property}", error.schema_path()),
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            format!("{}:{unexpected:?}", error.schema_path())
        }
        _ => error.schema_path().as_str().to_owned(),
    };
    (place, rule)
}

/// The arguments with one violation mended, where it is of the kind that can be.
fn mending(value: &Value, error: &ValidationError<'_>) -> Option<(Repaired, Value)> {
    let pointer = error.instance_path().as_str();
    match error.instance().as_ref() {
        _ if pointer.is_empty() => None,
        Value::String(text) if refuses(error, JsonType::String) => decoded(value, pointer, text),
        Value::Null => without(value, pointer),
        _ => None,
    }
}

/// Whether the error means that no value of a type would do.
fn refuses(error: &ValidationError<'_>, wanted: JsonType) -> bool {
    match error.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Single(taken) } => *taken != wanted,
        ValidationErrorKind::Type { kind: TypeKind::Multiple(taken) } => !taken.contains(wanted),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            context.iter().all(|branch| {
                let here = error.instance_path();
                branch.iter().any(|inner| inner.instance_path() == here && refuses(inner, wanted))
            })
        }
        _ => false,
    }
}

/// The arguments with the object or array that a string holds in the string's place.
fn decoded(value: &Value, pointer: &str, text: &str) -> Option<(Repaired, Value)> {
    let inside = parse(text).ok().filter(|inside| inside.is_object() || inside.is_array())?;
    if has_inexact_number(&inside) {
        return None;
    }
    let mut candidate = value.clone();
    *candidate.pointer_mut(pointer)? = inside;
    Some((Repaired::Decoded { pointer: pointer.to_owned() }, candidate))
}

/// The arguments without a field. That it is optional shows in that no violation is added.
fn without(value: &Value, pointer: &str) -> Option<(Repaired, Value)> {
    let (parent, name) = pointer.rsplit_once('/')?;
    let mut candidate = value.clone();
    candidate.pointer_mut(parent)?.as_object_mut()?.remove(&schema::unescape(name))?;
    Some((Repaired::DroppedNull { pointer: pointer.to_owned() }, candidate))
}

/// Parses JSON, refusing an object that names a field twice: which of the two was meant would be a guess, and what is checked must
/// be what is executed.
fn parse(text: &str) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| error.to_string())
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Self)? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            let value = access.next_value_seed(Self)?;
            if fields.contains_key(&name) {
                let name = hermes_text::truncate_chars(&name, 40).into_owned();
                return Err(A::Error::custom(format!("the field {name:?} occurs twice")));
            }
            fields.insert(name, value);
        }
        Ok(fields.into())
    }
}

#[cfg(test)]
mod tests;
