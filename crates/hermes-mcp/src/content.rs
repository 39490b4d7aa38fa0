//! From a server's result to one output (M2, M5, T9). Pure.
//!
//! | block | what the model reads |
//! |---|---|
//! | text | the text, cleaned; JSON compacted, and as JSON where that loses no digit |
//! | image, audio, binary resource | its kind, media type, size and place in the raw result, never its bytes |
//! | text resource | its address and its text, cleaned |
//! | link | name, address, media type, size |
//! | `structuredContent` | the JSON; text that only repeats it is dropped |
//!
//! Whenever something was shortened or changed, the whole result goes along as [`ToolOutput::raw`], where a block is found at the
//! place that its placeholder names. Shortening to a budget of tokens is the registry's task (T10).

use hermes_core::{ToolError, ToolOutput};
use serde_json::{Map, Value};

use crate::clean;

/// What stands for a result with nothing in it.
const EMPTY: &str = "the result is empty";

/// A text of this many base64 digits in a row is taken for bytes, not for words.
const BASE64_RUN: usize = 512;

/// Digits in a row that a JSON number in memory may not keep: numbers have 15 safe ones.
const UNSAFE_DIGITS: usize = 16;

/// The output of a result, or the failure that it reports.
pub(crate) fn normalise(result: &Value) -> Result<ToolOutput, ToolError> {
    let mut reading = Reading::default();
    match result.get("content") {
        Some(Value::Array(blocks)) => {
            for (place, block) in blocks.iter().enumerate() {
                reading.block(place, block);
            }
        }
        // Not what the protocol says, and clear enough.
        Some(Value::String(text)) => reading.text(text),
        _ => {}
    }
    let structured = result.get("structuredContent").filter(|value| !is_blank(value));
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return Err(ToolError::failed(reading.complaint(structured)));
    }
    let known = ["content", "structuredContent", "isError"].iter().any(|key| result.get(key).is_some());
    if !known {
        return Err(ToolError::failed("the MCP server answered with something that is no result"));
    }
    Ok(reading.output(structured, result))
}

#[derive(Default)]
struct Reading {
    /// What the model reads, block by block.
    parts: Vec<String>,
    /// Whether something is not as it came.
    changed: bool,
}

impl Reading {
    fn text(&mut self, text: &str) {
        let text = self.without_bytes(text);
        let clean = clean::result(&text);
        self.changed |= clean != text;
        if !clean.trim().is_empty() {
            self.parts.push(clean);
        }
    }

    fn block(&mut self, place: usize, block: &Value) {
        let field = |key: &str| block.get(key).and_then(Value::as_str);
        match field("type") {
            Some("text") => self.text(field("text").unwrap_or_default()),
            Some(kind @ ("image" | "audio")) => {
                let bytes = decoded_len(field("data").unwrap_or_default());
                self.placeholder(kind, field("mimeType"), bytes, &format!("content/{place}/data"), None);
            }
            Some("resource") => self.resource(place, block.get("resource").unwrap_or(&Value::Null)),
            Some("resource_link") => self.link(block),
            kind => {
                let kind = clean::description(kind.unwrap_or("none"), clean::MAX_NAME);
                self.changed = true;
                self.parts.push(format!(
                    "[a block of the kind {kind}, left out; it is content/{place} of the raw result]"
                ));
            }
        }
    }

    fn resource(&mut self, place: usize, resource: &Value) {
        let field = |key: &str| resource.get(key).and_then(Value::as_str);
        let uri = field("uri").map(|uri| clean::description(uri, clean::MAX_FIELD_DESCRIPTION));
        if let Some(blob) = field("blob") {
            let at = format!("content/{place}/resource/blob");
            self.placeholder("file", field("mimeType"), decoded_len(blob), &at, uri.as_deref());
        } else if let Some(text) = field("text") {
            if let Some(uri) = uri {
                self.parts.push(format!("[{uri}]"));
                self.changed = true;
            }
            self.text(text);
        }
    }

