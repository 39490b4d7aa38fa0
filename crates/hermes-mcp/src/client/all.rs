//! Connecting many servers side by side (M7).

use std::sync::Arc;

use futures_util::future::join_all;
use hermes_core::ToolSource as _;

use super::connect::{self, Connection};
use super::shared::Shared;
use super::{McpClient, supervise};
use crate::config::McpConfig;
use crate::error::Error;
use crate::namespace::{self, Names};

/// What [`connect_all`] gives.
#[derive(Debug)]
pub struct Connected {
    /// All servers, in the order of the configuration: also those that are not connected yet and are tried further in the background.
    pub clients: Vec<McpClient>,
    /// Those that are not connected, with the reason.
    pub failures: Vec<Failure>,
}

/// A server that is not connected.
#[derive(Debug)]
pub struct Failure {
    /// Its prefix.
    pub server: String,
    /// Why.
    pub error: Error,
}

enum Attempt {
    Made(Box<Connection>),
    Failed(Error),
}

/// Connects all servers of a configuration side by side.
///
/// A server that is not connected when the grace time is over, or fails, does not hold up the others: it is among the
/// failures, and its client goes on trying in the background, so that its tools appear when it is there. Only a required
/// server is waited for up to its own limit.
///
/// # Errors
/// A required server that cannot be connected, a prefix that cannot be used or that two servers share, and two tools with
/// one name. No connection stays open then.
pub async fn connect_all(config: McpConfig) -> Result<Connected, Error> {
    let grace = config.grace;
    for (place, server) in config.servers.iter().enumerate() {
        namespace::check_prefix(&server.prefix)?;
        if config.servers.iter().take(place).any(|other| other.prefix == server.prefix) {
            let message = "another server has the same prefix".to_owned();
            return Err(Error::Settings { server: server.prefix.clone(), message });
        }
    }
    let shared: Vec<Arc<Shared>> = config.servers.into_iter().map(Shared::new).collect();
    let attempts = join_all(shared.iter().map(|shared| async move {
        let required = shared.server.settings.required;
        let limit = shared.server.settings.connect_timeout.min(grace);
        let attempt = Box::pin(connect::connect(shared));
        let result = if required {
            attempt.await
        } else {
            tokio::time::timeout(limit, attempt)
                .await
                .unwrap_or_else(|_late| Err(Error::Timeout { server: shared.server.prefix.clone(), limit }))
        };
        match result {
            Ok(connection) => Attempt::Made(Box::new(connection)),
            Err(error) => Attempt::Failed(error),
        }
    }))
    .await;
    let mut connected = Connected { clients: Vec::new(), failures: Vec::new() };
    for (shared, attempt) in shared.into_iter().zip(attempts) {
        let server = shared.server.prefix.clone();
        match attempt {
            Attempt::Made(connection) => connected.clients.push(supervise::spawn(shared, Some(*connection))),
            Attempt::Failed(error) if shared.server.settings.required => return Err(error),
            Attempt::Failed(error) => {
                tracing::warn!(server, %error, "an MCP server is not connected");
                supervise::note_failure(&shared, &error);
                connected.clients.push(supervise::spawn(shared, None));
                connected.failures.push(Failure { server, error });
            }
        }
    }
    let mut names = Names::default();
    for client in &connected.clients {
        for tool in client.tools().tools {
            if let Some(origin) = &tool.spec().origin {
                names.give(&origin.source, &origin.name)?;
            }
        }
    }
    Ok(connected)
}
