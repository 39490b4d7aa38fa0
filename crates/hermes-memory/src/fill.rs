//! How a recalled memory supplies a missing argument (L2): pure, deterministic and careful.
//!
//! A tool says in its schema which memories may fill a field: `"x-hermes-fill": "restaurant"`, or a list of such words. A memory may
//! supply the value when
//! 1. its attribute key holds all words of the hint (`favourite_sichuan_restaurant` for `restaurant`), or, where it has no
//!    attribute, its sentence holds the hint's words; and
//! 2. its sentence holds exactly one quoted span (`「川香阁」`, `"Blue Door"`), or ends in `hint: value`. Extraction writes the value of a
//!    keyed memory as such a span, so that none has to be guessed from a sentence; and
//! 3. the value has the field's type and is among its allowed values.
//!
//! Where two memories supply different values, the one that holds all the words of the message that the other holds, and more, wins;
//! otherwise nothing is filled. Nothing here overrides what the model or the user said: it is asked for fields that are missing only.

use std::collections::BTreeSet;

use hermes_core::MemoryId;
use serde_json::Value;

use crate::recall::{Recall, Recalled};

/// The schema keyword that names the memories which may fill a field.
pub const FILL_HINT: &str = "x-hermes-fill";

/// A value that a memory supplies.
#[derive(Debug, Clone, PartialEq)]
pub struct Filling {
    /// The memory.
    pub memory: MemoryId,
    /// The value, of the field's type.
    pub value: Value,
}

/// The value for a missing field, where exactly one stands out; `property` is the field's schema.
///
/// Whether it satisfies the whole schema is for the tool layer to check, as for any argument.
#[must_use]
pub fn filling(recall: &Recall, property: &Value) -> Option<Filling> {
    let candidates = matching(recall, property);
    let (first, rest) = candidates.split_first()?;
    if rest.iter().all(|other| other.1 == first.1) {
        return Some(Filling { memory: first.0.record.id, value: first.1.clone() });
    }
    let held = |item: &Recalled| item.words.iter().cloned().collect::<BTreeSet<String>>();
    let mut winners = candidates.iter().filter(|(item, value)| {
        let mine = held(item);
        candidates
            .iter()
            .filter(|(_, other)| other != value)
            .all(|(other, _)| held(other).is_subset(&mine) && held(other) != mine)
    });
    let (item, value) = winners.next()?;
    Some(Filling { memory: item.record.id, value: value.clone() })
}

/// All values that recalled memories could supply for a field, best first: what [`filling`] chooses from, for showing to a user who is
/// to choose.
#[must_use]
pub fn candidates(recall: &Recall, property: &Value) -> Vec<Filling> {
    matching(recall, property)
        .into_iter()
        .map(|(item, value)| Filling { memory: item.record.id, value })
        .collect()
}

fn matching<'a>(recall: &'a Recall, property: &Value) -> Vec<(&'a Recalled, Value)> {
    let hints = hints(property);
    recall
        .items
        .iter()
        .filter_map(|item| {
            let text = hints.iter().find_map(|hint| value_for(item, hint))?;
            Some((item, typed(&text, property)?))
        })
        .collect()
}

/// The hints of a field, each as its words.
fn hints(property: &Value) -> Vec<Vec<String>> {
    let texts: Vec<&str> = match property.get(FILL_HINT) {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    texts.into_iter().map(words).filter(|words| !words.is_empty()).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn value_for(item: &Recalled, hint: &[String]) -> Option<String> {
    let content = item.record.content.as_str();
    let about = match &item.record.attribute {
        Some(key) => {
            let key = words(&key.attribute);
            hint.iter().all(|word| key.contains(word))
        }
        None => {
            let content = content.to_lowercase();
            hint.iter().all(|word| content.contains(word.as_str()))
        }
    };
    if !about {
        return None;
    }
    quoted(content).or_else(|| labelled(content, hint))
}

/// Quotation marks, opening and closing.
const QUOTES: &[(char, char)] =
    &[('「', '」'), ('『', '』'), ('“', '”'), ('"', '"'), ('《', '》'), ('`', '`')];

/// The one quoted span of a sentence; `None` where there is none or more than one.
pub(crate) fn quoted(content: &str) -> Option<String> {
    let mut spans: Vec<&str> = Vec::new();
    let mut rest = content;
    while let Some((at, close)) = rest
        .char_indices()
        .find_map(|(at, c)| QUOTES.iter().find(|(open, _)| *open == c).map(|(o, c)| (at + o.len_utf8(), *c)))
    {
        let inside = rest.get(at..).unwrap_or_default();
        let Some(end) = inside.find(close) else { break };
        spans.push(inside.get(..end).unwrap_or_default().trim());
        rest = inside.get(end + close.len_utf8()..).unwrap_or_default();
    }
    match spans.as_slice() {
        [only] if !only.is_empty() => Some((*only).to_owned()),
        _ => None,
    }
}

/// The value of a sentence of the form `… hint: value`.
fn labelled(content: &str, hint: &[String]) -> Option<String> {
    let (label, value) = content.split_once([':', '：'])?;
    let label = label.to_lowercase();
    let value = value.trim().trim_end_matches(['.', '。']);
    let one = !value.is_empty() && !value.contains([',', '，', ';', '；', '、', ':', '：']);
    (one && hint.iter().all(|word| label.contains(word.as_str()))).then(|| value.to_owned())
}

/// The text as a value of the field's type, where it is one.
fn typed(text: &str, property: &Value) -> Option<Value> {
    let value = match property.get("type") {
        None => Value::String(text.to_owned()),
        Some(Value::String(one)) => of_type(text, one)?,
        Some(Value::Array(several)) => {
            several.iter().filter_map(Value::as_str).find_map(|one| of_type(text, one))?
        }
        Some(_) => return None,
    };
    match property.get("enum").and_then(Value::as_array) {
        Some(allowed) if !allowed.contains(&value) => None,
        _ => Some(value),
    }
}

fn of_type(text: &str, name: &str) -> Option<Value> {
    match name {
        "string" => Some(Value::String(text.to_owned())),
        "integer" => text.parse::<i64>().ok().map(Value::from),
        "number" => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