    fn link(&mut self, link: &Value) {
        let field = |key: &str, limit| {
            link.get(key)
                .and_then(Value::as_str)
                .map(|text| clean::description(text, limit))
                .filter(|text| !text.is_empty())
        };
        let mut text = "[link".to_owned();
        if let Some(name) = field("title", clean::MAX_NAME).or_else(|| field("name", clean::MAX_NAME)) {
            text.push_str(&format!(" {name}"));
        }
        if let Some(uri) = field("uri", clean::MAX_FIELD_DESCRIPTION) {
            text.push_str(&format!(": {uri}"));
        }
        if let Some(kind) = field("mimeType", clean::MAX_NAME) {
            text.push_str(&format!(", {kind}"));
        }
        if let Some(size) = link.get("size").and_then(Value::as_u64) {
            text.push_str(&format!(", {size} bytes"));
        }
        if let Some(described) = field("description", clean::MAX_FIELD_DESCRIPTION) {
            text.push_str(&format!(", {described}"));
        }
        text.push(']');
        self.changed = true;
        self.parts.push(text);
    }

    fn placeholder(
        &mut self,
        kind: &str,
        media_type: Option<&str>,
        bytes: usize,
        at: &str,
        uri: Option<&str>,
    ) {
        let media_type =
            clean::description(media_type.unwrap_or("application/octet-stream"), clean::MAX_NAME);
        let uri = uri.map(|uri| format!(" {uri}")).unwrap_or_default();
        self.changed = true;
        self.parts.push(format!("[{kind}{uri}: {media_type}, {bytes} bytes; it is {at} of the raw result]"));
    }

    /// The text with long runs of base64 digits, bare or in a `data:` address, replaced by their size.
    fn without_bytes(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len().min(BASE64_RUN * 4));
        let mut rest = text;
        while let Some(start) = rest.find(is_base64) {
            let (before, from) = rest.split_at(start);
            let (run, after) = from.split_at(from.find(|c| !is_base64(c)).unwrap_or(from.len()));
            out.push_str(before);
            if run.len() >= BASE64_RUN {
                self.changed = true;
                out.push_str(&format!("[{} bytes of base64 left out]", decoded_len(run)));
            } else {
                out.push_str(run);
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let short = self.without_bytes(text);
                let clean = clean::leaf(&short);
                self.changed |= clean != *text;
                Value::String(clean)
            }
            Value::Array(items) => Value::Array(items.iter().map(|item| self.value(item)).collect()),
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(key, field)| (clean::leaf(key), self.value(field)))
                    .collect::<Map<_, _>>(),
            ),
            other => other.clone(),
        }
    }

    fn output(mut self, structured: Option<&Value>, result: &Value) -> ToolOutput {
        let value = match structured {
            Some(structured) => {
                let repeats = |part: &String| {
                    serde_json::from_str::<Value>(part)
                        .is_ok_and(|value| hermes_text::json::equal(&value, structured))
                };
                let clean = self.value(structured);
                self.parts.retain(|part| !repeats(part));
                if self.parts.is_empty() {
                    clean
                } else {
                    self.parts.push(clean.to_string());
                    Value::String(self.parts.join("\n"))
                }
            }
            None => match self.parts.as_slice() {
                [] => Value::String(EMPTY.to_owned()),
                [part] => json_of(part).unwrap_or_else(|| Value::String(part.clone())),
                parts => Value::String(parts.join("\n")),
            },
        };
        let raw = self.changed.then(|| result.to_string());
        ToolOutput { value, files: Vec::new(), raw }
    }

    fn complaint(mut self, structured: Option<&Value>) -> String {
        if self.parts.is_empty()
            && let Some(structured) = structured
        {
            let text = self.value(structured).to_string();
            self.parts.push(text);
        }
        if self.parts.is_empty() {
            return "the tool failed and did not say why".to_owned();
        }
        clean::message(&self.parts.join("\n"))
    }
}

/// The JSON that a text is, where it is an object or a list and no number in it could lose digits.
fn json_of(text: &str) -> Option<Value> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let longest = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
    if longest >= UNSAFE_DIGITS {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// Whether there is nothing in a value.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

const fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_')
}

/// How many bytes base64 text stands for.
fn decoded_len(text: &str) -> usize {
    let digits = text
        .bytes()
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'))
        .count();
    digits / 4 * 3 + (digits % 4).saturating_sub(1)
}

#[cfg(test)]
#[path = "content/tests.rs"]
mod tests;
