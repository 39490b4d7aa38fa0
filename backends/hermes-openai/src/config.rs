//! Where a service is and how it is spoken to.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hermes_core::{ModelError, Tokens};
use reqwest::Url;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer};

/// The address that is taken when none is given.
const OPENAI: &str = "https://api.openai.com/v1";

/// The context window of a model that nothing is known of, in tokens: what small local servers are commonly started with. Say
/// the real one in [`OpenAiConfig::context_window`], or let [`crate::OpenAiModel::connect`] ask the server.
pub(crate) const DEFAULT_CONTEXT_WINDOW: u32 = 8_192;

/// The longest answer of a model that nothing is known of, in tokens.
pub(crate) const DEFAULT_MAX_OUTPUT: u32 = 4_096;

/// A service: its address, its key, and how long it is waited for.
///
/// Made by [`Endpoint::new`] or read from a configuration file; durations are written there as seconds.
#[derive(Clone, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Endpoint {
    /// The address, with or without `/v1`, such as `http://127.0.0.1:8080`. Credentials in it are refused.
    pub base_url: String,
    /// The key, sent as a bearer token; local servers need none.
    pub api_key: Option<SecretString>,
    /// The organisation, sent as `OpenAI-Organization`.
    pub organization: Option<String>,
    /// The project, sent as `OpenAI-Project`.
    pub project: Option<String>,
    /// Further headers. Their values are taken for secrets.
    pub headers: BTreeMap<String, SecretString>,
    /// How long making a connection may take; 10 s unless set.
    #[serde(rename = "connect_timeout_secs", deserialize_with = "seconds")]
    pub connect_timeout: Duration,
    /// How long the answer's head, and then its first byte, may each take; 120 s unless set, since a local model reads the whole
    /// prompt before it says anything.
    #[serde(rename = "first_byte_timeout_secs", deserialize_with = "seconds")]
    pub first_byte_timeout: Duration,
    /// How long a pause within an answer may be; 60 s unless set.
    #[serde(rename = "idle_timeout_secs", deserialize_with = "seconds")]
    pub idle_timeout: Duration,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            base_url: OPENAI.to_owned(),
            api_key: None,
            organization: None,
            project: None,
            headers: BTreeMap::new(),
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(60),
        }
    }
}

impl Endpoint {
    /// A service without a key and with the usual patience.
    #[must_use]
    pub fn new(base_url: impl Into<String>) -> Self {
        Self { base_url: base_url.into(), ..Self::default() }
    }

    /// Sets the key; an empty one is none.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<SecretString>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<SecretString>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// The service that `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `OPENAI_ORG_ID` and `OPENAI_PROJECT_ID` name; without the first,
    /// OpenAI's own.
    #[must_use]
    pub fn from_env() -> Self {
        Self::from_lookup(environment)
    }

    fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            base_url: lookup("OPENAI_BASE_URL").unwrap_or_else(|| OPENAI.to_owned()),
            api_key: lookup("OPENAI_API_KEY").map(Into::into),
            organization: lookup("OPENAI_ORG_ID"),
            project: lookup("OPENAI_PROJECT_ID"),
            ..Self::default()
        }
    }

    /// The address in its one form: `/v1` where there was no path, no slash at the end.
    pub(crate) fn url(&self) -> Result<Url, ModelError> {
        let refuse = |reason: &str| Err(ModelError::Config { reason: format!("the base URL {reason}") });
        // The address is quoted nowhere: what stands in it may be a password.
        let Ok(mut url) = Url::parse(self.base_url.trim()) else {
            return refuse("is not an address: write it like http://127.0.0.1:8080/v1");
        };
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return refuse("has to begin with http:// or https:// and name a host");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("holds credentials: give the key by itself");
        }
        if url.fragment().is_some() {
            return refuse("has a part behind '#', which no service reads: leave it out");
        }
        let path = url.path().trim_end_matches('/');
        let path = path
            .strip_suffix("/chat/completions")
            .or_else(|| path.strip_suffix("/embeddings"))
            .unwrap_or(path);
        let path = if path.is_empty() { "/v1".to_owned() } else { path.to_owned() };
        url.set_path(&path);
        Ok(url)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &self.url().map_or_else(|_| "(unusable)".to_owned(), |url| shown(&url)))
            .field("api_key", &self.api_key.as_ref().map(|_| "(hidden)"))
            .field("organization", &self.organization)
            .field("project", &self.project)
            .field("headers", &self.headers.keys())
            .field("connect_timeout", &self.connect_timeout)
            .field("first_byte_timeout", &self.first_byte_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .finish()
    }
}

