//! JSON Schemas as they are sent.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

/// What the hints that are for Hermes alone begin with.
const HINT: &str = "x-hermes-";

/// A schema without the hints that are for Hermes alone, written without being copied.
pub(crate) struct Schema<'a>(pub(crate) &'a Value);

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Node { value: self.0, place: Place::Schema }.serialize(serializer)
    }
}

/// What the keys of an object are, where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Keywords.
    Schema,
    /// Names, of properties or definitions.
    Names,
    /// Data.
    Data,
}

impl Place {
    fn under(self, key: &str) -> Self {
        match (self, key) {
            (Self::Data, _) | (Self::Schema, "const" | "default" | "enum" | "examples" | "example") => {
                Self::Data
            }
            (
                Self::Schema,
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
            ) => Self::Names,
            _ => Self::Schema,
        }
    }
}

struct Node<'a> {
    value: &'a Value,
    place: Place,
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(None)?;
                for (key, value) in fields {
                    if self.place == Place::Schema && key.starts_with(HINT) {
                        continue;
                    }
                    map.serialize_entry(key, &Node { value, place: self.place.under(key) })?;
                }
                map.end()
            }
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for value in items {
                    list.serialize_element(&Node { value, place: self.place })?;
                }
                list.end()
            }
            other => other.serialize(serializer),
        }
    }
}

/// Whether a schema keeps OpenAI's rules for strict output: every object forbids what it does not name and requires what it does.
/// To ask for strictness otherwise is refused there; not to ask would make the schema a mere wish.
pub(crate) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let object = fields.get("properties").and_then(Value::as_object).is_none_or(|properties| {
                let required = fields.get("required").and_then(Value::as_array);
                fields.get("additionalProperties") == Some(&Value::Bool(false))
                    && properties.keys().all(|name| {
                        required
                            .is_some_and(|required| required.iter().any(|item| item.as_str() == Some(name)))
                    })
            });
            let closed = fields.get("type").and_then(Value::as_str) != Some("object")
                || fields.get("additionalProperties") == Some(&Value::Bool(false));
            object && closed && fields.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_hints_are_left_out() {
        let schema = json!({
            "type": "object",
            "x-hermes-order": 1,
            "x-other": true,
            "properties": {
                "city": { "type": "string", "x-hermes-fill": "home town", "description": "in x-hermes-words" },
                "x-hermes-name": { "type": "string", "default": { "x-hermes-data": 1 } },
                "properties": { "type": "array", "items": { "x-hermes-fill": "x", "type": "number" } }
            },
            "anyOf": [{ "x-hermes-fill": "y" }]
        });
        let sent: Value = serde_json::from_str(&serde_json::to_string(&Schema(&schema)).unwrap()).unwrap();
        assert_eq!(
            sent,
            json!({
                "type": "object",
                "x-other": true,
                "properties": {
                    "city": { "type": "string", "description": "in x-hermes-words" },
                    "x-hermes-name": { "type": "string", "default": { "x-hermes-data": 1 } },
                    "properties": { "type": "array", "items": { "type": "number" } }
                },
                "anyOf": [{}]
            })
        );
    }

    #[test]
    fn strictness_is_told() {
        let whole = json!({"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false});
        assert!(is_strict(&whole));
        assert!(is_strict(
            &json!({"type":"object","properties":{"l":{"type":"array","items":whole}},"required":["l"],"additionalProperties":false})
        ));
        for open in [
            json!({"type":"object"}),
            json!({"type":"object","properties":{"a":{}},"required":["a"]}),
            json!({"type":"object","properties":{"a":{}},"additionalProperties":false}),
            json!({"type":"array","items":{"type":"object","properties":{}}}),
        ] {
            assert!(!is_strict(&open), "{open}");
        }
    }
}
