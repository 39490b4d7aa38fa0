//! Messages as they are sent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hermes_core::{ChatMessage, ContentPart, FileRef, FileSource, JsonText, ToolCall};
use serde::de::IgnoredAny;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::value::RawValue;

use crate::config::EmptyContent;
use crate::reasoning::CALLS;

/// The fields of a message that opaque data cannot replace.
const OURS: [&str; 5] = ["role", "content", CALLS, "tool_call_id", "name"];

/// A message for a service.
pub(crate) struct Sent<'a> {
    pub(crate) message: &'a ChatMessage,
    /// The service, whose opaque data goes back and no other's (CM6).
    pub(crate) provider: &'a str,
    pub(crate) empty_content: EmptyContent,
}

type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

impl Serialize for Sent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", self.message.role().as_str())?;
        match self.message {
            ChatMessage::System { content } => {
                map.serialize_entry("content", &Content { parts: content, images: false })?
            }
            ChatMessage::User { content } => {
                map.serialize_entry("content", &Content { parts: content, images: true })?
            }
            ChatMessage::Tool { call, content, .. } => {
                map.serialize_entry("tool_call_id", call.as_str())?;
                map.serialize_entry("content", &Content { parts: content, images: false })?;
            }
            ChatMessage::Assistant { content, calls, provider } => {
                let is_empty = content.iter().all(|part| part.as_text().is_some_and(str::is_empty));
                match self.empty_content {
                    EmptyContent::Null if is_empty && !calls.is_empty() => {
                        map.serialize_entry("content", &())?
                    }
                    EmptyContent::Omit if is_empty && !calls.is_empty() => {}
                    _ => map.serialize_entry("content", &Content { parts: content, images: false })?,
                }
                let opaque = provider.get(self.provider).map_or_else(Fields::new, fields);
                for (name, value) in opaque.iter().filter(|(name, _)| !OURS.contains(&name.as_ref())) {
                    map.serialize_entry(name, value)?;
                }
                if !calls.is_empty() {
                    let extras = opaque.get(CALLS).and_then(|raw| serde_json::from_str(raw.get()).ok());
                    map.serialize_entry(CALLS, &Calls { calls, extras: extras.unwrap_or_default() })?;
                }
            }
        }
        map.end()
    }
}

/// The fields of opaque data; what is no object has none.
fn fields(json: &JsonText) -> Fields<'_> {
    serde_json::from_str(json.as_str()).unwrap_or_default()
}

struct Content<'a> {
    parts: &'a [ContentPart],
    /// Whether the service takes images here; elsewhere words stand for them.
    images: bool,
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let [ContentPart::Text(text)] = self.parts {
            return serializer.serialize_str(text);
        }
        if !(self.images && self.parts.iter().any(|part| image(part).is_some())) {
            // One string is what every service takes.
            let texts: Vec<_> = self.parts.iter().map(words).filter(|text| !text.is_empty()).collect();
            return serializer.serialize_str(&texts.join("\n"));
        }
        let mut list = serializer.serialize_seq(None)?;
        for part in self.parts {
            if let Some(url) = image(part) {
                list.serialize_element(
                    &serde_json::json!({ "type": "image_url", "image_url": { "url": url } }),
                )?;
                continue;
            }
            let text = words(part);
            // Some services refuse an empty text part (g26).
            if !text.is_empty() {
                list.serialize_element(&serde_json::json!({ "type": "text", "text": text }))?;
            }
        }
        list.end()
    }
}

/// The address of an image that the service can read.
fn image(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Image(FileRef { source: FileSource::Url(url), .. }) => Some(url),
        _ => None,
    }
}

/// A part as text: the protocol has no other way to name a file by address, or to say that there is one that it cannot read.
fn words(part: &ContentPart) -> Cow<'_, str> {
    match part {
        ContentPart::Text(text) => Cow::Borrowed(text),
        ContentPart::Image(file) | ContentPart::File(file) => Cow::Owned(match &file.source {
            FileSource::Url(url) => format!("[{}: {url}]", file.media_type),
            FileSource::Artifact(id) => format!("[{}: artifact {id}]", file.media_type),
            _ => format!("[{}]", file.media_type),
        }),
        _ => Cow::Borrowed(""),
    }
}

struct Calls<'a> {
    calls: &'a [ToolCall],
    extras: BTreeMap<Cow<'a, str>, Fields<'a>>,
}

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.calls.len()))?;
        for call in self.calls {
            list.serialize_element(&Call { call, extras: self.extras.get(call.id.as_str()) })?;
        }
        list.end()
    }
}

struct Call<'a> {
    call: &'a ToolCall,
    extras: Option<&'a Fields<'a>>,
}

impl Serialize for Call<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Function<'a> {
            name: &'a str,
            arguments: Cow<'a, str>,
        }
        let function = Function { name: &self.call.name, arguments: arguments(&self.call.arguments) };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", self.call.id.as_str())?;
        map.serialize_entry("type", "function")?;
        map.serialize_entry("function", &function)?;
        for (name, value) in self.extras.into_iter().flatten() {
            if !matches!(name.as_ref(), "id" | "type" | "function") {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// Arguments as the text that the model wrote. Where that is no JSON, it stands as a string in an object: llama.cpp and others
/// refuse every later request of a session whose history holds such a call, and the model is told of its mistake by the result.
fn arguments(text: &str) -> Cow<'_, str> {
    if text.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(serde_json::json!({ "not_json": text }).to_string()),
    }
}
