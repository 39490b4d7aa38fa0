//! Servers and the connections to them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use hermes_core::{
    CallContext, CancelHandle, JsonText, SkippedTool, SourceTools, Tool, ToolError, ToolSource,
};
use secrecy::SecretString;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::tool::McpTool;

mod all;
mod call;
mod connect;
mod handler;
mod health;
mod http;
mod list;
mod process;
mod server;
mod shared;
mod stdio;
mod supervise;

pub use all::{Connected, Failure, connect_all};
pub use health::{Health, ServerInfo};
pub(crate) use server::Settings;
pub use server::{Http, McpServer, Stdio, Transport};
use shared::Shared;

/// A connection to a server that is kept up: its tools, its health, and calls.
///
/// Clones are the same connection. It ends when the last clone, and the last tool taken from it, is dropped, or by
/// [`McpClient::shutdown`].
#[derive(Clone)]
pub struct McpClient(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    stop: CancelHandle,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl McpClient {
    /// A server that is a program on this machine, spoken to over its standard input and output.
    ///
    /// `prefix` begins the names of its tools; see [`McpServer`] for the settings.
    pub fn stdio(prefix: impl Into<String>, command: impl Into<String>) -> McpServer<Stdio> {
        McpServer::new(prefix, Stdio::new(command))
    }

    /// A server at an address, spoken to over Streamable HTTP: the way for deployed agents.
    pub fn http(prefix: impl Into<String>, url: impl Into<String>) -> McpServer<Http> {
        McpServer::new(prefix, Http::new(url))
    }

    /// The prefix of its tools.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.0.shared.server.prefix
    }

    /// What the server said about itself when it was last connected; `None` before that.
    #[must_use]
    pub fn info(&self) -> Option<ServerInfo> {
        self.0.shared.state.borrow().info.clone()
    }

    /// How the connection is.
    #[must_use]
    pub fn health(&self) -> Health {
        self.0.shared.state.borrow().health.clone()
    }

    /// Waits until the health is another than `seen`, and gives it.
    pub async fn health_changed(&self, seen: &Health) -> Health {
        let mut states = self.0.shared.state.subscribe();
        match states.wait_for(|state| state.health != *seen).await {
            Ok(state) => state.health.clone(),
            Err(_closed) => Health::Closed,
        }
    }

    /// The tools that the server offers and that cannot be used, with the reason (M2, M8).
    #[must_use]
    pub fn skipped(&self) -> Vec<SkippedTool> {
        self.0.shared.state.borrow().skipped.clone()
    }

    /// Calls a tool by the server's own name for it and gives the server's result as it came, uncleaned.
    ///
    /// No argument is checked and no prefix applies; the pins are not asked. For programs, not for models.
    ///
    /// # Errors
    /// As [`Tool::call`], but a result that says `isError` is a result here.
    pub async fn raw_call(
        &self,
        tool: &str,
        arguments: JsonText,
        context: Option<&CallContext>,
    ) -> Result<JsonText, ToolError> {
        let result = call::call(&self.0.shared, tool, &arguments, context).await?;
        Ok(JsonText::from(&result))
    }

    /// Approves the present definition of a tool, by the server's own name, after it changed (M8).
    ///
    /// # Errors
    /// [`Error::NoSuchTool`], [`Error::Settings`] when no pins are set, [`Error::Pins`].
    pub async fn approve(&self, tool: &str) -> Result<(), Error> {
        let shared = &self.0.shared;
        let server = || self.prefix().to_owned();
        let Some(pins) = &shared.server.settings.pins else {
            let message = "its tools are not pinned, so there is nothing to approve".to_owned();
            return Err(Error::Settings { server: server(), message });
        };
        let seen = shared.state.borrow().offered.get(tool).cloned();
        let Some(seen) = seen else {
            return Err(Error::NoSuchTool { server: server(), tool: tool.to_owned() });
        };
        pins.approve(self.prefix(), tool, &seen, shared.server.settings.clock.as_ref())
            .await
            .map_err(|source| Error::Pins { server: server(), source })?;
        shared.relist.notify_one();
        Ok(())
    }

    /// Ends the connection: a program has its standard input closed, then is asked to end, then is ended, within the time
    /// set by [`McpServer::shutdown_timeout`]. Calls that are under way fail. Afterwards the client has no tools left to run.
    pub async fn shutdown(&self) {
        self.0.stop.cancel();
        let task = self.0.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            // The task bounds itself.
            let _ = task.await;
        }
    }

    fn from_parts(shared: Arc<Shared>, stop: CancelHandle, task: JoinHandle<()>) -> Self {
        Self(Arc::new(Inner { shared, stop, task: Mutex::new(Some(task)) }))
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &JsonText,
        context: &CallContext,
    ) -> Result<serde_json::Value, ToolError> {
        call::call(&self.0.shared, tool, arguments, Some(context)).await
    }
}

#[async_trait]
impl ToolSource for McpClient {
    fn name(&self) -> &str {
        self.prefix()
    }

    fn tools(&self) -> SourceTools {
        let state = self.0.shared.state.borrow();
        let tools = state
            .definitions
            .iter()
            .map(|definition| Arc::new(McpTool::new(self.clone(), Arc::clone(definition))) as Arc<dyn Tool>)
            .collect();
        SourceTools { generation: state.generation, tools, skipped: state.skipped.clone() }
    }

    async fn changed(&self, after: u64) {
        let mut states = self.0.shared.state.subscribe();
        if states.wait_for(|state| state.generation > after).await.is_err() {
            // The sender lives in `self`, so this is not reached.
            std::future::pending::<()>().await;
        }
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient")
            .field("prefix", &self.prefix())
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}

/// A header or variable whose value is not shown.
pub(crate) type Named = Vec<(String, SecretString)>;
