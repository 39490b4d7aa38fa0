//! The opaque fields of an answer, kept to be given back to the same service (S7, CM6).
//!
//! They are one JSON object: the fields of the message by name, and under `tool_calls` the fields of its calls by call id.

use std::collections::BTreeMap;

use hermes_core::JsonText;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Where the fields of calls stand.
pub(crate) const CALLS: &str = "tool_calls";

/// The fields of an answer so far.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    fields: BTreeMap<&'static str, Held>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Held {
    /// The text that came, byte for byte.
    Once(Box<RawValue>),
    /// A string that came in pieces.
    Joined(String),
    /// A list that came in pieces.
    Items(Vec<Value>),
}

impl Kept {
    /// Adds a piece of a field. Strings and lists are joined; of everything else the last stays.
    pub(crate) fn add(&mut self, name: &'static str, piece: &RawValue) -> Result<(), serde_json::Error> {
        let text = piece.get();
        if matches!(text, "\"\"" | "[]" | "null") {
            return Ok(());
        }
        let held = match (self.fields.remove(name), text.as_bytes().first()) {
            (Some(held), Some(b'"')) if held.is_string() => {
                let mut joined = held.into_string()?;
                joined.push_str(&serde_json::from_str::<String>(text)?);
                Held::Joined(joined)
            }
            (Some(held), Some(b'[')) if held.is_list() => {
                let mut items = held.into_items()?;
                serde_json::from_str::<Vec<Value>>(text)?.into_iter().for_each(|item| join(&mut items, item));
                Held::Items(items)
            }
            _ => Held::Once(piece.to_owned()),
        };
        self.fields.insert(name, held);
        Ok(())
    }

    /// The object, with the fields of the calls; `None` when there is nothing to keep.
    pub(crate) fn finish(
        self,
        calls: &BTreeMap<String, BTreeMap<&'static str, Box<RawValue>>>,
    ) -> Option<JsonText> {
        if self.fields.is_empty() && calls.is_empty() {
            return None;
        }
        let mut fields = BTreeMap::new();
        for (name, held) in &self.fields {
            fields.insert(*name, serde_json::value::to_raw_value(held).ok()?);
        }
        if !calls.is_empty() {
            fields.insert(CALLS, serde_json::value::to_raw_value(calls).ok()?);
        }
        JsonText::of(&fields).ok()
    }
}

impl Held {
    fn is_string(&self) -> bool {
        match self {
            Self::Once(raw) => raw.get().starts_with('"'),
            Self::Joined(_) => true,
            Self::Items(_) => false,
        }
    }

    fn is_list(&self) -> bool {
        match self {
            Self::Once(raw) => raw.get().starts_with('['),
            Self::Joined(_) => false,
            Self::Items(_) => true,
        }
    }

    fn into_string(self) -> Result<String, serde_json::Error> {
        match self {
            Self::Once(raw) => serde_json::from_str(raw.get()),
            Self::Joined(text) => Ok(text),
            Self::Items(_) => Ok(String::new()),
        }
    }

    fn into_items(self) -> Result<Vec<Value>, serde_json::Error> {
        match self {
            Self::Once(raw) => serde_json::from_str(raw.get()),
            Self::Joined(_) => Ok(Vec::new()),
            Self::Items(items) => Ok(items),
        }
    }
}

/// Adds an item of `reasoning_details`: a further piece of the last item is joined to it, as OpenRouter asks, since the list has
/// to come back as if it had not been streamed.
fn join(items: &mut Vec<Value>, item: Value) {
    let piece = match (items.last_mut(), item) {
        (Some(Value::Object(last)), Value::Object(piece)) if continues(last, &piece) => {
            for (key, value) in piece {
                match (last.get_mut(&key), value) {
                    (Some(Value::String(text)), Value::String(more))
                        if matches!(key.as_str(), "text" | "summary") =>
                    {
                        text.push_str(&more);
                    }
                    (_, Value::Null) => {}
                    (_, value) => {
                        last.insert(key, value);
                    }
                }
            }
            return;
        }
        (_, item) => item,
    };
    items.push(piece);
}

fn continues(last: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let kind = piece.get("type").and_then(Value::as_str);
    matches!(kind, Some("reasoning.text" | "reasoning.summary"))
        && last.get("type") == piece.get("type")
        && last.get("index") == piece.get("index")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pieces: &[(&'static str, &str)]) -> Option<JsonText> {
        let mut kept = Kept::default();
        for (name, piece) in pieces {
            kept.add(name, &RawValue::from_string((*piece).to_owned()).unwrap()).unwrap();
        }
        kept.finish(&BTreeMap::new())
    }

    #[test]
    fn what_came_once_is_kept_byte_for_byte() {
        let json = kept(&[
            ("reasoning_details", r#"[{"data": "AbC=",  "n":1.0}]"#),
            ("reasoning_content", r#""\u6b65""#),
        ]);
        assert_eq!(
            json.unwrap().as_str(),
            r#"{"reasoning_content":"\u6b65","reasoning_details":[{"data": "AbC=",  "n":1.0}]}"#
        );
        assert_eq!(kept(&[("reasoning_content", "\"\""), ("reasoning_details", "[]")]), None);
    }

    #[test]
    fn pieces_are_joined() {
        let json = kept(&[
            ("reasoning", r#""a""#),
            ("reasoning", r#""b""#),
            ("reasoning_details", r#"[{"type":"reasoning.text","index":0,"text":"a","signature":null}]"#),
            ("reasoning_details", r#"[{"type":"reasoning.text","index":0,"text":"b"}]"#),
            ("reasoning_details", r#"[{"type":"reasoning.text","index":0,"text":"","signature":"S"}]"#),
            ("reasoning_details", r#"[{"type":"reasoning.encrypted","index":1,"data":"x"}]"#),
        ]);
        let value: Value = json.unwrap().read().unwrap();
        assert_eq!(value["reasoning"], "ab");
        assert_eq!(
            value["reasoning_details"],
            serde_json::json!([
                {"type":"reasoning.text","index":0,"text":"ab","signature":"S"},
                {"type":"reasoning.encrypted","index":1,"data":"x"},
            ])
        );
    }
}
