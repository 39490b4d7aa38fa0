//! The checks of a request, written apart from those of the session.

use std::collections::HashMap;
use std::sync::Arc;

use hermes_core::{ChatMessage, TokenCounter, text_of};
use hermes_tiktoken::TiktokenCounter;

/// How many calls lack their result, and results their call: after each step with calls come exactly their results and nothing
/// between them.
pub(crate) fn orphans(messages: &[Arc<ChatMessage>]) -> usize {
    let mut open: Vec<&str> = Vec::new();
    let mut orphans = 0;
    for message in messages {
        match message.as_ref() {
            ChatMessage::Tool { call, .. } => match open.iter().position(|id| *id == call.as_str()) {
                Some(at) => {
                    open.swap_remove(at);
                }
                None => orphans += 1,
            },
            other => {
                orphans += open.len();
                open.clear();
                if let ChatMessage::Assistant { calls, .. } = other {
                    open.extend(calls.iter().map(|call| call.id.as_str()));
                }
            }
        }
    }
    orphans + open.len()
}

/// Counts as the data does: `o200k_base` of content and calls, 4 for a message, 8 for a call.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    known: HashMap<String, u64>,
}

impl Counted {
    pub(crate) fn message(&mut self, message: &ChatMessage) -> u64 {
        let calls = match message {
            ChatMessage::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        };
        let text = self.text(&text_of(message.content()));
        calls.iter().fold(4 + text, |sum, call| sum + 8 + self.text(&call.name) + self.text(&call.arguments))
    }

    fn text(&mut self, text: &str) -> u64 {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let tokens = u64::from(TiktokenCounter::o200k().count(text).get());
        self.known.insert(text.to_owned(), tokens);
        tokens
    }
}

#[cfg(test)]
mod tests {
    use hermes_core::{CallId, ToolCall};

    use super::*;

    fn step(ids: &[&str]) -> ChatMessage {
        let calls = ids.iter().map(|id| ToolCall::new(CallId::new(id).unwrap(), "f", "{}")).collect();
        ChatMessage::Assistant { content: Vec::new(), calls, provider: Default::default() }
    }

    fn result(id: &str) -> ChatMessage {
        ChatMessage::Tool { call: CallId::new(id).unwrap(), tool: "f".to_owned(), content: Vec::new() }
    }

    #[test]
    fn each_call_needs_exactly_its_result_and_nothing_between() {
        let user = || ChatMessage::user("x");
        for (messages, expected) in [
            (vec![user(), step(&["a", "b"]), result("b"), result("a"), user()], 0),
            (vec![step(&["a"]), result("a"), step(&["a"]), result("a")], 0),
            (vec![step(&["a", "b"]), result("a")], 1),
            (vec![result("a")], 1),
            (vec![step(&["a"]), user(), result("a")], 2),
            (vec![step(&["a"]), result("a"), result("a")], 1),
        ] {
            let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
            assert_eq!(orphans(&messages), expected, "{messages:?}");
        }
    }
}