/// An address as it may be shown: without credentials and without a query, which may hold a key.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    // Both fail only for addresses that cannot have credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// How the missing text beside calls is written: the services differ in what they refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmptyContent {
    /// `"content": null`, as OpenAI documents it.
    #[default]
    Null,
    /// `"content": ""`.
    EmptyString,
    /// No such field.
    Omit,
}

/// The name of the field that limits the answer's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputLimit {
    /// `max_tokens`, which nearly all compatible servers know.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models demand.
    MaxCompletionTokens,
}

/// A chat model: its service, its name there, and the service's ways.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct OpenAiConfig {
    /// The service.
    #[serde(flatten)]
    pub endpoint: Endpoint,
    /// The model's name. [`crate::OpenAiModel::connect`] takes the server's first when this is empty.
    pub model: String,
    /// The name of the service under which opaque data such as reasoning is kept and given back; its host and port unless set.
    pub provider: Option<String>,
    /// How many tokens request and answer may have together. Unless set: what is known of OpenAI's models, what
    /// [`crate::OpenAiModel::connect`] finds, or 8,192.
    pub context_window: Option<Tokens>,
    /// How many tokens an answer may have. Unless set: what is known of OpenAI's models, or 4,096, and never more than half of
    /// the context window.
    pub max_output: Option<Tokens>,
    /// How missing text beside calls is written.
    pub empty_content: EmptyContent,
    /// The field that limits the answer; unless set `max_completion_tokens` for OpenAI itself and `max_tokens` for all others.
    pub output_limit: Option<OutputLimit>,
    /// Whether usage is asked for with `stream_options`, which a few old servers refuse; true unless set.
    pub stream_usage: bool,
}

impl Default for OpenAiConfig {
    fn default() -> Self {
        Self {
            endpoint: Endpoint::default(),
            model: String::new(),
            provider: None,
            context_window: None,
            max_output: None,
            empty_content: EmptyContent::default(),
            output_limit: None,
            stream_usage: true,
        }
    }
}

impl OpenAiConfig {
    /// A model of a service.
    #[must_use]
    pub fn new(endpoint: Endpoint, model: impl Into<String>) -> Self {
        Self { endpoint, model: model.into(), ..Self::default() }
    }

    /// The model that `OPENAI_MODEL` names at the service of [`Endpoint::from_env`].
    #[must_use]
    pub fn from_env() -> Self {
        Self::new(Endpoint::from_env(), environment("OPENAI_MODEL").unwrap_or_default())
    }

    /// Sets how many tokens request and answer may have together.
    #[must_use]
    pub fn with_context_window(mut self, tokens: Tokens) -> Self {
        self.context_window = Some(tokens);
        self
    }

    /// Sets how many tokens an answer may have.
    #[must_use]
    pub fn with_max_output(mut self, tokens: Tokens) -> Self {
        self.max_output = Some(tokens);
        self
    }

    /// Sets the name under which opaque data is kept.
    #[must_use]
    pub fn with_provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// Sets how missing text beside calls is written.
    #[must_use]
    pub fn with_empty_content(mut self, empty: EmptyContent) -> Self {
        self.empty_content = empty;
        self
    }
}

