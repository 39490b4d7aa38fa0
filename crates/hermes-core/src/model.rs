//! Models: what is asked and how the answer streams (L6).

use std::fmt::Debug;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_core::Stream;
use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::id::CallId;
use crate::json::JsonText;
use crate::message::{ContentPart, ProviderMetadata, Role};
use crate::token::Tokens;
use crate::tool::{ToolCall, ToolSpec};

/// What a model is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The provider: the key under which its opaque data is kept and given back.
    pub provider: String,
    /// The model's name there.
    pub id: String,
    /// How many tokens request and answer may have together.
    pub context_window: Tokens,
    /// How many tokens an answer may have.
    pub max_output: Tokens,
}

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatMessage {
    /// The application's instructions.
    System {
        /// What they say.
        content: Vec<ContentPart>,
    },
    /// What the person said.
    User {
        /// What they said.
        content: Vec<ContentPart>,
    },
    /// What the model answered.
    Assistant {
        /// The text; may be empty beside calls.
        content: Vec<ContentPart>,
        /// The calls.
        calls: Vec<ToolCall>,
        /// Opaque data, to be given back to the provider it came from.
        provider: ProviderMetadata,
    },
    /// What a call gave.
    Tool {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// What it gave.
        content: Vec<ContentPart>,
    },
}

impl ChatMessage {
    /// Instructions.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { content: vec![ContentPart::Text(text.into())] }
    }

    /// Text of the person.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![ContentPart::Text(text.into())] }
    }

    /// A plain answer.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant {
            content: vec![ContentPart::Text(text.into())],
            calls: Vec::new(),
            provider: ProviderMetadata::new(),
        }
    }

    /// Who speaks.
    #[must_use]
    pub const fn role(&self) -> Role {
        match self {
            Self::System { .. } => Role::System,
            Self::User { .. } => Role::User,
            Self::Assistant { .. } => Role::Assistant,
            Self::Tool { .. } => Role::Tool,
        }
    }

    /// What is said.
    #[must_use]
    pub fn content(&self) -> &[ContentPart] {
        match self {
            Self::System { content }
            | Self::User { content }
            | Self::Assistant { content, .. }
            | Self::Tool { content, .. } => content,
        }
    }
}

/// Whether the model may, must or must not call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It may.
    #[default]
    Auto,
    /// It must.
    Required,
    /// It must not.
    None,
}

/// How the answer is generated. What is `None` is the service's default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerationOptions {
    /// Randomness, from 0.
    pub temperature: Option<f32>,
    /// The share of likely tokens that are drawn from.
    pub top_p: Option<f32>,
    /// The most tokens of the answer.
    pub max_output: Option<Tokens>,
    /// The seed of the randomness.
    pub seed: Option<i64>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// The JSON Schema that the answer's text has to fit, with a name.
    pub response_schema: Option<(String, JsonText)>,
    /// Further fields of the provider's own, as a JSON object.
    pub extra: Option<JsonText>,
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatRequest {
    /// The messages, in order, pairs whole. Shared, so that a step does not copy the history.
    pub messages: Vec<Arc<ChatMessage>>,
    /// The tools it may call.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Whether it may call them.
    pub tool_choice: ToolChoice,
    /// How the answer is generated.
    pub options: GenerationOptions,
}

impl ChatRequest {
    /// A request of messages only.
    #[must_use]
    pub fn new(messages: impl IntoIterator<Item = ChatMessage>) -> Self {
        Self { messages: messages.into_iter().map(Arc::new).collect(), ..Self::default() }
    }
}

/// What a request cost, in buckets that do not overlap: their sum is the whole (L7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that no cache served.
    pub input: u64,
    /// Input tokens that a cache served.
    pub cache_read: u64,
    /// Input tokens that were written to a cache.
    pub cache_write: u64,
    /// Output tokens that were said.
    pub output: u64,
    /// Output tokens that were only thought.
    pub reasoning: u64,
}

impl Usage {
    /// All tokens.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
            .saturating_add(self.output)
            .saturating_add(self.reasoning)
    }

    /// The sum, bucket by bucket.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// It wants its calls carried out.
    ToolCalls,
    /// It reached the most tokens.
    Length,
    /// The service held text back.
    ContentFilter,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// More text.
    Text(String),
    /// More of the model's thinking, where the service shows it.
    Reasoning(String),
    /// A call has begun; its arguments follow.
    CallBegun {
        /// The place of the call in the step, from 0.
        index: usize,
        /// The tool.
        name: String,
    },
    /// A whole call.
    Call(ToolCall),
    /// Opaque data of the provider, whole.
    Provider(JsonText),
    /// What the request cost.
    Usage(Usage),
    /// The answer has ended.
    Finished(FinishReason),
}

