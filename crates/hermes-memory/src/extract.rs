//! Finding memories in what was said (R3): the trait, and the extractor that asks a small model.

use std::fmt::Debug;

use async_trait::async_trait;
use hermes_core::{
    AttributeKey, ChatMessage, ChatModel, ChatModelExt, ChatRequest, GenerationOptions, JsonText, MemoryKind,
    ModelError, Score, Seq,
};
use hermes_text::{Language, fence};
use jiff::ZonedDateTime;
use serde_json::json;

use crate::parse;

/// Finds what is worth remembering in a turn. What it gives is not trusted: it is checked, and written only when it is proved.
#[async_trait]
pub trait Extractor: Debug + Send + Sync + 'static {
    /// Gives the memories of a turn; none is the usual answer.
    ///
    /// # Errors
    /// [`ExtractError`] when nothing readable came.
    async fn extract(&self, input: &ExtractionInput) -> Result<Vec<Draft>, ExtractError>;
}

/// What an extractor sees: what the user said, and what the assistant said as far as the user accepted it; secrets masked.
/// Tool results, summaries and recalled memories are not in it (R10).
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractionInput {
    /// The lines, in the log's order.
    pub lines: Vec<Line>,
    /// When the turn's message was said, in the user's time zone.
    pub said_at: ZonedDateTime,
    /// The user's language.
    pub language: Language,
    /// Whether the user asked in this turn to remember something; it need not be what a line proves.
    pub command: Command,
}

/// Whether the user asked to remember something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// They did.
    Remember,
    /// They did not.
    None,
}

/// One line of what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its place in the log.
    pub seq: Seq,
    /// Who said it.
    pub speaker: Speaker,
    /// The text, secrets masked.
    pub text: String,
}

/// Who said a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// The user.
    User,
    /// The assistant, in words that the user accepted or asked to remember.
    Assistant,
}

/// A memory as an extractor proposes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// What sort of thing it is.
    pub kind: MemoryKind,
    /// The sentence, in the user's language.
    pub content: String,
    /// How sure the extractor is; without it the memory is not written.
    pub confidence: Option<Score>,
    /// The words that prove it, as they stand in one of the lines.
    pub quote: Option<String>,
    /// What it is about, where the user can have only one such thing at a time, such as a home city.
    pub attribute: Option<AttributeKey>,
    /// The bare value, as it stands in the sentence, such as a name: what may fill a tool's argument (L2).
    pub value: Option<String>,
}

impl Draft {
    /// A proposal without a quote, attribute or value.
    #[must_use]
    pub fn new(kind: MemoryKind, content: impl Into<String>, confidence: Score) -> Self {
        Self {
            kind,
            content: content.into(),
            confidence: Some(confidence),
            quote: None,
            attribute: None,
            value: None,
        }
    }

    /// Sets the words that prove it.
    #[must_use]
    pub fn with_quote(mut self, quote: impl Into<String>) -> Self {
        self.quote = Some(quote.into());
        self
    }

    /// Sets what it is about.
    #[must_use]
    pub fn with_attribute(mut self, subject: impl Into<String>, attribute: impl Into<String>) -> Self {
        self.attribute = Some(AttributeKey { subject: subject.into(), attribute: attribute.into() });
        self
    }

    /// Sets the bare value.
    #[must_use]
    pub fn with_value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(value.into());
        self
    }
}

/// Why an extraction gave nothing readable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The model failed.
    #[error("the extracting model failed")]
    Model(#[from] ModelError),
    /// The answer holds no memories in the agreed shape.
    #[error("the extractor's answer cannot be read: {reason}")]
    Unreadable {
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// Asks a model, and reads its answer whatever it is wrapped in.
#[derive(Debug)]
pub struct ModelExtractor {
    model: Box<dyn ChatModel>,
    structured: bool,
}

impl ModelExtractor {
    /// An extractor that asks this model; a small one is enough.
    #[must_use]
    pub fn new(model: impl ChatModel) -> Self {
        Self { model: Box::new(model), structured: false }
    }

    /// Asks the service to hold the model to the answer's JSON Schema: for services that can.
    #[must_use]
    pub fn with_structured_output(mut self) -> Self {
        self.structured = true;
        self
    }
}

#[async_trait]
impl Extractor for ModelExtractor {
    async fn extract(&self, input: &ExtractionInput) -> Result<Vec<Draft>, ExtractError> {
        let mut request =
            ChatRequest::new([ChatMessage::system(PROMPT.trim_end()), ChatMessage::user(render(input))]);
        request.options = GenerationOptions {
            temperature: Some(0.0),
            response_schema: self.structured.then(|| ("memories".to_owned(), answer_schema())),
            ..GenerationOptions::default()
        };
        let reply = self.model.ask(request).await?;
        parse::drafts(&reply.text)
    }
}

const PROMPT: &str = include_str!("prompts/extract.md");

/// The part of the request that changes: the time, and the lines between tags that they cannot close.
fn render(input: &ExtractionInput) -> String {
    let when = input.said_at.strftime("%Y-%m-%d %H:%M (%A)");
    let zone = input.said_at.time_zone().iana_name().unwrap_or("UTC");
    let lines: Vec<String> = input
        .lines
        .iter()
        .map(|line| {
            let speaker = match line.speaker {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
            };
            format!("{speaker}: {}", line.text)
        })
        .collect();
    format!("Said at {when}, time zone {zone}.\n{}", fence("conversation", &lines.join("\n")))
}

fn answer_schema() -> JsonText {
    let text = json!({"type": ["string", "null"]});
    JsonText::from(&json!({
        "type": "object",
        "properties": { "memories": { "type": "array", "items": {
            "type": "object",
            "properties": {
                "type": { "type": "string", "enum": ["preference", "fact", "event"] },
                "content": { "type": "string" },
                "confidence": { "type": "number" },
                "quote": { "type": "string" },
                "subject": text, "attribute": text, "value": text
            },
            "required": ["type", "content", "confidence", "quote", "subject", "attribute", "value"],
            "additionalProperties": false
        } } },
        "required": ["memories"],
        "additionalProperties": false
    }))
}
