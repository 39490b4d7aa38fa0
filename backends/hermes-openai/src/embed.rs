//! The embedder.

use std::sync::Arc;

use async_trait::async_trait;
use hermes_core::{
    Calibration, Clock, EmbedError, Embedder, EmbedderId, EmbedderInfo, Embedding, ModelError, Purpose,
};
use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::config::Endpoint;
use crate::vectors;

/// The shortest text, in bytes, that is still halved when a service finds it too long.
const MIN_CUT: usize = 64;

/// How a service is told whether a text is a question or something to be found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PurposeHint {
    /// Not at all: the model makes no difference.
    #[default]
    None,
    /// By the field `input_type`, `query` or `passage`.
    InputType,
    /// By `-query` or `-passage` at the end of the model's name.
    ModelSuffix,
    /// By words before the text, such as `query: ` and `passage: ` for the E5 models.
    TextPrefix {
        /// Before a question.
        query: String,
        /// Before what is to be found.
        passage: String,
    },
}

/// How vectors are asked for. Both forms are read, whichever comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmbeddingFormat {
    /// Numbers as JSON, which every service has.
    #[default]
    Float,
    /// Four bytes a number in base64: a quarter of the size.
    Base64,
}

/// An embedding model: its service, its name there, its vectors and the service's ways.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct OpenAiEmbedderConfig {
    /// The service.
    #[serde(flatten)]
    pub endpoint: Endpoint,
    /// The model's name.
    pub model: String,
    /// How many numbers its vectors have.
    pub dimension: usize,
    /// The name of the vector space; the model's name and dimension unless set. Give servers of the same model the same name.
    #[serde(default)]
    pub space: Option<EmbedderId>,
    /// What its cosines are worth. Unless set: fitted values for multilingual-e5-small and all-MiniLM-L6-v2, and for all others
    /// the cosine itself.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// How the service is told what a text is for.
    #[serde(default)]
    pub purpose: PurposeHint,
    /// How vectors are asked for.
    #[serde(default)]
    pub format: EmbeddingFormat,
    /// Whether the dimension is sent, for models that can shorten their vectors (OpenAI's `text-embedding-3`).
    #[serde(default)]
    pub send_dimension: bool,
    /// The most texts of one request; 32 unless set, which is what text-embeddings-inference takes.
    #[serde(default = "max_inputs")]
    pub max_inputs: usize,
    /// The most characters of a text; what is longer is cut. 8,000 unless set: in the languages of Europe about 2,000 tokens.
    #[serde(default = "max_chars")]
    pub max_chars: usize,
}

const fn max_inputs() -> usize {
    32
}

const fn max_chars() -> usize {
    8_000
}

impl OpenAiEmbedderConfig {
    /// A model of a service.
    #[must_use]
    pub fn new(endpoint: Endpoint, model: impl Into<String>, dimension: usize) -> Self {
        Self {
            endpoint,
            model: model.into(),
            dimension,
            space: None,
            calibration: None,
            purpose: PurposeHint::default(),
            format: EmbeddingFormat::default(),
            send_dimension: false,
            max_inputs: max_inputs(),
            max_chars: max_chars(),
        }
    }

    /// Sets how the service is told what a text is for.
    #[must_use]
    pub fn with_purpose(mut self, purpose: PurposeHint) -> Self {
        self.purpose = purpose;
        self
    }

    /// Sets what the cosines are worth.
    #[must_use]
    pub fn with_calibration(mut self, calibration: Calibration) -> Self {
        self.calibration = Some(calibration);
        self
    }

    /// Sets the name of the vector space.
    #[must_use]
    pub fn with_space(mut self, space: EmbedderId) -> Self {
        self.space = Some(space);
        self
    }

