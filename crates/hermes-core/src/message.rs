//! Messages: the entries of a session's log (S7).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::approval::ApprovalNote;
use crate::id::{ArtifactId, CallId, IdempotencyKey, MemoryId, Seq, StepId};
use crate::json::JsonText;
use crate::token::TokenCount;
use crate::tool::{CallReport, FailureKind, ToolCall};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The application.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

impl Role {
    /// The role as providers spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// What sort of entry a message is. A summary is none of these: it belongs to a context and never enters a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Something said.
    Text,
    /// A model's step that calls tools.
    ToolCall,
    /// What a call gave.
    ToolResult,
    /// Bookkeeping: a call is about to run. Never sent to a model (L5).
    CallStarted,
}

impl Kind {
    /// The kind as stores spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::CallStarted => "call_started",
        }
    }
}

/// One part of what is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentPart {
    /// Text.
    Text(String),
    /// An image, by reference.
    Image(FileRef),
    /// Another file, by reference.
    File(FileRef),
}

impl ContentPart {
    /// The text, where the part is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image(_) | Self::File(_) => None,
        }
    }
}

/// Where the bytes of an image or file are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The place.
    pub source: FileSource,
}

/// A place for bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileSource {
    /// An address that the model's provider can read.
    Url(String),
    /// An artifact of the same session.
    Artifact(ArtifactId),
}

/// Opaque JSON from providers, by provider: reasoning signatures and the like, given back to that provider only.
pub type ProviderMetadata = BTreeMap<String, JsonText>;

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// A notice from the application that belongs to the log.
    System {
        /// What it says.
        content: Vec<ContentPart>,
    },
    /// What the person said. It begins a turn.
    User {
        /// What they said.
        content: Vec<ContentPart>,
    },
    /// What the model answered in one step: text, calls or both. Calls of one step stay together.
    Assistant {
        /// The text; may be empty beside calls.
        content: Vec<ContentPart>,
        /// The calls, in the model's order; empty for a plain answer.
        calls: Vec<ToolCall>,
    },
    /// What one call gave.
    ToolResult(ToolResult),
    /// A call is about to run.
    CallStarted(CallStarted),
}

/// The result of one call, as it is sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that this answers.
    pub call: CallId,
    /// The tool that ran.
    pub tool: String,
    /// What the model reads: the JSON `{"success": …}` text, then images and files.
    pub content: Vec<ContentPart>,
    /// Why the call failed; `None` when it succeeded.
    pub failure: Option<FailureKind>,
    /// What the framework knows about the run.
    pub report: CallReport,
}

/// The journal's entry before a call runs: all that is needed to resume after a crash (L5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStarted {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The arguments that are executed, after repair and filling.
    pub arguments: JsonText,
    /// The key under which the effect is claimed, for tools that have one.
    pub key: Option<IdempotencyKey>,
    /// Arguments that memory supplied.
    pub filled: Vec<Filled>,
    /// What was repaired in the arguments' syntax.
    pub repaired: Vec<String>,
    /// How the call was approved, where it was asked.
    pub approval: Option<ApprovalNote>,
}

/// An argument that memory supplied because the call left it out (L2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filled {
    /// The argument, as a JSON pointer.
    pub pointer: String,
    /// The value that was put in.
    pub value: JsonText,
    /// The memory record that supplied it.
    pub memory: MemoryId,
}

impl Body {
    /// Who speaks.
    #[must_use]
    pub const fn role(&self) -> Role {
        match self {
            Self::System { .. } => Role::System,
            Self::User { .. } => Role::User,
            Self::Assistant { .. } => Role::Assistant,
            Self::ToolResult(_) | Self::CallStarted(_) => Role::Tool,
        }
    }

    /// What sort of entry it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Assistant { calls, .. } if !calls.is_empty() => Kind::ToolCall,
            Self::System { .. } | Self::User { .. } | Self::Assistant { .. } => Kind::Text,
            Self::ToolResult(_) => Kind::ToolResult,
            Self::CallStarted(_) => Kind::CallStarted,
        }
    }

    /// The parts that are said; empty for a journal entry.
    #[must_use]
    pub fn content(&self) -> &[ContentPart] {
        match self {
            Self::System { content } | Self::User { content } | Self::Assistant { content, .. } => content,
            Self::ToolResult(result) => &result.content,
            Self::CallStarted(_) => &[],
        }
    }

    /// The calls of an assistant's step; empty for everything else.
    #[must_use]
    pub fn calls(&self) -> &[ToolCall] {
        match self {
            Self::Assistant { calls, .. } => calls,
            _ => &[],
        }
    }

    /// The text that full-text search finds a message by: what was said, not the journal.
    #[must_use]
    pub fn search_text(&self) -> String {
        text_of(self.content())
    }
}

/// The text parts, joined by line ends.
#[must_use]
pub fn text_of(parts: &[ContentPart]) -> String {
    let mut text = String::new();
    for part in parts.iter().filter_map(ContentPart::as_text) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
    }
    text
}

/// A message that is not in a log yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewMessage {
    /// What it says.
    pub body: Body,
    /// Whether it is never trimmed (S5). A session's policy may set it on append.
    pub sticky: bool,
    /// The step that it belongs to.
    pub step: Option<StepId>,
    /// How many tokens it has, where that was counted.
    pub tokens: Option<TokenCount>,
    /// Opaque data of providers.
    pub provider: ProviderMetadata,
    /// When it was made; `None` takes the time of the append. An import sets it.
    pub created: Option<Timestamp>,
}

impl NewMessage {
    /// A message with this body and nothing else.
    #[must_use]
    pub fn new(body: Body) -> Self {
        Self {
            body,
            sticky: false,
            step: None,
            tokens: None,
            provider: ProviderMetadata::new(),
            created: None,
        }
    }

