//! How a server is reached, and what is allowed to it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{Clock, SystemClock};
use secrecy::SecretString;

use super::{McpClient, Named, connect, supervise};
use crate::error::Error;
use crate::namespace;
use crate::pin::Pins;

/// How a server is reached and what is allowed to it: made by [`McpClient::stdio`], [`McpClient::http`] or a
/// [`McpConfig`](crate::McpConfig).
///
/// | setting | default | |
/// |---|---|---|
/// | [`connect_timeout`](Self::connect_timeout) | 30 s | start, handshake and list of tools, each |
/// | [`idle_timeout`](Self::idle_timeout) | 60 s | a call without answer and without progress (T6) |
/// | [`total_timeout`](Self::total_timeout) | 10 min | a call, however much progress it reports |
/// | [`shutdown_timeout`](Self::shutdown_timeout) | 4 s | a program that is asked to end |
/// | [`trust_annotations`](Self::trust_annotations) | not | whether "read only" and "idempotent" are believed (M8) |
/// | [`required`](Self::required) | not | whether [`connect_all`](crate::connect_all) fails without it (M7) |
/// | [`pins`](Self::pins) | none | where approved definitions are kept (M8) |
#[derive(Debug, Clone)]
#[must_use = "a server does nothing until it is connected"]
pub struct McpServer<T = Transport> {
    pub(crate) prefix: String,
    pub(crate) transport: T,
    pub(crate) settings: Settings,
}

/// How a server is spoken to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Transport {
    /// A program on this machine.
    Stdio(Stdio),
    /// An address.
    Http(Http),
}

/// A program that is started and spoken to over its standard input and output.
#[derive(Debug, Clone)]
pub struct Stdio {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Named,
    pub(crate) cwd: Option<PathBuf>,
}

/// An address that is spoken to over Streamable HTTP.
#[derive(Debug, Clone)]
pub struct Http {
    pub(crate) url: String,
    pub(crate) bearer: Option<SecretString>,
    pub(crate) headers: Named,
}

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) total_timeout: Duration,
    pub(crate) shutdown_timeout: Duration,
    pub(crate) trust_annotations: bool,
    pub(crate) required: bool,
    pub(crate) only: Option<Vec<String>>,
    pub(crate) without: Vec<String>,
    pub(crate) pins: Option<Pins>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(60),
            total_timeout: Duration::from_secs(600),
            shutdown_timeout: Duration::from_secs(4),
            trust_annotations: false,
            required: false,
            only: None,
            without: Vec::new(),
            pins: None,
            clock: Arc::new(SystemClock),
        }
    }
}

impl Stdio {
    pub(crate) fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), args: Vec::new(), env: Vec::new(), cwd: None }
    }
}

impl Http {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), bearer: None, headers: Vec::new() }
    }
}

impl From<Stdio> for Transport {
    fn from(stdio: Stdio) -> Self {
        Self::Stdio(stdio)
    }
}

impl From<Http> for Transport {
    fn from(http: Http) -> Self {
        Self::Http(http)
    }
}

impl McpServer<Stdio> {
    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.transport.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.transport.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Gives it an environment variable. Without this it sees only what a program needs to run: `PATH`, `HOME` and the
    /// like, never a key of yours (M8).
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.transport.env.push((name.into(), SecretString::from(value.into())));
        self
    }

    /// Says in which folder it runs.
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        self.transport.cwd = Some(folder.into());
        self
    }
}

impl McpServer<Http> {
    /// Sends a bearer token with every request.
    pub fn bearer(mut self, token: SecretString) -> Self {
        self.transport.bearer = Some(token);
        self
    }

    /// Sends a header with every request. Its value is treated as a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.transport.headers.push((name.into(), SecretString::from(value.into())));
        self
    }
}

impl<T: Into<Transport>> McpServer<T> {
    pub(crate) fn new(prefix: impl Into<String>, transport: T) -> Self {
        Self { prefix: prefix.into(), transport, settings: Settings::default() }
    }

    /// The prefix of its tools.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether it is required.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.settings.required
    }

    /// How long the start with the handshake may take, and each page of the list of tools.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.settings.connect_timeout = limit;
        self
    }

    /// How long a call may go without answer and without progress (T6).
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.settings.idle_timeout = limit;
        self
    }

    /// How long a call may take in all.
    pub fn total_timeout(mut self, limit: Duration) -> Self {
        self.settings.total_timeout = limit;
        self
    }

    /// How long ending may take: half of it for a program to end by itself once its standard input is closed, a quarter
    /// after it is asked to.
    pub fn shutdown_timeout(mut self, limit: Duration) -> Self {
        self.settings.shutdown_timeout = limit;
        self
    }

    /// Believes what the server says about the effects of its tools: `readOnlyHint` makes a tool
    /// [`ReadOnly`](hermes_core::Effect::ReadOnly), `idempotentHint` [`Idempotent`](hermes_core::Effect::Idempotent).
    ///
    /// Otherwise every tool is a [`SideEffect`](hermes_core::Effect::SideEffect): never repeated by itself, and asked about
    /// where that is the rule. A server that lies can only make its own calls be repeated, so this is a question of
    /// trust in the server, not of safety for the rest (T7, M8).
    pub fn trust_annotations(mut self) -> Self {
        self.settings.trust_annotations = true;
        self
    }

    /// Makes [`connect_all`](crate::connect_all) fail when it cannot be connected.
    pub fn required(mut self) -> Self {
        self.settings.required = true;
        self
    }

    /// Takes only these tools, by the server's own names.
    pub fn only_tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.settings.only = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Leaves these tools out, by the server's own names.
    pub fn without_tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.settings.without.extend(names.into_iter().map(Into::into));
        self
    }

    /// Pins the definitions of its tools: the first one seen is approved, a changed one is withheld until
    /// [`McpClient::approve`] (M8).
    pub fn pins(mut self, pins: Pins) -> Self {
        self.settings.pins = Some(pins);
        self
    }

    /// Takes the time from a clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Connects, lists the tools, and keeps the connection up.
    ///
    /// Needs a tokio runtime with time and I/O enabled, as does everything on the client.
    ///
    /// # Errors
    /// [`Error`], in one sentence that names the server. Nothing goes on in the background then.
    pub async fn connect(self) -> Result<McpClient, Error> {
        let server = self.into_any();
        namespace::check_prefix(&server.prefix)?;
        let shared = super::shared::Shared::new(server);
        // A handshake's state is large, and callers embed this future in theirs.
        let connection = Box::pin(connect::connect(&shared)).await?;
        Ok(supervise::spawn(shared, Some(connection)))
    }

    /// Gives the client at once and connects in the background, again and again with growing pauses if need be. Its tools
    /// appear when it is connected.
    ///
    /// # Errors
    /// [`Error::Prefix`].
    pub fn start(self) -> Result<McpClient, Error> {
        let server = self.into_any();
        namespace::check_prefix(&server.prefix)?;
        Ok(supervise::spawn(super::shared::Shared::new(server), None))
    }

    /// Forgets which transport it is.
    pub fn into_any(self) -> McpServer {
        McpServer { prefix: self.prefix, transport: self.transport.into(), settings: self.settings }
    }
}