    /// Sets how vectors are asked for.
    #[must_use]
    pub fn with_format(mut self, format: EmbeddingFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets the most texts of one request.
    #[must_use]
    pub fn with_max_inputs(mut self, texts: usize) -> Self {
        self.max_inputs = texts;
        self
    }
}

/// Fitted so that 1 in 100 unrelated memories reaches 0.45, on the questions and memories in English and Chinese by which
/// `hermes-embed` was measured: multilingual-e5-small with its query and passage prefixes (0.45 at cosine 0.870), and
/// all-MiniLM-L6-v2 on the English ones (0.45 at cosine 0.282).
const FITTED: [(&str, Calibration); 2] = [
    ("multilingual-e5-small", Calibration::Logistic { a: 28.42, b: -24.94 }),
    ("all-minilm-l6-v2", Calibration::Logistic { a: 27.69, b: -8.02 }),
];

fn calibration(model: &str) -> Calibration {
    let model = model.to_lowercase();
    let fitted = FITTED.into_iter().find(|(name, _)| model.contains(name));
    fitted.map_or(Calibration::Identity, |(_, calibration)| calibration)
}

/// An embedding model behind `/v1/embeddings` of any compatible service (R14).
///
/// A text without anything but white space gets the zero vector and is not sent, since many services refuse it. A text that the
/// service finds too long is halved until it fits (EM4). Nothing else is tried twice.
#[derive(Debug, Clone)]
pub struct OpenAiEmbedder {
    info: EmbedderInfo,
    model: String,
    purpose: PurposeHint,
    format: EmbeddingFormat,
    send_dimension: bool,
    max_inputs: usize,
    max_chars: usize,
    client: Client,
}

impl OpenAiEmbedder {
    /// A model as configured. Nothing is asked of the service yet.
    ///
    /// # Errors
    /// [`EmbedError::Service`] with [`ModelError::Config`] when the configuration is not usable.
    pub fn new(config: &OpenAiEmbedderConfig) -> Result<Self, EmbedError> {
        Self::over(config, Client::new(&config.endpoint).map_err(EmbedError::Service)?)
    }

    /// A model whose requests go through a client of the caller's.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_client(config: &OpenAiEmbedderConfig, http: reqwest::Client) -> Result<Self, EmbedError> {
        Self::over(config, Client::with_http(&config.endpoint, http).map_err(EmbedError::Service)?)
    }

