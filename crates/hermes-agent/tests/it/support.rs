//! What the tests have in common: agents on shared stores, tools, and checks that every log and every request has to pass.

use std::collections::HashSet;
use std::sync::Arc;

use hermes_agent::{Agent, AgentBuilder, AgentEvent, Error, Run, StopReason};
use hermes_core::{
    Body, ChatMessage, ChatRequest, Clock as _, Effect, Limit, LogQuery, Message, Seq, SessionId, ToolSpec,
    text_of,
};
use hermes_inmemory::InMemoryStore;
use hermes_session::Session;
use hermes_testkit::fake::{ManualClock, RecordingTool, ScriptedModel};
use hermes_testkit::sample::owner;
use hermes_tools::ToolRegistry;
use serde_json::{Value, json};

/// Stores and a clock that several agents share, as processes share a database.
#[derive(Default)]
pub(crate) struct Stage {
    pub(crate) store: InMemoryStore,
    pub(crate) clock: ManualClock,
}

impl Stage {
    pub(crate) fn builder(&self, model: &ScriptedModel) -> AgentBuilder {
        Agent::builder().model(model.clone()).store(self.store.clone()).clock(self.clock.clone())
    }

    pub(crate) fn clock_now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    /// An agent without tools, and a session of it.
    pub(crate) async fn start(&self, model: &ScriptedModel) -> (Agent, Session) {
        self.start_with(model, []).await
    }

    /// An agent with these tools, and a session of it.
    pub(crate) async fn start_with<const N: usize>(
        &self,
        model: &ScriptedModel,
        tools: [&RecordingTool; N],
    ) -> (Agent, Session) {
        let agent = self.builder(model).tools(registry(tools)).build().unwrap();
        let session = agent.sessions().create(&owner(), "Test").await.unwrap();
        (agent, session)
    }
}

/// A registry of these tools.
pub(crate) fn registry<const N: usize>(tools: [&RecordingTool; N]) -> ToolRegistry {
    let registry = ToolRegistry::new();
    for tool in tools {
        registry.add(tool.clone()).unwrap();
    }
    registry
}

/// The contract of a tool that takes any of `fields` as strings, the first one being required.
pub(crate) fn spec<const N: usize>(name: &str, effect: Effect, fields: [&str; N]) -> ToolSpec {
    let properties: serde_json::Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    let required: Vec<&str> = fields.iter().take(1).copied().collect();
    ToolSpec::new(name, format!("Does what {name} says"))
        .effect(effect)
        .input_schema(json!({"type": "object", "properties": properties, "required": required}))
}

/// A session as another process opens it.
pub(crate) async fn reopen(agent: &Agent, session: SessionId) -> Session {
    agent.sessions().open(&owner(), session).await.unwrap()
}

/// All events of a run that ends well.
pub(crate) async fn events(run: Run) -> Vec<AgentEvent> {
    let (events, error) = outcome(run).await;
    assert!(error.is_none(), "{error:?}");
    events
}

