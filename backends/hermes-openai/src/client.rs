//! HTTP: one client for all, with limits on time and size.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use hermes_core::{Clock, ModelError, SystemClock};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Response, Url, redirect};
use secrecy::ExposeSecret;
use tokio::runtime;

use crate::config::{Endpoint, shown};
use crate::error::{Complaint, Secrets, redirected, retry_after};

/// The most bytes of an answer that are read: far above any real one, and a bound for a server that never ends.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// The most bytes of an error's body that are read.
const MAX_ERROR: usize = 64 * 1024;

/// The byte order mark of UTF-8, which a stream of events may begin with.
const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// The most clients that are kept: more than a program has runtimes and timeouts, and a bound where runtimes come and go.
const MAX_SHARED: usize = 16;

/// The clients of this process. Making one loads the system's certificates, and connections are shared within one only.
static SHARED: Mutex<Vec<(Kind, reqwest::Client)>> = Mutex::new(Vec::new());

/// What clients differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    /// A connection lives on the runtime that made it and ends with it, in the middle of another's answer.
    runtime: Option<runtime::Id>,
    connect_timeout: Duration,
    /// No proxy stands before a service on this machine, whatever the environment says.
    local: bool,
}

fn shared(kind: Kind) -> Result<reqwest::Client, ModelError> {
    let mut clients = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, client)) = clients.iter().find(|(known, _)| *known == kind) {
        return Ok(client.clone());
    }
    // Without a provider for TLS the client would panic. Whoever installed one before us keeps it.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let builder = reqwest::Client::builder();
    let client = if kind.local { builder.no_proxy() } else { builder }
        .connect_timeout(kind.connect_timeout)
        .redirect(redirect::Policy::none())
        .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ModelError::Config { reason: format!("no HTTP client could be made: {error}") })?;
    if clients.len() >= MAX_SHARED {
        clients.remove(0);
    }
    clients.push((kind, client.clone()));
    Ok(client)
}

/// Where requests go through.
#[derive(Clone)]
enum Http {
    /// A client of the caller's.
    Given(reqwest::Client),
    /// The shared client of the runtime that asks.
    Shared { connect_timeout: Duration, local: bool },
}

impl Http {
    fn client(&self) -> Result<reqwest::Client, ModelError> {
        match self {
            Self::Given(client) => Ok(client.clone()),
            Self::Shared { connect_timeout, local } => {
                let runtime = runtime::Handle::try_current().ok().map(|handle| handle.id());
                shared(Kind { runtime, connect_timeout: *connect_timeout, local: *local })
            }
        }
    }
}

/// A service that can be asked.
#[derive(Clone)]
pub(crate) struct Client {
    http: Http,
    base: Url,
    headers: HeaderMap,
    secrets: Secrets,
    first_byte: Duration,
    idle: Duration,
    clock: Arc<dyn Clock>,
}

impl Client {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, ModelError> {
        let local = is_local(&endpoint.url()?);
        let http = Http::Shared { connect_timeout: endpoint.connect_timeout, local };
        let client = Self::over(endpoint, http)?;
        // On a runtime the client is made now, so that the first request does not wait for the certificates.
        if runtime::Handle::try_current().is_ok() {
            client.http.client()?;
        }
        Ok(client)
    }

    pub(crate) fn with_http(endpoint: &Endpoint, http: reqwest::Client) -> Result<Self, ModelError> {
        Self::over(endpoint, Http::Given(http))
    }