/// An answer as it comes. Dropping it ends the request.
pub type ChatStream = Pin<Box<dyn Stream<Item = Result<ChatEvent, ModelError>> + Send>>;

/// A language model behind some service.
///
/// # Contract
/// - **CM1** The stream's text pieces joined are the answer's text, each piece whole characters.
/// - **CM2** Each call comes once and whole, in the model's order, its arguments as the text that the model wrote; a call without an id gets one.
/// - **CM3** The last event of an answer that came whole is [`ChatEvent::Finished`]; [`FinishReason::ToolCalls`] exactly when there are calls, whatever the service said.
/// - **CM4** [`ChatEvent::Usage`] comes at most once, and its buckets do not overlap.
/// - **CM5** An answer that breaks off ends in an error and never in [`ChatEvent::Finished`].
/// - **CM6** Opaque data comes back to the service of the same [`ModelInfo::provider`] unchanged, and goes to no other.
/// - **CM7** No error holds the key.
#[async_trait]
pub trait ChatModel: Debug + Send + Sync + 'static {
    /// What this model is.
    fn info(&self) -> &ModelInfo;

    /// Asks, and gives the answer as it comes.
    ///
    /// # Errors
    /// [`ModelError`] when the service cannot be asked; once the answer has begun, errors come in the stream.
    async fn stream(&self, request: ChatRequest) -> Result<ChatStream, ModelError>;
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatReply {
    /// The text.
    pub text: String,
    /// The thinking that was shown.
    pub reasoning: String,
    /// The calls.
    pub calls: Vec<ToolCall>,
    /// Opaque data of the provider.
    pub provider: Option<JsonText>,
    /// What it cost, where the service said so.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub finish: Option<FinishReason>,
}

impl ChatReply {
    /// Adds a piece.
    pub fn push(&mut self, event: ChatEvent) {
        match event {
            ChatEvent::Text(text) => self.text.push_str(&text),
            ChatEvent::Reasoning(text) => self.reasoning.push_str(&text),
            ChatEvent::CallBegun { .. } => {}
            ChatEvent::Call(call) => self.calls.push(call),
            ChatEvent::Provider(data) => self.provider = Some(data),
            ChatEvent::Usage(usage) => self.usage = Some(usage),
            ChatEvent::Finished(finish) => self.finish = Some(finish),
        }
    }
}

/// Conveniences of every [`ChatModel`]; not to be implemented.
#[async_trait]
pub trait ChatModelExt: ChatModel {
    /// Asks, and waits for the whole answer.
    ///
    /// # Errors
    /// As [`ChatModel::stream`], and whatever the stream ends in.
    async fn ask(&self, request: ChatRequest) -> Result<ChatReply, ModelError> {
        let mut stream = self.stream(request).await?;
        let mut reply = ChatReply::default();
        while let Some(event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            reply.push(event?);
        }
        if reply.finish.is_none() {
            return Err(ModelError::Interrupted { source: None });
        }
        Ok(reply)
    }
}

impl<M: ChatModel + ?Sized> ChatModelExt for M {}

/// What is to be summarised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The summary so far, which the new one takes in.
    pub previous: Option<String>,
    /// The text: turns of a conversation with their speakers, or a document.
    pub text: String,
    /// What the text is.
    pub subject: SummarySubject,
    /// The most tokens that the summary should have.
    pub max: Tokens,
}

/// What a text to be summarised is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SummarySubject {
    /// Turns that leave a context (S4).
    Conversation,
    /// Text of a tool or server that is too long for a context (M5).
    Document,
}

/// Makes long texts short. What it gives is checked by whoever asked, and replaced when unusable.
///
/// # Contract
/// - **SU1** The text is material: what it says is not obeyed.
/// - **SU2** The summary is in the language of the text.
#[async_trait]
pub trait Summarizer: Debug + Send + Sync + 'static {
    /// Summarises.
    ///
    /// # Errors
    /// [`ModelError`] when the model behind it fails.
    async fn summarize(&self, request: SummaryRequest) -> Result<String, ModelError>;
}