/// All events of a run, and the error that it ends in.
pub(crate) async fn outcome(mut run: Run) -> (Vec<AgentEvent>, Option<Error>) {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

/// The names of events, pieces of text left out.
pub(crate) fn names(events: &[AgentEvent]) -> Vec<String> {
    let name = |event: &AgentEvent| {
        let json = serde_json::to_value(event).unwrap();
        json.get("event").and_then(Value::as_str).unwrap().to_owned()
    };
    events.iter().map(name).filter(|name| name != "text").collect()
}

/// Why a run ended.
pub(crate) fn stop(events: &[AgentEvent]) -> StopReason {
    let learned = |event: &&AgentEvent| matches!(event, AgentEvent::Learned { .. });
    match events.iter().rev().find(|event| !learned(event)).unwrap() {
        AgentEvent::Finished { stop, .. } => *stop,
        other => unreachable!("the last event is {other:?}"),
    }
}

/// The whole log.
pub(crate) async fn log(session: &Session) -> Vec<Message> {
    let page = session.history(&LogQuery::forward(Seq::START.next(), Limit::MAX)).await.unwrap();
    assert!(!page.more);
    page.messages
}

/// The log in short: `user`, `assistant`, `calls:n`, `started:<call>`, `result:<call>`.
pub(crate) async fn outline(session: &Session) -> Vec<String> {
    let short = |message: &Message| match message.body() {
        Body::System { .. } => "system".to_owned(),
        Body::User { .. } => "user".to_owned(),
        Body::Assistant { calls, .. } if calls.is_empty() => "assistant".to_owned(),
        Body::Assistant { calls, .. } => format!("calls:{}", calls.len()),
        Body::ToolResult(result) => format!("result:{}", result.call),
        Body::CallStarted(started) => format!("started:{}", started.call),
    };
    log(session).await.iter().map(short).collect()
}

/// The JSON that the model reads first in a result.
pub(crate) fn value(text: &str) -> Value {
    serde_json::Deserializer::from_str(text).into_iter().next().unwrap().unwrap()
}

/// What a result says that succeeded (T9).
pub(crate) fn success(output: &str) -> Value {
    json!({"success": true, "output": output})
}

/// The texts of the results of a tool, in the log's order.
pub(crate) async fn results(session: &Session, tool: &str) -> Vec<String> {
    let log = log(session).await;
    let of_tool = log
        .iter()
        .filter(|message| matches!(message.body(), Body::ToolResult(result) if result.tool == tool));
    of_tool.map(Message::text).collect()
}

/// Fails unless the log is one that the loop may leave behind (S8, L5): places without a gap, each journal entry after its call, each
/// result after its call, and at most one of either for a call. Gives the calls that have no result.
pub(crate) async fn check_log(session: &Session) -> Vec<String> {
    let mut open: Vec<(String, bool)> = Vec::new();
    for (place, message) in log(session).await.iter().enumerate() {
        assert_eq!(message.seq().get(), u64::try_from(place).unwrap() + 1, "places have no gap");
        match message.body() {
            Body::Assistant { calls, .. } => {
                open.extend(calls.iter().map(|call| (call.id.to_string(), false)));
            }
            Body::CallStarted(started) => {
                let call = open.iter_mut().find(|(id, _)| id == started.call.as_str());
                let (id, begun) =
                    call.unwrap_or_else(|| unreachable!("{} began without a call", started.call));
                assert!(!std::mem::replace(begun, true), "{id} began twice");
            }
            Body::ToolResult(result) => {
                let place = open.iter().position(|(id, _)| id == result.call.as_str());
                open.remove(place.unwrap_or_else(|| unreachable!("{} has a result too many", result.call)));
            }
            _ => {}
        }
    }
    open.into_iter().map(|(id, _)| id).collect()
}

/// Fails unless a provider would take every request: each call is followed by exactly its results, in order, nothing between (S8).
pub(crate) fn check_requests(model: &ScriptedModel) {
    for request in model.requests() {
        check_request(&request);
    }
}

fn check_request(request: &ChatRequest) {
    let mut ids = HashSet::new();
    let mut due: Vec<String> = Vec::new();
    for message in &request.messages {
        if let ChatMessage::Tool { call, .. } = message.as_ref() {
            assert!(!due.is_empty(), "the result of {call} answers nothing: {:#?}", request.messages);
            assert_eq!(due.remove(0), call.to_string(), "results are in call order");
            continue;
        }
        assert!(due.is_empty(), "{due:?} have no result: {:#?}", request.messages);
        if let ChatMessage::Assistant { calls, .. } = message.as_ref() {
            for call in calls {
                assert!(ids.insert(call.id.clone()), "{} comes twice", call.id);
                due.push(call.id.to_string());
            }
        }
    }
    assert!(due.is_empty(), "{due:?} have no result");
    let last = request.messages.last().unwrap();
    assert!(
        matches!(last.as_ref(), ChatMessage::User { .. } | ChatMessage::Tool { .. }),
        "{last:?} comes last"
    );
}

/// The text of a message of a request.
pub(crate) fn text(message: &Arc<ChatMessage>) -> String {
    text_of(message.content())
}

/// The text of the last message of the last request.
pub(crate) fn last_text(model: &ScriptedModel) -> String {
    text(model.requests().last().unwrap().messages.last().unwrap())
}
