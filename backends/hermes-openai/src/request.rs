//! Requests as bytes: typed data written straight, with no tree of values between.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use hermes_core::{ChatMessage, ChatRequest, JsonText, ModelError, ModelInfo, ToolChoice, ToolSpec};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::config::{EmptyContent, OutputLimit};
use crate::message::Sent;
use crate::schema::{Schema, is_strict};

/// The fields that `extra` cannot replace.
const OURS: [&str; 5] = ["model", "messages", "stream", "tools", "tool_choice"];

/// The ways of a service.
#[derive(Debug, Clone)]
pub(crate) struct Dialect {
    pub(crate) empty_content: EmptyContent,
    pub(crate) output_limit: Option<OutputLimit>,
    pub(crate) is_openai: bool,
    pub(crate) stream_usage: bool,
}

/// The body of a request.
pub(crate) fn write(
    request: &ChatRequest,
    info: &ModelInfo,
    dialect: &Dialect,
) -> Result<Vec<u8>, ModelError> {
    let unusable = |what: &str, reason: &dyn std::fmt::Display| ModelError::Config {
        reason: format!("{what}: {reason}"),
    };
    let extra: BTreeMap<Cow<'_, str>, &RawValue> = match &request.options.extra {
        Some(extra) => serde_json::from_str(extra.as_str())
            .map_err(|error| unusable("the further options are no JSON object", &error))?,
        None => BTreeMap::new(),
    };
    if let Some(ours) = OURS.iter().find(|ours| extra.contains_key(**ours)) {
        return Err(unusable("the further options", &format_args!("{ours} is not theirs to set")));
    }
    let body = Body { request, info, dialect, extra };
    serde_json::to_vec(&body).map_err(|error| unusable("the request cannot be written as JSON", &error))
}

struct Body<'a> {
    request: &'a ChatRequest,
    info: &'a ModelInfo,
    dialect: &'a Dialect,
    extra: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

impl Body<'_> {
    fn limit_name(&self) -> &'static str {
        match self.dialect.output_limit {
            Some(OutputLimit::MaxCompletionTokens) => "max_completion_tokens",
            None if self.dialect.is_openai => "max_completion_tokens",
            Some(OutputLimit::MaxTokens) | None => "max_tokens",
        }
    }

    /// Writes an optional field, unless the further options have it.
    fn put<M: SerializeMap, T: Serialize + ?Sized>(
        &self,
        map: &mut M,
        name: &str,
        value: Option<&T>,
    ) -> Result<(), M::Error> {
        match value {
            Some(value) if !self.extra.contains_key(name) => map.serialize_entry(name, value),
            _ => Ok(()),
        }
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ChatRequest { messages, tools, tool_choice, options } = self.request;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.info.id)?;
        // What stays the same from step to step comes first (S13). "None" leaves the tools out: they would stand in the prompt
        // all the same, and llama.cpp then prints calls as text.
        if *tool_choice != ToolChoice::None && !tools.is_empty() {
            map.serialize_entry("tools", &Tools(tools))?;
            if *tool_choice == ToolChoice::Required {
                map.serialize_entry("tool_choice", "required")?;
            }
        }
        map.serialize_entry("messages", &Messages { messages, body: self })?;
        map.serialize_entry("stream", &true)?;
        if self.dialect.stream_usage {
            self.put(&mut map, "stream_options", Some(&StreamOptions { include_usage: true }))?;
        }
        self.put(&mut map, "temperature", options.temperature.as_ref())?;
        self.put(&mut map, "top_p", options.top_p.as_ref())?;
        self.put(&mut map, self.limit_name(), options.max_output.as_ref())?;
        self.put(&mut map, "seed", options.seed.as_ref())?;
        self.put(&mut map, "stop", Some(&options.stop).filter(|stop| !stop.is_empty()))?;
        let format = options.response_schema.as_ref().map(|(name, schema)| Format { name, schema });
        self.put(&mut map, "response_format", format.as_ref())?;
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct StreamOptions {
    include_usage: bool,
}

struct Messages<'a> {
    messages: &'a [Arc<ChatMessage>],
    body: &'a Body<'a>,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.messages.len()))?;
        for message in self.messages {
            list.serialize_element(&Sent {
                message,
                provider: &self.body.info.provider,
                empty_content: self.body.dialect.empty_content,
            })?;
        }
        list.end()
    }
}

struct Tools<'a>(&'a [Arc<ToolSpec>]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Tool<'a> {
            r#type: &'static str,
            function: Function<'a>,
        }
        #[derive(serde::Serialize)]
        struct Function<'a> {
            name: &'a str,
            description: &'a str,
            parameters: Schema<'a>,
        }
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for tool in self.0 {
            let function = Function {
                name: &tool.name,
                description: &tool.description,
                parameters: Schema(&tool.input_schema),
            };
            list.serialize_element(&Tool { r#type: "function", function })?;
        }
        list.end()
    }
}

struct Format<'a> {
    name: &'a str,
    schema: &'a JsonText,
}

impl Serialize for Format<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct JsonSchema<'a> {
            name: &'a str,
            strict: bool,
            schema: &'a JsonText,
        }
        let strict = self.schema.read::<Value>().is_ok_and(|schema| is_strict(&schema));
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("type", "json_schema")?;
        map.serialize_entry("json_schema", &JsonSchema { name: self.name, strict, schema: self.schema })?;
        map.end()
    }
}

#[cfg(test)]
mod tests;
