//! The cases of [`ChatModel`] for a model that is really there: they look at the shape of its answers, never at the wording.
//!
//! What needs an answer made to order (CM5, CM6, CM7: broken off, with opaque data, with a key in an error) is proved by each
//! client against a server of its own.

use std::sync::Arc;

use futures_util::StreamExt as _;
use hermes_core::{
    ChatEvent, ChatMessage, ChatModel, ChatModelExt as _, ChatRequest, ContentPart, Effect, FinishReason,
    GenerationOptions, Tokens, ToolChoice, ToolSpec,
};
use serde_json::{Value, json};

use crate::check::ok;

fn asked(messages: impl IntoIterator<Item = ChatMessage>) -> ChatRequest {
    let mut request = ChatRequest::new(messages);
    request.options = GenerationOptions {
        temperature: Some(0.0),
        max_output: Some(Tokens::new(64)),
        ..GenerationOptions::default()
    };
    request
}

fn weather() -> Arc<ToolSpec> {
    Arc::new(
        ToolSpec::new("get_weather", "Gives the weather of a city")
            .input_schema(json!({
                "type": "object",
                "properties": { "city": { "type": "string" } },
                "required": ["city"]
            }))
            .effect(Effect::ReadOnly),
    )
}

async fn events(clause: &str, model: &dyn ChatModel, request: ChatRequest) -> Vec<ChatEvent> {
    let mut stream = ok(clause, model.stream(request).await);
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(ok(clause, event));
    }
    events
}

/// CM1, CM3, CM4: a plain answer has text, ends in `Finished`, is no tool call, and says at most once what it cost.
pub async fn a_plain_answer_ends_once(model: &dyn ChatModel) {
    let request =
        asked([ChatMessage::system("Answer in one short sentence."), ChatMessage::user("What is 2 + 2?")]);
    let events = events("CM3", model, request).await;
    let text: String = events
        .iter()
        .filter_map(|event| if let ChatEvent::Text(text) = event { Some(text.as_str()) } else { None })
        .collect();
    assert!(!text.trim().is_empty(), "CM1: there is text in {events:?}");
    let ends: Vec<_> =
        events.iter().enumerate().filter(|(_, event)| matches!(event, ChatEvent::Finished(_))).collect();
    let [(place, ChatEvent::Finished(reason))] = ends.as_slice() else {
        panic!("CM3: one end, not {ends:?}")
    };
    assert_eq!(*place, events.len() - 1, "CM3: the end comes last");
    assert_ne!(*reason, FinishReason::ToolCalls, "CM3: nothing was called");
    let usages = events.iter().filter(|event| matches!(event, ChatEvent::Usage(_))).count();
    assert!(usages <= 1, "CM4: {usages} usages");
}

/// CM4: where the service says what a request cost, both sides of it count.
pub async fn usage_has_input_and_output(model: &dyn ChatModel) {
    let reply = ok("CM4", model.ask(asked([ChatMessage::user("Say hello.")])).await);
    if let Some(usage) = reply.usage {
        assert!(
            usage.input + usage.cache_read + usage.cache_write > 0,
            "CM4: the request has tokens: {usage:?}"
        );
        assert!(usage.output + usage.reasoning > 0, "CM4: the answer has tokens: {usage:?}");
    }
}

/// CM2, CM3: a call comes once and whole, with an id and arguments in JSON, and the answer ends in `ToolCalls`.
pub async fn a_call_comes_whole(model: &dyn ChatModel) {
    let mut request = asked([ChatMessage::user("What is the weather in Paris? Use the tool.")]);
    request.tools = vec![weather()];
    request.tool_choice = ToolChoice::Required;
    let events = events("CM2", model, request).await;
    let calls: Vec<_> = events
        .iter()
        .filter_map(|event| if let ChatEvent::Call(call) = event { Some(call) } else { None })
        .collect();
    assert!(!calls.is_empty(), "CM2: there is a call in {events:?}");
    for call in &calls {
        assert_eq!(call.name, "get_weather", "CM2: the tool that there is");
        let arguments: Value = serde_json::from_str(&call.arguments).expect("CM2: the arguments are JSON");
        assert!(arguments["city"].is_string(), "CM2: the arguments are whole: {arguments}");
    }
    let mut ids: Vec<_> = calls.iter().map(|call| &call.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), calls.len(), "CM2: each call has an id of its own");
    assert_eq!(
        events.last(),
        Some(&ChatEvent::Finished(FinishReason::ToolCalls)),
        "CM3: the answer ends in its calls"
    );
}

/// CM1, CM3: the result of a call is understood as such, and answered in text.
pub async fn a_result_is_answered(model: &dyn ChatModel) {
    let call = crate::sample::call("call_1", "get_weather", "{\"city\":\"Paris\"}");
    let request = asked([
        ChatMessage::user("What is the weather in Paris?"),
        ChatMessage::Assistant {
            content: Vec::new(),
            calls: vec![call.clone()],
            provider: Default::default(),
        },
        ChatMessage::Tool {
            call: call.id,
            tool: call.name,
            content: vec![ContentPart::Text(
                "{\"success\":true,\"output\":\"18 degrees, sunny\"}".to_owned(),
            )],
        },
    ]);
    let reply = ok("CM1", model.ask(request).await);
    assert!(!reply.text.trim().is_empty(), "CM1: there is text in {reply:?}");
}

/// CM3: an answer cut at the most tokens says so.
pub async fn a_cut_answer_says_so(model: &dyn ChatModel) {
    let mut request = asked([ChatMessage::user("Count from one to one hundred, in words.")]);
    request.options.max_output = Some(Tokens::new(8));
    let reply = ok("CM3", model.ask(request).await);
    assert_eq!(reply.finish, Some(FinishReason::Length), "CM3: the reason of {reply:?}");
}
