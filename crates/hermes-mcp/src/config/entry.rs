//! One entry of `mcpServers`.

use std::time::Duration;

use serde_json::{Map, Value};

use super::expand::expand;
use super::{ConfigError, Lookup};
use crate::client::{Http, McpServer, Stdio};

/// What is understood.
const KEYS: [&str; 18] = [
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "type",
    "transport",
    "disabled",
    "enabled",
    "timeout",
    "includeTools",
    "excludeTools",
    "prefix",
    "required",
    "trustAnnotations",
    "connectTimeout",
    "totalTimeout",
];

/// What other clients keep for themselves and changes nothing for safety when passed over.
const PASSED_OVER: [&str; 9] =
    ["autoApprove", "alwaysAllow", "trust", "description", "name", "icon", "note", "version", "gallery"];

/// The longest time in a configuration, in seconds: a longer one is most likely meant in milliseconds.
const LONGEST: f64 = 3600.0;

pub(super) struct Read {
    /// `None` when it is disabled.
    pub(super) server: Option<McpServer>,
    pub(super) passed_over: Vec<String>,
}

pub(super) fn read(place: &str, name: &str, entry: &Value, lookup: Lookup<'_>) -> Result<Read, ConfigError> {
    let Some(entry) = entry.as_object() else {
        return Err(wrong(place, "has to be an object with a command or a url"));
    };
    let mut passed_over = Vec::new();
    for key in entry.keys() {
        if PASSED_OVER.contains(&key.as_str()) {
            passed_over.push(key.clone());
        } else if !KEYS.contains(&key.as_str()) {
            let nearest = hermes_text::nearest(key, KEYS).map(str::to_owned);
            return Err(ConfigError::UnknownKey { place: place.to_owned(), key: key.clone(), nearest });
        }
    }
    let fields = Fields { place, entry, lookup };
    if fields.flag("disabled")?.unwrap_or(false) || !fields.flag("enabled")?.unwrap_or(true) {
        return Ok(Read { server: None, passed_over });
    }
    let prefix = fields.text("prefix")?.unwrap_or_else(|| name.to_owned());
    let mut server = match (fields.text("command")?, fields.text("url")?) {
        (Some(command), None) => fields.stdio(&prefix, command)?,
        (None, Some(url)) => fields.http(&prefix, url)?,
        (Some(_), Some(_)) => return Err(wrong(place, "has both a command and a url; it can have one")),
        (None, None) => return Err(wrong(place, "has neither a command nor a url")),
    };
    if let Some(limit) = fields.seconds("timeout")? {
        server = server.idle_timeout(limit);
    }
    if let Some(limit) = fields.seconds("connectTimeout")? {
        server = server.connect_timeout(limit);
    }
    if let Some(limit) = fields.seconds("totalTimeout")? {
        server = server.total_timeout(limit);
    }
    if fields.flag("required")?.unwrap_or(false) {
        server = server.required();
    }
    if fields.flag("trustAnnotations")?.unwrap_or(false) {
        server = server.trust_annotations();
    }
    if let Some(names) = fields.texts("includeTools")? {
        server = server.only_tools(names);
    }
    if let Some(names) = fields.texts("excludeTools")? {
        server = server.without_tools(names);
    }
    Ok(Read { server: Some(server), passed_over })
}

struct Fields<'a> {
    place: &'a str,
    entry: &'a Map<String, Value>,
    lookup: Lookup<'a>,
}

impl Fields<'_> {
    fn stdio(&self, prefix: &str, command: String) -> Result<McpServer, ConfigError> {
        self.check_type("stdio", &["stdio"])?;
        self.forbid(&["headers"], "a command has no")?;
        if command.trim().is_empty() {
            return Err(wrong(&self.at("command"), "is empty"));
        }
        let mut server =
            McpServer::new(prefix, Stdio::new(command)).args(self.texts("args")?.unwrap_or_default());
        for (name, value) in self.table("env")? {
            server = server.env(name, value);
        }
        if let Some(folder) = self.text("cwd")? {
            server = server.cwd(folder);
        }
        Ok(server.into_any())
    }

    fn http(&self, prefix: &str, url: String) -> Result<McpServer, ConfigError> {
        self.check_type("http", &["http", "streamable-http", "streamableHttp", "streamable_http"])?;
        self.forbid(&["args", "env", "cwd"], "a url has no")?;
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            return Err(wrong(&self.at("url"), "has to begin with http:// or https://"));
        }
        let mut server = McpServer::new(prefix, Http::new(url));
        for (name, value) in self.table("headers")? {
            server = server.header(name, value);
        }
        Ok(server.into_any())
    }

    fn check_type(&self, kind: &str, names: &[&str]) -> Result<(), ConfigError> {
        for key in ["type", "transport"] {
            match self.text(key)?.as_deref() {
                Some("sse") => {
                    let message = "is sse, the transport of 2024, which is not supported; use the server's Streamable \
                                   HTTP address with the type http";
                    return Err(wrong(&self.at(key), message));
                }
                Some(found) if !names.contains(&found) => {
                    let message = format!("is {found:?}, and the other keys say {kind}");
                    return Err(wrong(&self.at(key), &message));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn forbid(&self, keys: &[&str], what: &str) -> Result<(), ConfigError> {
        match keys.iter().find(|key| self.entry.contains_key(**key)) {
            Some(key) => Err(wrong(&self.at(key), &format!("cannot be used: {what} {key}"))),
            None => Ok(()),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, ConfigError> {
        match self.entry.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => self.expanded(&self.at(key), text).map(Some),
            Some(_) => Err(wrong(&self.at(key), "has to be a text")),
        }
    }

    fn texts(&self, key: &str) -> Result<Option<Vec<String>>, ConfigError> {
        match self.entry.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.scalar(&format!("{}[{index}]", self.at(key)), item))
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(wrong(&self.at(key), "has to be a list of texts")),
        }
    }

    fn table(&self, key: &str) -> Result<Vec<(String, String)>, ConfigError> {
        match self.entry.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Object(table)) => table
                .iter()
                .map(|(name, value)| {
                    Ok((name.clone(), self.scalar(&format!("{}.{name}", self.at(key)), value)?))
                })
                .collect(),
            Some(_) => Err(wrong(&self.at(key), "has to be an object with texts")),
        }
    }

    /// A text, or a number or truth value as its text: `"PORT": 8080` is common.
    fn scalar(&self, place: &str, value: &Value) -> Result<String, ConfigError> {
        match value {
            Value::String(text) => self.expanded(place, text),
            Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
            _ => Err(wrong(place, "has to be a text")),
        }
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        match self.entry.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(wrong(&self.at(key), "has to be true or false")),
        }
    }

    fn seconds(&self, key: &str) -> Result<Option<Duration>, ConfigError> {
        let Some(value) = self.entry.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
        match value.as_f64() {
            Some(seconds) if seconds > LONGEST => Err(wrong(
                &self.at(key),
                &format!("is {value} seconds, more than an hour; times are in seconds, not milliseconds"),
            )),
            Some(seconds) if seconds > 0.0 => Ok(Some(Duration::from_secs_f64(seconds))),
            _ => Err(wrong(&self.at(key), "has to be a number of seconds above 0")),
        }
    }

    fn expanded(&self, place: &str, text: &str) -> Result<String, ConfigError> {
        expand(text, self.lookup).map_err(|name| {
            wrong(place, &format!("refers to the environment variable {name}, which is not set"))
        })
    }

    fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.place)
    }
}

fn wrong(place: &str, message: &str) -> ConfigError {
    ConfigError::Value { place: place.to_owned(), message: message.to_owned() }
}
