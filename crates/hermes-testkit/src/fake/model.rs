//! A model that answers from a script.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt as _, stream};
use hermes_core::{
    CallId, ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, JsonText, ModelError, ModelInfo,
    Tokens, ToolCall, Usage, async_trait,
};

/// One answer of a [`ScriptedModel`].
#[derive(Debug, Default)]
pub struct Answer {
    refusal: Option<ModelError>,
    events: Vec<Result<ChatEvent, ModelError>>,
    hangs: bool,
}

impl Answer {
    /// A plain answer, in pieces of a few characters, as services stream it.
    #[must_use]
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::default().and_text(text).finished(FinishReason::Stop)
    }

    /// A step that calls tools: name and arguments of each; the ids are `call_1`, `call_2`, ….
    #[must_use]
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let calls = calls.into_iter().enumerate().map(|(index, (name, arguments))| {
            let id = CallId::new(format!("call_{}", index + 1)).expect("a valid id");
            ToolCall::new(id, name, arguments)
        });
        Self::tool_calls(calls)
    }

    /// A step that calls tools, with the ids of one's own.
    #[must_use]
    pub fn tool_calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let mut answer = Self::default();
        for (index, call) in calls.into_iter().enumerate() {
            answer.events.push(Ok(ChatEvent::CallBegun { index, name: call.name.clone() }));
            answer.events.push(Ok(ChatEvent::Call(call)));
        }
        answer.finished(FinishReason::ToolCalls)
    }

    /// An answer whose events one writes oneself.
    #[must_use]
    pub fn events(events: impl IntoIterator<Item = ChatEvent>) -> Self {
        Self { events: events.into_iter().map(Ok).collect(), ..Self::default() }
    }

    /// A refusal: [`ChatModel::stream`] itself fails.
    #[must_use]
    pub fn refused(error: ModelError) -> Self {
        Self { refusal: Some(error), ..Self::default() }
    }

    /// An answer that breaks off after this text.
    #[must_use]
    pub fn broken_after(text: impl AsRef<str>) -> Self {
        let mut answer = Self::default().and_text(text);
        answer.events.push(Err(ModelError::Interrupted { source: None }));
        answer
    }

    /// An answer that begins with this text and then never goes on: for cancelling.
    #[must_use]
    pub fn hanging_after(text: impl AsRef<str>) -> Self {
        Self { hangs: true, ..Self::default().and_text(text) }
    }

    /// Puts text before what there is.
    #[must_use]
    pub fn after_text(mut self, text: impl AsRef<str>) -> Self {
        let before = Self::default().and_text(text);
        self.events.splice(0..0, before.events);
        self
    }

    /// Says what the answer cost.
    #[must_use]
    pub fn with_usage(self, usage: Usage) -> Self {
        self.before_the_end(ChatEvent::Usage(usage))
    }

    /// Adds the provider's opaque data.
    #[must_use]
    pub fn with_provider(self, data: JsonText) -> Self {
        self.before_the_end(ChatEvent::Provider(data))
    }

    fn before_the_end(mut self, event: ChatEvent) -> Self {
        let end = self.events.iter().rposition(|event| matches!(event, Ok(ChatEvent::Finished(_))));
        self.events.insert(end.unwrap_or(self.events.len()), Ok(event));
        self
    }

    fn and_text(mut self, text: impl AsRef<str>) -> Self {
        let characters: Vec<char> = text.as_ref().chars().collect();
        self.events.extend(characters.chunks(7).map(|piece| Ok(ChatEvent::Text(piece.iter().collect()))));
        self
    }

    fn finished(mut self, reason: FinishReason) -> Self {
        self.events.push(Ok(ChatEvent::Finished(reason)));
        self
    }
}

type Respond = dyn Fn(&ChatRequest, usize) -> Answer + Send + Sync;