    /// Sets the clock by which a date in `Retry-After` becomes a time to wait.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.client.set_clock(clock);
        self
    }

    fn over(config: &OpenAiEmbedderConfig, client: Client) -> Result<Self, EmbedError> {
        let unusable = |reason: String| EmbedError::Service(ModelError::Config { reason });
        if config.model.trim().is_empty() || config.dimension == 0 || config.max_inputs == 0 {
            return Err(unusable(
                "an embedder needs a model, a dimension, and requests of at least one text".to_owned(),
            ));
        }
        let id = match &config.space {
            Some(space) => space.clone(),
            None => EmbedderId::new(format!("{}-{}", config.model, config.dimension))
                .map_err(|error| unusable(format!("the model's name makes no name of a space: {error}")))?,
        };
        Ok(Self {
            info: EmbedderInfo {
                id,
                dimension: config.dimension,
                calibration: config.calibration.clone().unwrap_or_else(|| calibration(&config.model)),
            },
            model: config.model.clone(),
            purpose: config.purpose.clone(),
            format: config.format,
            send_dimension: config.send_dimension,
            max_inputs: config.max_inputs,
            max_chars: config.max_chars,
            client,
        })
    }

    /// One request.
    async fn ask(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        let word = match purpose {
            Purpose::Query => "query",
            Purpose::Passage => "passage",
        };
        let prefix = match (&self.purpose, purpose) {
            (PurposeHint::TextPrefix { query, .. }, Purpose::Query) => query.as_str(),
            (PurposeHint::TextPrefix { passage, .. }, Purpose::Passage) => passage.as_str(),
            _ => "",
        };
        let prefixed: Vec<String>;
        let input = if prefix.is_empty() {
            Input::Plain(texts)
        } else {
            prefixed = texts.iter().map(|text| format!("{prefix}{text}")).collect();
            Input::Prefixed(&prefixed)
        };
        let suffixed = (self.purpose == PurposeHint::ModelSuffix).then(|| format!("{}-{word}", self.model));
        let request = Request {
            model: suffixed.as_deref().unwrap_or(&self.model),
            input,
            encoding_format: match self.format {
                EmbeddingFormat::Float => "float",
                EmbeddingFormat::Base64 => "base64",
            },
            input_type: (self.purpose == PurposeHint::InputType).then_some(word),
            dimensions: self.send_dimension.then_some(self.info.dimension),
        };
        let body = serde_json::to_vec(&request).map_err(|error| EmbedError::Failed {
            reason: format!("the request cannot be written: {error}"),
        })?;
        let answer = self.client.send(Method::POST, "embeddings", body).await.map_err(EmbedError::Service)?;
        let answer = answer.read_all().await.map_err(EmbedError::Service)?;
        vectors::read(&answer, texts.len(), self.info.dimension, &self.client.secrets())
    }

    /// A batch, which is parted, and whose texts are halved, as long as the service finds it too long.
    async fn fit(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        let mut made = Vec::with_capacity(texts.len());
        let mut open = vec![texts.to_vec()];
        while let Some(batch) = open.pop() {
            match self.ask(&batch, purpose).await {
                Ok(vectors) => made.extend(vectors),
                Err(EmbedError::Service(error @ ModelError::ContextTooLong { .. })) => match batch.as_slice()
                {
                    [text] if text.len() <= MIN_CUT => return Err(EmbedError::Service(error)),
                    [text] => open.push(vec![half(text)]),
                    _ => {
                        let (first, second) = batch.split_at(batch.len() / 2);
                        open.push(second.to_vec());
                        open.push(first.to_vec());
                    }
                },
                Err(error) => return Err(error),
            }
        }
        Ok(made)
    }
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        let said: Vec<&str> = texts
            .iter()
            .filter(|text| !text.trim().is_empty())
            .map(|text| first(text, self.max_chars))
            .collect();
        let mut made = Vec::with_capacity(said.len());
        for batch in said.chunks(self.max_inputs) {
            made.extend(self.fit(batch, purpose).await?);
        }
        let mut made = made.into_iter();
        texts
            .iter()
            .map(|text| match text.trim().is_empty() {
                true => Embedding::new(vec![0.0; self.info.dimension]),
                false => {
                    made.next().ok_or_else(|| EmbedError::Failed { reason: "a vector is missing".to_owned() })
                }
            })
            .collect()
    }
}

/// The first characters of a text.
fn first(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// The first half of a text, at a character's border.
fn half(text: &str) -> &str {
    let end = text.floor_char_boundary(text.len() / 2);
    text.get(..end).unwrap_or_default()
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: Input<'a>,
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Plain(&'a [&'a str]),
    Prefixed(&'a [String]),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_models_bring_their_calibration() {
        for (model, cosine) in
            [("intfloat/multilingual-e5-small", 0.870), ("sentence-transformers/all-MiniLM-L6-v2", 0.282)]
        {
            let score = calibration(model).score(cosine).get();
            assert!((score - 0.45).abs() < 0.01, "{model}: {score}");
        }
        assert_eq!(calibration("text-embedding-3-small"), Calibration::Identity);
    }

    #[test]
    fn texts_are_cut_at_characters() {
        assert_eq!(first("川菜馆", 2), "川菜");
        assert_eq!(first("川菜馆", 3), "川菜馆");
        assert_eq!(half("川菜馆"), "川");
    }

    #[test]
    fn a_file_may_leave_most_out() {
        let config: OpenAiEmbedderConfig = toml::from_str(
            "base_url = \"http://h\"\nmodel = \"m\"\ndimension = 3\npurpose = \"input_type\"\n\
             [calibration.logistic]\na = 1.0\nb = 0.5\n",
        )
        .unwrap();
        assert_eq!(config.purpose, PurposeHint::InputType);
        assert_eq!(config.max_inputs, 32);
        let embedder = OpenAiEmbedder::new(&config).unwrap();
        assert_eq!(embedder.info().id.as_str(), "m-3");
        assert_eq!(embedder.info().calibration, Calibration::Logistic { a: 1.0, b: 0.5 });
        let empty = OpenAiEmbedderConfig { dimension: 0, ..config };
        assert!(matches!(OpenAiEmbedder::new(&empty), Err(EmbedError::Service(ModelError::Config { .. }))));
    }
}
