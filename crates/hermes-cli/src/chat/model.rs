//! Finding a model to talk to.

use std::time::Duration;

use hermes::core::Tokens;
use hermes::openai::{Endpoint, OpenAiConfig, OpenAiModel, models};

use super::config::Config;
use crate::error::Error;

/// The addresses where local servers usually listen: llama.cpp, Ollama, LM Studio, vLLM.
pub(crate) const USUAL: [&str; 4] =
    ["http://127.0.0.1:8080", "http://127.0.0.1:11434", "http://127.0.0.1:1234", "http://127.0.0.1:8000"];

/// How long a local server may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) async fn connect(config: &Config) -> Result<OpenAiModel, Error> {
    let mut openai = OpenAiConfig::new(endpoint(config).await?, config.model.clone().unwrap_or_default());
    openai.max_output = config.max_output.map(Tokens::new);
    Ok(OpenAiModel::connect(&openai).await?)
}

/// The service that is configured, else OpenAI where there is a key, else a local server.
async fn endpoint(config: &Config) -> Result<Endpoint, Error> {
    let mut endpoint = match (&config.base_url, &config.api_key) {
        (Some(url), _) => Endpoint::new(url),
        (None, Some(_)) => Endpoint::default(),
        (None, None) => local(&config.local_servers).await?,
    };
    if let Some(key) = &config.api_key {
        endpoint = endpoint.with_api_key(key.as_str());
    }
    Ok(endpoint)
}

/// The first local server that answers and has a model.
async fn local(addresses: &[String]) -> Result<Endpoint, Error> {
    for url in addresses {
        let mut endpoint = Endpoint::new(url);
        endpoint.connect_timeout = PATIENCE;
        endpoint.first_byte_timeout = PATIENCE;
        if models(&endpoint).await.is_ok_and(|models| !models.is_empty()) {
            return Ok(Endpoint::new(url));
        }
    }
    Err(Error::NoModel { tried: addresses.to_vec() })
}
