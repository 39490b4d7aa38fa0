//! JSON kept as the text that came.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Valid JSON kept as its text, so that what a model or provider wrote is given back byte for byte (S7).
///
/// Two values are equal when their texts are.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// Checks that a text is one JSON value and keeps it (leading and trailing white space is dropped).
    ///
    /// # Errors
    /// The parser's error, with line and column.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// When the value cannot be written as JSON, such as a map whose keys are not strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Reads the text as a type.
    ///
    /// # Errors
    /// When the JSON does not have the type's shape.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }
}

impl From<&serde_json::Value> for JsonText {
    fn from(value: &serde_json::Value) -> Self {
        // A `Value` always writes as JSON, and what it writes always parses; `null` stands in for the impossible case.
        Self::of(value).unwrap_or_else(|_| Self(RawValue::NULL.to_owned()))
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for JsonText {}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_kept_byte_for_byte() {
        let text = r#"{"b": 1.0,  "a":"\u00e9", "b2":12345678901234567890123}"#;
        let json = JsonText::parse(text).unwrap();
        assert_eq!(json.as_str(), text);
        let inside = serde_json::to_string(&vec![json.clone()]).unwrap();
        assert_eq!(serde_json::from_str::<Vec<JsonText>>(&inside).unwrap(), vec![json]);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        assert!(JsonText::parse("{a:1}").is_err());
        assert!(JsonText::parse("1 2").is_err());
        assert!(JsonText::parse("").is_err());
    }
}
