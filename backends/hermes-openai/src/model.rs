//! The chat model.

use std::sync::Arc;

use async_trait::async_trait;
use hermes_core::{ChatModel, ChatRequest, ChatStream, Clock, ModelError, ModelInfo, Tokens};
use reqwest::Method;

use crate::client::Client;
use crate::config::{DEFAULT_CONTEXT_WINDOW, DEFAULT_MAX_OUTPUT, OpenAiConfig, is_openai, known};
use crate::listing::{ListedModel, list};
use crate::reply;
use crate::request::{self, Dialect};

/// A chat model behind `/v1/chat/completions` of any compatible service.
///
/// It asks once and does not try again: whoever asks knows better what a second try costs, and has the error to decide by
/// ([`ModelError::is_transient`], [`ModelError::retry_after`]). Only a connection that is closed before a byte of the answer has
/// come is replaced by another, once, as HTTP clients do with connections that have grown old. Dropping an answer's stream ends the request.
///
/// All models of a process with the same connect timeout share their connections, for each runtime by itself.
#[derive(Debug, Clone)]
pub struct OpenAiModel {
    info: ModelInfo,
    dialect: Dialect,
    client: Client,
}

impl OpenAiModel {
    /// A model as configured. Nothing is asked of the service yet.
    ///
    /// # Errors
    /// [`ModelError::Config`] when the configuration names no model or no usable address.
    pub fn new(config: &OpenAiConfig) -> Result<Self, ModelError> {
        named(config)?;
        Ok(Self::over(config, Client::new(&config.endpoint)?))
    }

    /// A model whose requests go through a client of the caller's, who then decides about TLS, proxies and the connect timeout.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_client(config: &OpenAiConfig, http: reqwest::Client) -> Result<Self, ModelError> {
        named(config)?;
        Ok(Self::over(config, Client::with_http(&config.endpoint, http)?))
    }

    /// The model that `OPENAI_MODEL` names, at `OPENAI_BASE_URL` (or OpenAI itself) with `OPENAI_API_KEY`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn from_env() -> Result<Self, ModelError> {
        Self::new(&OpenAiConfig::from_env())
    }

    /// A model as the service lists it: its first when the configuration names none, and with the context window it says.
    ///
    /// # Errors
    /// [`ModelError`] when the service cannot be asked, or when no model is named and it has none.
    pub async fn connect(config: &OpenAiConfig) -> Result<Self, ModelError> {
        let client = Client::new(&config.endpoint)?;
        let models = list(&client).await?;
        let mut config = config.clone();
        if config.model.is_empty() {
            let first = models.first().ok_or_else(|| no_model("the service has no model: load one"))?;
            config.model.clone_from(&first.id);
        }
        let listed = models.into_iter().find(|listed| listed.id == config.model);
        config.context_window = config.context_window.or(listed.and_then(|listed| listed.context_window));
        Ok(Self::over(&config, client))
    }

    /// Sets the clock by which a date in `Retry-After` becomes a time to wait.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.client.set_clock(clock);
        self
    }

    /// The models of this model's service.
    ///
    /// # Errors
    /// As [`crate::models`].
    pub async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        list(&self.client).await
    }

    fn over(config: &OpenAiConfig, client: Client) -> Self {
        let url = client.base();
        let known = known(url, &config.model);
        let (window, output) = known.unwrap_or((DEFAULT_CONTEXT_WINDOW, DEFAULT_MAX_OUTPUT));
        let window = config.context_window.map_or(window, Tokens::get);
        let output = config.max_output.unwrap_or_else(|| Tokens::new(output.min(window / 2)));
        let host = url.host_str().unwrap_or_default();
        let place = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let info = ModelInfo {
            provider: config.provider.clone().unwrap_or(place),
            id: config.model.clone(),
            context_window: Tokens::new(window),
            max_output: output,
        };
        let dialect = Dialect {
            empty_content: config.empty_content,
            output_limit: config.output_limit,
            is_openai: is_openai(url),
            stream_usage: config.stream_usage,
        };
        Self { info, dialect, client }
    }
}

fn named(config: &OpenAiConfig) -> Result<(), ModelError> {
    if config.model.trim().is_empty() {
        return Err(no_model("no model is named: set OPENAI_MODEL or `model`"));
    }
    Ok(())
}

fn no_model(reason: &str) -> ModelError {
    ModelError::Config { reason: reason.to_owned() }
}

#[async_trait]
impl ChatModel for OpenAiModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let bytes = request::write(&request, &self.info, &self.dialect)?;
        // The history is not held while the answer comes.
        drop(request);
        let body = self.client.send(Method::POST, "chat/completions", bytes).await?;
        reply::events(body, self.client.secrets()).await
    }
}