    fn over(endpoint: &Endpoint, http: Http) -> Result<Self, ModelError> {
        let base = endpoint.url()?;
        let key = endpoint.api_key.as_ref().filter(|key| !key.expose_secret().is_empty());
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.insert(AUTHORIZATION, header("api_key", &format!("Bearer {}", key.expose_secret()))?);
            if base.scheme() == "http" && !is_local(&base) {
                tracing::warn!(url = %shown(&base), "the key is sent without encryption");
            }
        }
        for (name, value) in
            [("openai-organization", &endpoint.organization), ("openai-project", &endpoint.project)]
        {
            if let Some(value) = value {
                headers.insert(HeaderName::from_static(name), header(name, value)?);
            }
        }
        for (name, value) in &endpoint.headers {
            let parsed = HeaderName::try_from(name.as_str())
                .map_err(|_| ModelError::Config { reason: format!("{name:?} is no name of a header") })?;
            headers.insert(parsed, header(name, value.expose_secret())?);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self {
            http,
            base,
            headers,
            secrets: Secrets::new(key.into_iter().chain(endpoint.headers.values())),
            first_byte: endpoint.first_byte_timeout,
            idle: endpoint.idle_timeout,
            clock: Arc::new(SystemClock),
        })
    }

    pub(crate) fn set_clock(&mut self, clock: Arc<dyn Clock>) {
        self.clock = clock;
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Asks, and gives the answer once its head has come and says that all is well.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Body, ModelError> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let body = Bytes::from(body);
        let http = self.http.client()?;
        let response = match self.attempt(&http, &method, &url, &body).await? {
            Ok(response) => response,
            // The connection was closed before a byte of the answer came. llama.cpp closes one after each stream, though it
            // says that it will not, and who asks again at once meets the end of it. Another connection is tried, once.
            Err(error) if error.is_request() && !error.is_connect() && !error.is_timeout() => {
                tracing::debug!(url = %shown(&url), "the connection was closed: trying another");
                self.attempt(&http, &method, &url, &body)
                    .await?
                    .map_err(|error| self.transport(error, &url))?
            }
            Err(error) => return Err(self.transport(error, &url)),
        };
        let status = response.status();
        tracing::debug!(url = %shown(&url), status = status.as_u16(), "the service answers");
        if status.is_success() {
            return Ok(Body::new(response, self));
        }
        if status.is_redirection() {
            return Err(redirected(status, &shown(&url)));
        }
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let wait = retry_after(header, self.clock.now());
        // A body that breaks off says less, and the status is an answer all the same.
        let body = Body::new(response, self).read(MAX_ERROR).await.unwrap_or_default();
        let complaint = Complaint::read(&self.secrets.hide(&String::from_utf8_lossy(&body)));
        Err(complaint.into_error(status.as_u16(), wait))
    }

    async fn attempt(
        &self,
        http: &reqwest::Client,
        method: &Method,
        url: &Url,
        body: &Bytes,
    ) -> Result<reqwest::Result<Response>, ModelError> {
        let request =
            http.request(method.clone(), url.clone()).headers(self.headers.clone()).body(body.clone());
        tokio::time::timeout(self.first_byte, request.send())
            .await
            .map_err(|_| ModelError::TimedOut { waited: self.first_byte })
    }

    pub(crate) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    fn transport(&self, error: reqwest::Error, url: &Url) -> ModelError {
        // The address may hold a key in its query.
        let error = error.without_url();
        if error.is_connect() {
            return ModelError::Unreachable { url: shown(url), source: Box::new(error) };
        }
        if error.is_timeout() {
            return ModelError::TimedOut { waited: self.first_byte };
        }
        if error.is_builder() {
            return ModelError::Config { reason: error.to_string() };
        }
        ModelError::Interrupted { source: Some(Box::new(error)) }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &shown(&self.base)).finish_non_exhaustive()
    }
}

fn header(name: &str, value: &str) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| ModelError::Config {
        reason: format!("the value of {name} holds characters that a header cannot have"),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_local(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "[::1]"))
        || url.host_str().is_some_and(|host| host.starts_with("127."))
}

/// The body of an answer, read piece by piece within the limits.
pub(crate) struct Body {
    response: Response,
    /// How long the next piece may take.
    wait: Duration,
    idle: Duration,
    read: usize,
}

impl Body {
    fn new(response: Response, client: &Client) -> Self {
        Self { response, wait: client.first_byte, idle: client.idle, read: 0 }
    }

    /// Whether the service says that the body is one JSON value.
    pub(crate) fn is_json(&self) -> bool {
        let kind = self.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json") || kind.to_ascii_lowercase().ends_with("+json")
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        let wait = self.wait;
        let piece = tokio::time::timeout(wait, self.response.chunk()).await;
        let piece = piece.map_err(|_| ModelError::TimedOut { waited: wait })?;
        let piece =
            piece.map_err(|error| ModelError::Interrupted { source: Some(Box::new(error.without_url())) })?;
        self.wait = self.idle;
        self.read = self.read.saturating_add(piece.as_ref().map_or(0, Bytes::len));
        if self.read > MAX_ANSWER {
            return Err(ModelError::BadResponse {
                reason: format!("the answer is longer than {MAX_ANSWER} bytes"),
            });
        }
        Ok(piece)
    }

    /// The whole body; what is beyond `limit` bytes is left off.
    pub(crate) async fn read(mut self, limit: usize) -> Result<Vec<u8>, ModelError> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await? {
            whole.extend_from_slice(&piece);
            if whole.len() >= limit {
                whole.truncate(limit);
                break;
            }
        }
        Ok(whole)
    }

    /// The whole body.
    pub(crate) async fn read_all(self) -> Result<Vec<u8>, ModelError> {
        self.read(usize::MAX).await
    }

    /// The pieces as a parser of events wants them: without a byte order mark, on which it would panic, and with an empty line
    /// at the end, so that a last event without one is not lost.
    pub(crate) fn into_pieces(self) -> impl Stream<Item = Result<Bytes, ModelError>> + Send {
        let state = Pieces { body: Some(self), begun: false };
        unfold(state, |mut state| async move { Some((state.next().await?, state)) })
    }
}

struct Pieces {
    body: Option<Body>,
    begun: bool,
}

impl Pieces {
    async fn next(&mut self) -> Option<Result<Bytes, ModelError>> {
        let body = self.body.as_mut()?;
        let mut head = Vec::new();
        loop {
            match body.next().await {
                Ok(Some(piece)) if self.begun => return Some(Ok(piece)),
                Ok(Some(piece)) => {
                    head.extend_from_slice(&piece);
                    if head.len() < BOM.len() && BOM.starts_with(&head) {
                        continue;
                    }
                    self.begun = true;
                    let rest = head.strip_prefix(&BOM).unwrap_or(&head);
                    return Some(Ok(Bytes::copy_from_slice(rest)));
                }
                Ok(None) => {
                    self.body = None;
                    head.extend_from_slice(b"\n\n");
                    return Some(Ok(Bytes::from(head)));
                }
                Err(error) => {
                    self.body = None;
                    return Some(Err(error));
                }
            }
        }
    }
}
