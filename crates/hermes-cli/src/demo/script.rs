//! The demo's model: a script, openly so. It decides by the last message alone, like a very small model would.

use std::sync::{Arc, Mutex, PoisonError};

use hermes::core::{
    CallId, ChatEvent, ChatMessage, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, ModelInfo,
    Tokens, ToolCall, async_trait, text_of,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::words::Words;

/// What a script answers.
#[derive(Debug, Clone)]
pub(crate) enum Line {
    /// It says something.
    Say(String),
    /// It calls a tool.
    Call(&'static str, Value),
}

/// A model that answers by a function of the request, and remembers what it was sent.
pub(crate) struct ScriptedModel {
    info: ModelInfo,
    answer: Box<dyn Fn(&ChatRequest) -> Line + Send + Sync>,
    sent: Arc<Mutex<Vec<ChatRequest>>>,
}

impl std::fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedModel").finish_non_exhaustive()
    }
}

/// What a scripted model was sent, in order.
#[derive(Debug, Clone)]
pub(crate) struct Sent(Arc<Mutex<Vec<ChatRequest>>>);

impl Sent {
    /// The last request.
    pub(crate) fn last(&self) -> Option<ChatRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }
}

impl ScriptedModel {
    pub(crate) fn new(answer: impl Fn(&ChatRequest) -> Line + Send + Sync + 'static) -> Self {
        let info = ModelInfo {
            provider: "script".to_owned(),
            id: "script".to_owned(),
            context_window: Tokens::new(16_000),
            max_output: Tokens::new(1_000),
        };
        Self { info, answer: Box::new(answer), sent: Arc::default() }
    }

    pub(crate) fn sent(&self) -> Sent {
        Sent(Arc::clone(&self.sent))
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let line = (self.answer)(&request);
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let events = match line {
            Line::Say(text) => {
                let pieces = text.split_inclusive(' ').map(|piece| ChatEvent::Text(piece.to_owned()));
                pieces.chain([ChatEvent::Finished(FinishReason::Stop)]).collect::<Vec<_>>()
            }
            Line::Call(tool, arguments) => vec![
                ChatEvent::Call(ToolCall::new(CallId::generate(), tool, arguments.to_string())),
                ChatEvent::Finished(FinishReason::ToolCalls),
            ],
        };
        Ok(Box::pin(futures_util::stream::iter(events.into_iter().map(Ok))))
    }
}

/// What the assistant of the demo answers: it searches, then books what it found, then says so.
pub(crate) fn assistant(words: Words, now: Timestamp) -> ScriptedModel {
    ScriptedModel::new(move |request| match request.messages.last().map(AsRef::as_ref) {
        Some(ChatMessage::Tool { tool, content, .. }) if tool == "search_restaurant" => {
            let found = output(&text_of(content));
            let restaurant = found.pointer("/0/name").cloned().unwrap_or(Value::Null);
            let day = words.tomorrow(now);
            Line::Call(
                "booking_make_reservation",
                json!({ "restaurant": restaurant, "date": day, "time": "19:00", "people": 2 }),
            )
        }
        Some(ChatMessage::Tool { tool, content, .. }) if tool == "booking_make_reservation" => {
            let made = output(&text_of(content));
            let text = |key: &str| made.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
            Line::Say(words.booked(&text("restaurant"), &text("confirmation")))
        }
        Some(ChatMessage::User { content }) => {
            let said = content.iter().rev().find_map(|part| part.as_text()).unwrap_or_default();
            if said.contains(words.wish()) {
                // The name of the restaurant is left out on purpose: the user did not say it in this session.
                Line::Call("search_restaurant", json!({ "cuisine": words.cuisine() }))
            } else if said.contains(words.question()) {
                Line::Say(words.already_booked().to_owned())
            } else if said.contains(words.earlier()) {
                Line::Say(words.noted().to_owned())
            } else {
                Line::Say(words.acknowledge().to_owned())
            }
        }
        _ => Line::Say(words.acknowledge().to_owned()),
    })
}

/// The output of a result, as the model reads it.
fn output(text: &str) -> Value {
    let result: Value = serde_json::from_str(text).unwrap_or_default();
    let output = result.get("output").cloned().unwrap_or_default();
    // Where memory filled an argument, the output stands beside a note that says so.
    output.get("result").cloned().unwrap_or(output)
}

/// What the demo's extractor answers: one memory when the user names the restaurant, nothing otherwise.
pub(crate) fn extractor(words: Words) -> ScriptedModel {
    ScriptedModel::new(move |request| {
        let asked =
            request.messages.iter().map(|message| text_of(message.content())).collect::<Vec<_>>().join("\n");
        if asked.contains(words.earlier()) {
            Line::Say(words.extraction().to_string())
        } else {
            Line::Say(json!({ "memories": [] }).to_string())
        }
    })
}
