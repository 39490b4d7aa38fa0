//! The Model Context Protocol for Hermes: a server's tools become Hermes tools (M1–M8, M10).
//!
//! A server is described by an [`McpServer`], connected to by [`McpServer::connect`], and is from then on an [`McpClient`]: a
//! [`ToolSource`](hermes_core::ToolSource) whose tools are called `prefix_tool`. The client owns one task that watches the
//! connection, reconnects with growing pauses, and refreshes the tools when the server says that they changed. It ends
//! with the last clone of the client, or by [`McpClient::shutdown`].
//!
//! | module | what it is about |
//! |---|---|
//! | [`client`] | servers, connections, health |
//! | [`config`] | `mcpServers` files, JSON and TOML (M10) |
//! | [`namespace`] | names, there and back (M4) |
//! | [`pin`] | approved definitions (M8) |
//!
//! What it does not do: check arguments (the registry does, against the schema given here), run tools under keys, shorten
//! outputs to a token budget, sign in by OAuth, or serve tools.
//!
//! ```no_run
//! use hermes_core::ToolSource as _;
//! use hermes_mcp::McpClient;
//!
//! # async fn example() -> Result<(), hermes_mcp::Error> {
//! let booking = McpClient::stdio("booking", "booking-mcp").arg("--city").arg("Chengdu").connect().await?;
//! for tool in booking.tools().tools {
//!     println!("{}", tool.spec().name); // booking_reserve, booking_cancel, …
//! }
//! booking.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod catalog;
mod clean;
pub mod client;
pub mod config;
mod content;
mod error;
#[cfg(test)]
mod given;
pub mod namespace;
pub mod pin;
mod schema;
mod tool;
mod wire;

pub use client::{
    Connected, Failure, Health, Http, McpClient, McpServer, ServerInfo, Stdio, Transport, connect_all,
};
pub use config::{ConfigError, McpConfig};
pub use error::Error;
pub use pin::{Fingerprint, Pins};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
