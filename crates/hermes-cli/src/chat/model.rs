//! Finding a model to talk to.

use std::time::Duration;

use hermes::core::Tokens;
use hermes::openai::{Endpoint, OpenAiConfig, OpenAiModel, models};

use super::config::Config;
use crate::error::Error;
use crate::output::warn;

/// The addresses where local servers usually listen: llama.cpp, Ollama, LM Studio, vLLM.
const USUAL: [&str; 4] = ["http://127.0.0.1:8080", "http://127.0.0.1:11434", "http://127.0.0.1:1234", "http://127.0.0.1:8000"];

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
        (None, None) => local().await?,
    };
    if let Some(key) = &config.api_key {
        endpoint = endpoint.with_api_key(key.as_str());
    }
    Ok(endpoint)
}

async fn local() -> Result<Endpoint, Error> {
    for url in USUAL {
        let mut endpoint = Endpoint::new(url);
        endpoint.connect_timeout = PATIENCE;
        endpoint.first_byte_timeout = PATIENCE;
        if models(&endpoint).await.is_ok_and(|models| !models.is_empty()) {
            return Ok(Endpoint::new(url));
        }
    }
    warn("No model is configured, and no local server answers on the usual ports (8080, 11434, 1234, 8000).");
    warn("Start one, such as `llama-server -m model.gguf --jinja` or `ollama serve`, and run this again;");
    warn("or name one: `--base-url URL`, or set OPENAI_API_KEY (and OPENAI_BASE_URL for another service).");
    Err(Error::NoModel)
}
