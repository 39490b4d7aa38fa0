//! What can go wrong before a tool is called. What goes wrong in a call is a [`ToolError`](hermes_core::ToolError).

use std::time::Duration;

use hermes_core::BoxError;

use crate::config::ConfigError;

/// Why a server's tools cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The prefix cannot begin a tool's name.
    #[error(
        "{prefix:?} cannot be the prefix of an MCP server's tools: use 1 to 32 of A-Z, a-z, 0-9, _ and -"
    )]
    Prefix {
        /// What was given.
        prefix: String,
    },
    /// Something in the server's settings cannot be used.
    #[error("the settings of the MCP server {server} cannot be used: {message}")]
    Settings {
        /// The server's prefix.
        server: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The server's program cannot be started.
    #[error("the MCP server {server} cannot be started: {message}")]
    Start {
        /// The server's prefix.
        server: String,
        /// What happened and what to look at.
        message: String,
        /// The operating system's error.
        #[source]
        source: std::io::Error,
    },
    /// The server did not answer the handshake in time.
    #[error("the MCP server {server} did not answer within {} ms", limit.as_millis())]
    Timeout {
        /// The server's prefix.
        server: String,
        /// How long was waited.
        limit: Duration,
    },
    /// The server ended, or nobody answers at its address.
    #[error("the MCP server {server} is not there: {message}")]
    Unreachable {
        /// The server's prefix.
        server: String,
        /// What happened.
        message: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
    },
    /// The server wants other credentials.
    #[error("the MCP server {server} refuses the credentials: {message}")]
    Unauthorized {
        /// The server's prefix.
        server: String,
        /// What it said.
        message: String,
    },
    /// The server answers, and not as the protocol says.
    #[error("the MCP server {server} does not speak the protocol: {message}")]
    Protocol {
        /// The server's prefix.
        server: String,
        /// What it did.
        message: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
    },
    /// Two tools would have one name.
    #[error(
        "the MCP tools {first} and {second} would both be called {name}: give one of their servers another prefix"
    )]
    Collision {
        /// The name.
        name: String,
        /// One tool, as `server/tool`.
        first: String,
        /// The other.
        second: String,
    },
    /// The client has been shut down.
    #[error("the connection to the MCP server {server} has been shut down")]
    Closed {
        /// The server's prefix.
        server: String,
    },
    /// Pins cannot be read or written.
    #[error("the approved tools of the MCP server {server} cannot be looked up")]
    Pins {
        /// The server's prefix.
        server: String,
        /// The store's error.
        #[source]
        source: hermes_core::StoreError,
    },
    /// The server has no such tool.
    #[error("the MCP server {server} has no tool {tool}")]
    NoSuchTool {
        /// The server's prefix.
        server: String,
        /// What was asked for.
        tool: String,
    },
    /// A configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Error {
    /// Whether trying again later may help: a wrong setting stays wrong, a server that is away may come back.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::Unreachable { .. } | Self::Pins { .. })
    }
}
