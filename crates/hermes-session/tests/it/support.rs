//! What several of the tests need.

use std::sync::Arc;

use hermes_core::{
    Body, CallId, CallReport, ChatMessage, ContentPart, CounterId, Limit, LogQuery, Message, NewMessage,
    Owner, ProviderMetadata, Seq, TenantId, TokenCount, TokenCounter, Tokens, ToolCall, ToolResult, UserId,
    text_of,
};
use hermes_session::{Context, Session, count_message};
use jiff::Timestamp;

pub(crate) fn owner() -> Owner {
    Owner::new(TenantId::new("acme").unwrap(), UserId::new("dana").unwrap())
}

pub(crate) fn call_id(text: &str) -> CallId {
    CallId::new(text).unwrap()
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(call_id(id), name, arguments)
}

pub(crate) fn result(id: &str, tool: &str, text: impl Into<String>) -> NewMessage {
    NewMessage::result(ToolResult {
        call: call_id(id),
        tool: tool.to_owned(),
        content: vec![ContentPart::Text(text.into())],
        failure: None,
        report: CallReport::default(),
    })
}

/// A log that was never in a store.
pub(crate) fn logged(messages: impl IntoIterator<Item = NewMessage>) -> Vec<Arc<Message>> {
    let at = Timestamp::UNIX_EPOCH;
    (1..).zip(messages).map(|(seq, new)| Arc::new(Message::from_new(new, Seq::new(seq), at))).collect()
}

/// The same with their tokens counted, as an append does it.
pub(crate) fn counted(
    messages: impl IntoIterator<Item = NewMessage>,
    counter: &ByteCounter,
) -> Vec<Arc<Message>> {
    let count = |mut new: NewMessage| {
        let content = new.body.content().to_vec();
        let chat = match &new.body {
            Body::Assistant { calls, .. } => {
                ChatMessage::Assistant { content, calls: calls.clone(), provider: new.provider.clone() }
            }
            Body::ToolResult(result) => {
                ChatMessage::Tool { call: result.call.clone(), tool: result.tool.clone(), content }
            }
            _ => ChatMessage::User { content },
        };
        let tokens = count_message(counter, &chat);
        new.tokens = Some(TokenCount { tokens, counter: counter.id().clone() });
        new
    };
    logged(messages.into_iter().map(count))
}

/// One token for every four bytes: quick, so that very many contexts can be tried.
#[derive(Debug)]
pub(crate) struct ByteCounter(CounterId);

impl ByteCounter {
    pub(crate) fn new() -> Self {
        Self(CounterId::new("bytes").unwrap())
    }
}

impl TokenCounter for ByteCounter {
    fn id(&self) -> &CounterId {
        &self.0
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens::saturating_from(text.len().div_ceil(4))
    }
}

/// Stops unless each call is followed by exactly its results, in call order. Written apart from the crate's own check.
pub(crate) fn assert_paired(messages: &[Arc<ChatMessage>], what: &dyn std::fmt::Debug) {
    let mut at = 0;
    while at < messages.len() {
        match messages[at].as_ref() {
            ChatMessage::Tool { call, .. } => panic!("result of {call} without its step: {what:?}"),
            ChatMessage::Assistant { calls, .. } => {
                for (n, asked) in calls.iter().enumerate() {
                    match messages.get(at + 1 + n).map(AsRef::as_ref) {
                        Some(ChatMessage::Tool { call, .. }) if *call == asked.id => {}
                        other => panic!("call {} is followed by {other:?}: {what:?}", asked.id),
                    }
                }
                at += 1 + calls.len();
            }
            _ => at += 1,
        }
    }
}

pub(crate) fn texts(context: &Context) -> Vec<String> {
    context.messages().iter().map(|message| text_of(message.content())).collect()
}

pub(crate) fn tool_results(context: &Context) -> Vec<(String, String)> {
    let results = context.messages().iter().filter_map(|message| match message.as_ref() {
        ChatMessage::Tool { call, content, .. } => Some((call.to_string(), text_of(content))),
        _ => None,
    });
    results.collect()
}

pub(crate) async fn log_of(session: &Session) -> Vec<Message> {
    session.history(&LogQuery::forward(Seq::START, Limit::MAX)).await.unwrap().messages
}

/// A step that calls tools, with text and opaque data beside the calls.
pub(crate) fn step(calls: Vec<ToolCall>, text: &str, provider: ProviderMetadata) -> NewMessage {
    let content = if text.is_empty() { Vec::new() } else { vec![ContentPart::Text(text.to_owned())] };
    NewMessage::new(Body::Assistant { content, calls }).with_provider(provider)
}