/// Context window and longest answer of OpenAI's models by the beginning of their names, from the models' pages at
/// <https://platform.openai.com/docs/models>.
const KNOWN: [(&str, u32, u32); 7] = [
    ("gpt-5", 400_000, 128_000),
    ("gpt-4.1", 1_047_576, 32_768),
    ("gpt-4o", 128_000, 16_384),
    ("gpt-4-turbo", 128_000, 4_096),
    ("gpt-3.5-turbo", 16_385, 4_096),
    ("o3", 200_000, 100_000),
    ("o4-mini", 200_000, 100_000),
];

/// What is known of a model at OpenAI; the same name elsewhere may be another thing.
pub(crate) fn known(url: &Url, model: &str) -> Option<(u32, u32)> {
    if !is_openai(url) {
        return None;
    }
    KNOWN.iter().find(|(prefix, ..)| model.starts_with(prefix)).map(|(_, window, output)| (*window, *output))
}

pub(crate) fn is_openai(url: &Url) -> bool {
    url.host_str().is_some_and(|host| host == "api.openai.com" || host.ends_with(".api.openai.com"))
}

#[expect(clippy::disallowed_methods, reason = "this is the configuration, which may read the environment")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_form() {
        for (given, expected) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"),
            (" http://127.0.0.1:8080/v1/ ", "http://127.0.0.1:8080/v1"),
            ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
            ("https://open.bigmodel.cn/api/paas/v4/", "https://open.bigmodel.cn/api/paas/v4"),
            ("https://h/v1/chat/completions", "https://h/v1"),
            ("https://h/openai?api-version=1", "https://h/openai?api-version=1"),
        ] {
            assert_eq!(Endpoint::new(given).url().unwrap().as_str(), expected, "{given}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_quoted() {
        for given in [
            "",
            "localhost:8080",
            "ftp://h",
            "http://me:hunter2@h/v1",
            "http://hunter2@h",
            "http://h/#hunter2",
        ] {
            let endpoint = Endpoint::new(given);
            let error = endpoint.url().unwrap_err();
            assert!(matches!(error, ModelError::Config { .. }), "{given}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
            assert!(!format!("{endpoint:?}").contains("hunter2"), "{given}");
        }
    }

    #[test]
    fn a_file_names_seconds_and_may_leave_everything_out() {
        let config: OpenAiConfig = toml::from_str(
            "base_url = \"http://h\"\napi_key = \"sk-secret\"\nmodel = \"m\"\nidle_timeout_secs = 2.5\ncontext_window = 4096\n\
             empty_content = \"empty_string\"\n[headers]\nx-token = \"t0ken\"\n",
        )
        .unwrap();
        assert_eq!(config.endpoint.idle_timeout, Duration::from_millis(2500));
        assert_eq!(config.context_window, Some(Tokens::new(4096)));
        assert_eq!(config.empty_content, EmptyContent::EmptyString);
        let debug = format!("{config:?}");
        assert!(!debug.contains("sk-secret") && !debug.contains("t0ken"), "{debug}");
        let nothing: OpenAiConfig = toml::from_str("").unwrap();
        assert_eq!(nothing.endpoint.base_url, OPENAI);
        assert!(nothing.stream_usage);
        assert!(toml::from_str::<OpenAiConfig>("idle_timeout_secs = -1").is_err());
    }

    #[test]
    fn the_environment_names_a_service() {
        let endpoint = Endpoint::from_lookup(|name| (name == "OPENAI_API_KEY").then(|| "k".to_owned()));
        assert_eq!(endpoint.base_url, OPENAI);
        assert!(endpoint.api_key.is_some());
    }

    #[test]
    fn windows_are_known_at_openai_only() {
        let openai = Endpoint::default().url().unwrap();
        assert_eq!(known(&openai, "gpt-4o-mini"), Some((128_000, 16_384)));
        assert_eq!(known(&Endpoint::new("http://h").url().unwrap(), "gpt-4o-mini"), None);
    }
}
