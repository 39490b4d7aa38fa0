//! The window: the turns that the summary does not cover, ready to be assembled (S4).

use std::sync::Arc;

use hermes_core::{
    ArtifactHandle, Body, CallId, ChatMessage, ContentPart, Message, ProviderMetadata, Seq, Summary,
    TokenCounter, Tokens,
};
use hermes_text::Language;

use crate::count::{count_logged, count_message};
use crate::pairs::Paired;

/// What one context is made of: the whole turns after the summary, the summary, and the sticky messages that it covers.
///
/// Making one costs as much as the window is long, however long the log.
#[derive(Debug, Clone, Default)]
pub struct WindowView {
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) summary: Option<Summary>,
    pub(crate) sticky: Vec<Arc<Message>>,
    pub(crate) older_sticky: Option<Seq>,
    pub(crate) marked: Vec<Seq>,
}

impl WindowView {
    /// A view of these messages of a log, in order: those after what the summary covers.
    #[must_use]
    pub fn new(messages: Vec<Arc<Message>>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// Adds the summary of what comes before, and the sticky messages that it covers, in order.
    #[must_use]
    pub fn with_summary(mut self, summary: Summary, sticky: Vec<Arc<Message>>) -> Self {
        self.messages.retain(|message| message.seq() > summary.through);
        self.sticky = sticky;
        self.summary = Some(summary);
        self
    }

    /// Says which messages were marked sticky by call, after their append, in order.
    #[must_use]
    pub fn with_marked(mut self, places: Vec<Seq>) -> Self {
        self.marked = places;
        self
    }

    /// Whether a message is never trimmed.
    pub(crate) fn is_sticky(&self, message: &Message) -> bool {
        message.is_sticky() || self.marked.binary_search(&message.seq()).is_ok()
    }

    /// Says that there are more sticky messages, before this place, than were loaded.
    #[must_use]
    pub(crate) fn with_older_sticky(mut self, before: Option<Seq>) -> Self {
        self.older_sticky = before;
        self
    }

    /// How many turns stand in the window, the current one included.
    #[must_use]
    pub fn turns(&self) -> usize {
        turns(&self.messages).len()
    }

    /// The language of the conversation: that of what the user says.
    #[must_use]
    pub fn language(&self) -> Language {
        let mut text = String::new();
        for message in self.sticky.iter().chain(&self.messages) {
            if let Body::User { .. } = message.body() {
                text.push_str(&message.text());
                text.push('\n');
            }
        }
        hermes_text::lang::guess(&text)
    }
}

/// The turns of a stretch of a log: each begins with a user message; what stands before the first one goes with it as a turn of its own.
pub(crate) fn turns(messages: &[Arc<Message>]) -> Vec<&[Arc<Message>]> {
    let mut starts: Vec<usize> = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| matches!(message.body(), Body::User { .. }))
        .map(|(at, _)| at)
        .collect();
    if !messages.is_empty() && starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([messages.len()]);
    starts.iter().zip(ends).filter_map(|(&start, end)| messages.get(start..end)).collect()
}

/// What a message of the log is in a context; `None` for what is never sent: a journal entry, or an answer that says nothing.
pub(crate) fn chat_of(body: &Body, provider: ProviderMetadata) -> Option<ChatMessage> {
    match body {
        Body::System { content } => Some(ChatMessage::System { content: content.clone() }),
        Body::User { content } => Some(ChatMessage::User { content: content.clone() }),
        Body::Assistant { content, calls } if calls.is_empty() && is_blank(content) => None,
        Body::Assistant { content, calls } => {
            Some(ChatMessage::Assistant { content: content.clone(), calls: calls.clone(), provider })
        }
        Body::ToolResult(result) => Some(ChatMessage::Tool {
            call: result.call.clone(),
            tool: result.tool.clone(),
            content: result.content.clone(),
        }),
        Body::CallStarted(_) => None,
    }
}

fn is_blank(content: &[ContentPart]) -> bool {
    content.iter().all(|part| part.as_text().is_some_and(|text| text.trim().is_empty()))
}

/// A message of the log on its way into a context.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) seq: Seq,
    /// Which turn of the view it is logged in, from 0; a late result moves to its step's.
    pub(crate) turn: usize,
    pub(crate) chat: Arc<ChatMessage>,
    /// `None` until it is counted.
    pub(crate) tokens: Option<Tokens>,
    /// Where the whole of a tool result can be read.
    pub(crate) handle: Option<ArtifactHandle>,
    /// Whether it stands for a result that is missing.
    pub(crate) explained: bool,
}

impl Entry {
    pub(crate) fn of(
        message: &Message,
        turn: usize,
        provider: Option<&str>,
        counter: &dyn TokenCounter,
    ) -> Option<Self> {
        let kept = message.provider().iter().filter(|(name, _)| Some(name.as_str()) == provider);
        let kept: ProviderMetadata = kept.map(|(name, data)| (name.clone(), data.clone())).collect();
        let all_kept = kept.len() == message.provider().len();
        let chat = chat_of(message.body(), kept)?;
        // The logged count is of all opaque data; where some is left out, the rest is counted.
        let tokens =
            if all_kept { count_logged(counter, message, &chat) } else { count_message(counter, &chat) };
        let handle = match message.body() {
            Body::ToolResult(result) => Some(
                result.report.artifact.map_or(ArtifactHandle::Log(message.seq()), ArtifactHandle::Artifact),
            ),
            _ => None,
        };
        Some(Self {
            seq: message.seq(),
            turn,
            chat: Arc::new(chat),
            tokens: Some(tokens),
            handle,
            explained: false,
        })
    }

    pub(crate) fn result_of(&self) -> Option<&CallId> {
        match self.chat.as_ref() {
            ChatMessage::Tool { call, .. } => Some(call),
            _ => None,
        }
    }
}

impl Paired for Entry {
    fn chat(&self) -> &ChatMessage {
        &self.chat
    }

    fn with_chat(self, chat: ChatMessage) -> Self {
        Self { chat: Arc::new(chat), ..self }
    }

    fn explained(&self, chat: ChatMessage) -> Self {
        Self {
            seq: self.seq,
            turn: self.turn,
            chat: Arc::new(chat),
            tokens: None,
            handle: None,
            explained: true,
        }
    }
}