/// A model that gives the answers of a script in order, and keeps the requests. Clones are one model.
///
/// A request beyond the script's end fails with [`ModelError::BadResponse`].
#[derive(Clone)]
pub struct ScriptedModel {
    info: ModelInfo,
    script: Arc<Mutex<VecDeque<Answer>>>,
    respond: Option<Arc<Respond>>,
    requests: Arc<Mutex<Vec<ChatRequest>>>,
}

impl ScriptedModel {
    /// A model that gives these answers, one a request.
    #[must_use]
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let info = ModelInfo {
            provider: "scripted".to_owned(),
            id: "scripted-1".to_owned(),
            context_window: Tokens::new(128_000),
            max_output: Tokens::new(4_096),
        };
        let script = Arc::new(Mutex::new(answers.into_iter().collect()));
        Self { info, script, respond: None, requests: Arc::default() }
    }

    /// A model whose answer depends on the request and its number, from 0.
    #[must_use]
    pub fn responding(respond: impl Fn(&ChatRequest, usize) -> Answer + Send + Sync + 'static) -> Self {
        Self { respond: Some(Arc::new(respond)), ..Self::new([]) }
    }

    /// Says what model it passes for.
    #[must_use]
    pub fn with_info(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    /// Adds an answer at the script's end.
    pub fn push(&self, answer: Answer) {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).push_back(answer);
    }

    /// The requests so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many answers of the script were not asked for.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("info", &self.info)
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let number = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(request.clone());
            requests.len() - 1
        };
        let scripted = self.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(answer) =
            scripted.or_else(|| self.respond.as_ref().map(|respond| respond(&request, number)))
        else {
            let reason = format!("the script has no answer for request {}", number + 1);
            return Err(ModelError::BadResponse { reason });
        };
        if let Some(refusal) = answer.refusal {
            return Err(refusal);
        }
        let events = stream::iter(answer.events);
        if answer.hangs { Ok(events.chain(stream::pending()).boxed()) } else { Ok(events.boxed()) }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use hermes_core::{ChatMessage, ChatModelExt as _};

    use super::*;

    fn ask(model: &ScriptedModel, text: &str) -> Result<hermes_core::ChatReply, ModelError> {
        model.ask(ChatRequest::new([ChatMessage::user(text)])).now_or_never().expect("it does not wait")
    }

    #[test]
    fn the_script_is_played_in_order_and_the_requests_are_kept() {
        let usage = Usage { input: 3, ..Usage::default() };
        let model = ScriptedModel::new([
            Answer::calls([("add", "{}")]).after_text("Let me see.").with_usage(usage),
            Answer::text("你好，很高兴见到你"),
            Answer::broken_after("half"),
            Answer::refused(ModelError::RateLimited { retry_after: None }),
        ]);
        let first = ask(&model, "one").unwrap();
        assert_eq!((first.text.as_str(), first.calls.len(), first.usage), ("Let me see.", 1, Some(usage)));
        assert_eq!(first.finish, Some(FinishReason::ToolCalls));
        assert_eq!(ask(&model, "two").unwrap().text, "你好，很高兴见到你");
        assert!(matches!(ask(&model, "three"), Err(ModelError::Interrupted { .. })));
        assert!(matches!(ask(&model, "four"), Err(ModelError::RateLimited { .. })));
        assert!(matches!(ask(&model, "five"), Err(ModelError::BadResponse { .. })));
        assert_eq!(model.requests().len(), 5);
    }

    #[test]
    fn an_answer_can_depend_on_the_request() {
        let model =
            ScriptedModel::responding(|request, n| Answer::text(format!("{n}:{}", request.messages.len())));
        assert_eq!(ask(&model, "a").unwrap().text, "0:1");
        assert_eq!(ask(&model, "b").unwrap().text, "1:1");
    }

    #[test]
    fn a_hanging_answer_does_not_end() {
        let model = ScriptedModel::new([Answer::hanging_after("one moment")]);
        assert!(model.ask(ChatRequest::default()).now_or_never().is_none());
    }
}