    /// Text from the person.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Body::User { content: vec![ContentPart::Text(text.into())] })
    }

    /// A plain answer of the model.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Body::Assistant { content: vec![ContentPart::Text(text.into())], calls: Vec::new() })
    }

    /// A notice of the application.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Body::System { content: vec![ContentPart::Text(text.into())] })
    }

    /// A step of the model that calls tools.
    #[must_use]
    pub fn calls(calls: Vec<ToolCall>) -> Self {
        Self::new(Body::Assistant { content: Vec::new(), calls })
    }

    /// The result of a call.
    #[must_use]
    pub fn result(result: ToolResult) -> Self {
        Self::new(Body::ToolResult(result))
    }

    /// A journal entry: a call is about to run.
    #[must_use]
    pub fn started(started: CallStarted) -> Self {
        Self::new(Body::CallStarted(started))
    }

    /// Says that the message is never trimmed.
    #[must_use]
    pub fn with_sticky(mut self) -> Self {
        self.sticky = true;
        self
    }

    /// Says which step the message belongs to.
    #[must_use]
    pub fn with_step(mut self, step: StepId) -> Self {
        self.step = Some(step);
        self
    }

    /// Adds the opaque data of a provider.
    #[must_use]
    pub fn with_provider(mut self, provider: ProviderMetadata) -> Self {
        self.provider = provider;
        self
    }
}

/// A message of a log. It can be read and never changed (S3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    seq: Seq,
    created: Timestamp,
    body: Body,
    sticky: bool,
    step: Option<StepId>,
    tokens: Option<TokenCount>,
    provider: ProviderMetadata,
}

impl Message {
    /// The message that `new` becomes at place `seq`; for stores, which give places, and for tests.
    ///
    /// `at` is the time of the append, used where the message brings none.
    #[must_use]
    pub fn from_new(new: NewMessage, seq: Seq, at: Timestamp) -> Self {
        let created = crate::clock::truncate_to_micros(new.created.unwrap_or(at));
        let NewMessage { body, sticky, step, tokens, provider, .. } = new;
        Self { seq, created, body, sticky, step, tokens, provider }
    }

    /// The message as something that can be appended elsewhere, as an import does.
    #[must_use]
    pub fn into_new(self) -> NewMessage {
        let Self { created, body, sticky, step, tokens, provider, .. } = self;
        NewMessage { body, sticky, step, tokens, provider, created: Some(created) }
    }

    /// Its place in the log.
    #[must_use]
    pub const fn seq(&self) -> Seq {
        self.seq
    }

    /// When it was made (UTC, whole microseconds).
    #[must_use]
    pub const fn created(&self) -> Timestamp {
        self.created
    }

    /// What it says.
    #[must_use]
    pub const fn body(&self) -> &Body {
        &self.body
    }

    /// Who speaks.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.body.role()
    }

    /// What sort of entry it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.body.kind()
    }

    /// The text that is said; empty for a journal entry.
    #[must_use]
    pub fn text(&self) -> String {
        text_of(self.body.content())
    }

    /// Whether it was marked on append as never to be trimmed.
    #[must_use]
    pub const fn is_sticky(&self) -> bool {
        self.sticky
    }

    /// The step that it belongs to.
    #[must_use]
    pub const fn step(&self) -> Option<StepId> {
        self.step
    }

    /// Its token count, where one was made.
    #[must_use]
    pub const fn tokens(&self) -> Option<&TokenCount> {
        self.tokens.as_ref()
    }

    /// Opaque data of providers.
    #[must_use]
    pub const fn provider(&self) -> &ProviderMetadata {
        &self.provider
    }

    /// The call that a result or journal entry belongs to, or the only call of a step.
    #[must_use]
    pub fn call_id(&self) -> Option<&CallId> {
        match &self.body {
            Body::ToolResult(result) => Some(&result.call),
            Body::CallStarted(started) => Some(&started.call),
            Body::Assistant { calls, .. } => match calls.as_slice() {
                [only] => Some(&only.id),
                _ => None,
            },
            _ => None,
        }
    }

    /// The tool that a result or journal entry belongs to.
    #[must_use]
    pub fn tool_name(&self) -> Option<&str> {
        match &self.body {
            Body::ToolResult(result) => Some(&result.tool),
            Body::CallStarted(started) => Some(&started.tool),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_back_from_json_byte_for_byte() {
        let call = ToolCall::new(CallId::new("k1").unwrap(), "stock", "{\"wh\": \"A\" , }");
        let mut new = NewMessage::calls(vec![call]).with_step(StepId::generate());
        new.provider.insert("p".to_owned(), JsonText::parse("{\"sig\":  1.50}").unwrap());
        let message =
            Message::from_new(new, Seq::new(3), Timestamp::from_microsecond(1_700_000_000_000_001).unwrap());
        let json = serde_json::to_string(&message).unwrap();
        let back: Message = serde_json::from_str(&json).unwrap();
        assert_eq!(back, message);
        assert_eq!(serde_json::to_string(&back).unwrap(), json);
        assert_eq!(back.kind(), Kind::ToolCall);
        assert_eq!(
            back.body().calls().first().map(|call| call.arguments.as_str()),
            Some("{\"wh\": \"A\" , }")
        );
    }

    #[test]
    fn times_are_kept_in_whole_microseconds() {
        let at = Timestamp::from_nanosecond(1_700_000_000_000_001_999).unwrap();
        let message = Message::from_new(NewMessage::user("hi"), Seq::new(1), at);
        assert_eq!(message.created().as_nanosecond(), 1_700_000_000_000_001_000);
    }
}
