//! One attempt to connect: start or reach the server, shake hands, list the tools.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::service::{ClientInitializeError, RunningService, ServiceError};
use rmcp::{RoleClient, ServiceExt as _};

use super::handler::{Handler, Routes};
use super::health::ServerInfo;
use super::http::{self, Meaning};
use super::list::{self, ListError};
use super::process::{self, ProcessReport};
use super::server::Transport;
use super::shared::{Link, Shared};
use super::stdio::StdioTransport;
use crate::catalog::{self, Catalog};
use crate::clean;
use crate::error::Error;
use crate::pin::Pinned;

/// A connection that has just been made.
pub(crate) struct Connection {
    pub(crate) service: RunningService<RoleClient, Handler>,
    pub(crate) link: Arc<Link>,
    pub(crate) info: ServerInfo,
    pub(crate) catalog: Catalog,
}

/// Connects once. Dropping the future ends what it started.
pub(crate) async fn connect(shared: &Arc<Shared>) -> Result<Connection, Error> {
    let server = &shared.server;
    let routes = Arc::new(Routes::default());
    let handler = Handler { shared: Arc::downgrade(shared), routes: Arc::clone(&routes) };
    let limit = server.settings.connect_timeout;
    let late = |_elapsed| Error::Timeout { server: server.prefix.clone(), limit };
    let (service, process) = match &server.transport {
        Transport::Stdio(stdio) => {
            let child = process::spawn(&server.prefix, stdio)?;
            let report = Arc::new(ProcessReport::default());
            let transport = StdioTransport::new(
                server.prefix.clone(),
                child,
                Arc::clone(&report),
                server.settings.shutdown_timeout,
            )
            .map_err(|source| Error::Start {
                server: server.prefix.clone(),
                message: source.to_string(),
                source,
            })?;
            let service = tokio::time::timeout(limit, handler.serve(transport)).await.map_err(late)?;
            (service.map_err(|error| refused(&server.prefix, error, Some(&report)))?, Some(report))
        }
        Transport::Http(http) => {
            let transport = http::transport(&server.prefix, http, &server.settings)?;
            let service = tokio::time::timeout(limit, handler.serve(transport)).await.map_err(late)?;
            (service.map_err(|error| refused(&server.prefix, error, None))?, None)
        }
    };
    let link = Arc::new(Link { peer: service.peer().clone(), routes, process });
    let info = info(&service);
    let catalog = catalog(shared, &link).await?;
    Ok(Connection { service, link, info, catalog })
}

/// Lists the tools and converts them.
pub(crate) async fn catalog(shared: &Shared, link: &Link) -> Result<Catalog, Error> {
    let server = &shared.server;
    let has_tools = link.peer.peer_info().is_some_and(|info| info.capabilities.tools.is_some());
    if !has_tools {
        return Ok(Catalog::default());
    }
    let listed = list::list(&link.peer, server.settings.connect_timeout)
        .await
        .map_err(|error| unlisted(&server.prefix, error, link.process.as_deref()))?;
    let mut withheld = BTreeSet::new();
    if let Some(pins) = &server.settings.pins {
        for (tool, seen) in catalog::fingerprints(&listed.tools) {
            let pinned = pins
                .check(&server.prefix, &tool, &seen, server.settings.clock.as_ref())
                .await
                .map_err(|source| Error::Pins { server: server.prefix.clone(), source })?;
            if pinned == Pinned::Changed {
                withheld.insert(tool);
            }
        }
    }
    catalog::build(&server.prefix, &server.settings, listed.tools, listed.odd, &withheld)
}

fn info(service: &RunningService<RoleClient, Handler>) -> ServerInfo {
    let Some(peer) = service.peer().peer_info() else { return ServerInfo::default() };
    let mut info = ServerInfo {
        protocol: peer.protocol_version.to_string(),
        instructions: peer
            .instructions
            .as_deref()
            .map(|text| clean::description(text, clean::MAX_DESCRIPTION))
            .filter(|text| !text.is_empty()),
        ..ServerInfo::default()
    };
    if let Some(server) = &peer.server_info {
        info.name = clean::description(&server.name, clean::MAX_NAME);
        info.version = clean::description(&server.version, clean::MAX_NAME);
    }
    info
}

/// Why the handshake failed.
fn refused(prefix: &str, error: ClientInitializeError, process: Option<&ProcessReport>) -> Error {
    let server = prefix.to_owned();
    match error {
        ClientInitializeError::TransportError { ref error, .. } => {
            match http::meaning(error.error.as_ref()) {
                _ if process.is_some() => {
                    Error::Unreachable { server, message: ended(process), source: None }
                }
                Meaning::Unauthorized(message) => Error::Unauthorized { server, message },
                Meaning::Refused(message) => {
                    let message = format!("{message}; check its address");
                    Error::Protocol { server, message, source: None }
                }
                Meaning::NotRun { message, .. } | Meaning::Unknown(message) => {
                    Error::Unreachable { server, message, source: None }
                }
            }
        }
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => {
            Error::Unreachable { server, message: ended(process), source: None }
        }
        ClientInitializeError::JsonRpcError(error) => {
            let said = clean::message(&error.message);
            Error::Protocol { server, message: format!("it refused the handshake: {said}"), source: None }
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            let message = "it supports no version of the protocol that is known here".to_owned();
            Error::Protocol { server, message, source: None }
        }
        other => {
            let message = "its answer to the handshake is none".to_owned();
            Error::Protocol { server, message, source: Some(Box::new(other)) }
        }
    }
}

/// Why the tools could not be listed.
fn unlisted(prefix: &str, error: ListError, process: Option<&ProcessReport>) -> Error {
    let server = prefix.to_owned();
    match error {
        ListError::Malformed => {
            Error::Protocol { server, message: "its list of tools is none".to_owned(), source: None }
        }
        ListError::Service(ServiceError::Timeout { timeout }) => Error::Timeout { server, limit: timeout },
        ListError::Service(ServiceError::McpError(error)) => {
            let said = clean::message(&error.message);
            Error::Protocol { server, message: format!("it does not list its tools: {said}"), source: None }
        }
        ListError::Service(error) => {
            let message =
                if process.is_some() { ended(process) } else { "the connection broke off".to_owned() };
            Error::Unreachable { server, message, source: Some(Box::new(error)) }
        }
    }
}

fn ended(process: Option<&ProcessReport>) -> String {
    process.map_or_else(|| "it closed the connection".to_owned(), ProcessReport::sentence)
}
