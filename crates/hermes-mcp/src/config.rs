//! `mcpServers` files, as other MCP clients use them, in JSON and TOML (M10).
//!
//! ```
//! use hermes_mcp::McpConfig;
//!
//! let config = McpConfig::from_json_str(r#"{ "mcpServers": {
//!     "files":   { "command": "mcp-files", "args": ["/srv"], "env": { "LOG": "warn" } },
//!     "booking": { "url": "https://example.com/mcp", "headers": { "X-Key": "${KEY:-none}" }, "required": true }
//! } }"#)?;
//! assert_eq!(config.servers().len(), 2);
//!
//! let wrong = McpConfig::from_json_str(r#"{ "mcpServers": { "files": { "comand": "mcp-files" } } }"#).unwrap_err();
//! assert_eq!(wrong.to_string(), "mcpServers.files has the unknown key comand; did you mean command?");
//! # Ok::<(), hermes_mcp::ConfigError>(())
//! ```
//!
//! | key | meaning |
//! |---|---|
//! | `command`, `args`, `env`, `cwd` | a program; it sees the variables of `env` and a minimal base, nothing else (M8) |
//! | `url`, `headers` | an address; `http` as `type` may stand beside it |
//! | `disabled`, `enabled` | leaves a server out |
//! | `timeout` | seconds that a call may go without answer and without progress |
//! | `includeTools`, `excludeTools` | which tools to take, by the server's own names |
//! | `prefix` | the prefix of its tools, where the server's key cannot be one |
//! | `required`, `trustAnnotations`, `connectTimeout`, `totalTimeout` | as in [`McpServer`]; times in seconds |
//!
//! In texts of `command`, `args`, `env`, `cwd`, `url` and `headers`, `${NAME}` and `${env:NAME}` stand for an environment
//! variable and `${NAME:-text}` for one with a default. What other clients keep for themselves (`autoApprove`,
//! `alwaysAllow`, `trust`, descriptions) is passed over with a [warning](McpConfig::warnings); every other key is an error.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::client::{McpServer, Transport};
use crate::namespace;

mod entry;
mod expand;

/// Where variables come from.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Why a configuration cannot be used: one sentence that says where and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the file {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: std::io::Error,
    },
    /// It is not JSON or not TOML.
    #[error("{format} was expected: {message}")]
    Syntax {
        /// `JSON` or `TOML`.
        format: &'static str,
        /// Where it goes wrong.
        message: String,
    },
    /// There is no list of servers.
    #[error("there is no mcpServers, an object with one entry a server{}", found(keys))]
    NoServers {
        /// The keys that are there.
        keys: Vec<String>,
    },
    /// A key is not known.
    #[error("{place} has the unknown key {key}{}", suggestion(nearest.as_deref()))]
    UnknownKey {
        /// Where.
        place: String,
        /// The key.
        key: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A value is not what it has to be.
    #[error("{place} {message}")]
    Value {
        /// Where.
        place: String,
        /// What is wrong and what would be right.
        message: String,
    },
}

fn found(keys: &[String]) -> String {
    if keys.is_empty() { String::new() } else { format!(", but only {}", keys.join(", ")) }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean {key}?")).unwrap_or_default()
}

/// The servers of a configuration.
#[derive(Debug, Clone)]
pub struct McpConfig {
    pub(crate) servers: Vec<McpServer>,
    pub(crate) grace: Duration,
    warnings: Vec<String>,
}

impl Default for McpConfig {
    /// No servers, and a grace of 5 s.
    fn default() -> Self {
        Self { servers: Vec::new(), grace: Duration::from_secs(5), warnings: Vec::new() }
    }
}

impl McpConfig {
    /// No servers; add them with [`with_server`](Self::with_server).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads JSON. Variables come from the environment.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn from_json_str(text: &str) -> Result<Self, ConfigError> {
        Self::from_json_str_with(text, &environment)
    }

    /// Reads JSON, with variables from `lookup`.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn from_json_str_with(
        text: &str,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value = serde_json::from_str(text)
            .map_err(|error| ConfigError::Syntax { format: "JSON", message: error.to_string() })?;
        Self::from_value(&value, lookup)
    }

    /// Reads TOML: `[mcpServers.name]` tables with the same keys. Variables come from the environment.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn from_toml_str(text: &str) -> Result<Self, ConfigError> {
        let value: Value = toml::from_str(text).map_err(|error| ConfigError::Syntax {
            format: "TOML",
            message: error.to_string().lines().collect::<Vec<_>>().join(" "),
        })?;
        Self::from_value(&value, &environment)
    }

    /// Reads a file: TOML when its name ends in `.toml`, JSON otherwise.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml")) {
            Self::from_toml_str(&text)
        } else {
            Self::from_json_str(&text)
        }
    }

    /// Adds a server.
    #[must_use]
    pub fn with_server<T: Into<Transport>>(mut self, server: McpServer<T>) -> Self {
        self.servers.push(server.into_any());
        self
    }

    /// Says how long [`connect_all`](crate::connect_all) waits for servers that are not required (M7).
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The servers that are not disabled.
    pub fn servers(&self) -> &[McpServer] {
        &self.servers
    }

    /// The servers, for settings that a file cannot carry, such as [`McpServer::pins`].
    #[must_use]
    pub fn map_servers(mut self, change: impl FnMut(McpServer) -> McpServer) -> Self {
        self.servers = self.servers.into_iter().map(change).collect();
        self
    }

    /// What was passed over, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn from_value(value: &Value, lookup: Lookup<'_>) -> Result<Self, ConfigError> {
        let top = value.as_object();
        let servers = ["mcpServers", "mcp_servers", "servers"]
            .iter()
            .find_map(|key| Some((*key, top?.get(*key)?.as_object()?)));
        let Some((section, servers)) = servers else {
            let keys = top.into_iter().flat_map(Map::keys).take(8).cloned().collect();
            return Err(ConfigError::NoServers { keys });
        };
        let mut config = Self::default();
        // Other clients keep their own settings in the same file.
        for key in top.into_iter().flat_map(Map::keys).filter(|key| *key != section && *key != "$schema") {
            config.warnings.push(format!("{key} is passed over"));
        }
        for (name, entry) in servers {
            let place = format!("{section}.{name}");
            let read = entry::read(&place, name, entry, lookup)?;
            config
                .warnings
                .extend(read.passed_over.iter().map(|key| format!("{place}.{key} is passed over")));
            let Some(server) = read.server else { continue };
            namespace::check_prefix(&server.prefix).map_err(|error| ConfigError::Value {
                place: place.clone(),
                message: format!("needs another key, or a prefix of its own: {error}"),
            })?;
            if config.servers.iter().any(|other| other.prefix == server.prefix) {
                let message = format!("has the prefix {}, which another server has", server.prefix);
                return Err(ConfigError::Value { place, message });
            }
            config.servers.push(server);
        }
        Ok(config)
    }
}

#[expect(clippy::disallowed_methods, reason = "a configuration file may refer to the environment")]
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests;
