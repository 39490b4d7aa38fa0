use hermes_core::{ChatReply, JsonText};
use serde_json::{Value, json};

use super::*;

/// The events of a stream whose events' data these are.
fn events(data: &[&str]) -> Result<Vec<ChatEvent>, ModelError> {
    let (mut assembler, mut out) = (Assembler::default(), VecDeque::new());
    for data in data {
        assembler.event("message", data, &mut out)?;
    }
    assembler.end(&mut out)?;
    Ok(out.into())
}

fn collected(events: Vec<ChatEvent>) -> ChatReply {
    let mut reply = ChatReply::default();
    events.into_iter().for_each(|event| reply.push(event));
    reply
}

fn streamed(data: &[&str]) -> ChatReply {
    collected(events(data).unwrap())
}

fn whole(message: &Value, finish: &Value) -> ChatReply {
    let body = json!({ "choices": [{ "message": message, "finish_reason": finish }] }).to_string();
    let (mut assembler, mut out) = (Assembler::default(), VecDeque::new());
    assembler.reply(&body, &mut out).unwrap();
    assembler.end(&mut out).unwrap();
    collected(out.into())
}

/// A message in one piece, as a stream.
fn in_a_stream(message: &Value, finish: &Value) -> ChatReply {
    let chunk = json!({ "choices": [{ "delta": message, "finish_reason": finish }] }).to_string();
    streamed(&[&chunk, "[DONE]"])
}

fn call(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> String {
    let function = json!({ "name": name, "arguments": arguments });
    let mut fragment = json!({ "id": id, "function": function });
    if let Some(index) = index {
        fragment["index"] = index.into();
    }
    json!({ "choices": [{ "delta": { "tool_calls": [fragment] } }] }).to_string()
}

fn told(calls: &[ToolCall]) -> Vec<(&str, &str)> {
    calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect()
}

#[test]
fn g25_what_is_in_the_message_decides_and_not_the_finish_reason() {
    let call =
        json!([{ "id": "c1", "type": "function", "function": { "name": "stock", "arguments": "{}" } }]);
    for (message, finish, text, calls, expected) in [
        (
            json!({ "content": "我查一下。", "tool_calls": call }),
            json!("stop"),
            "我查一下。",
            1,
            FinishReason::ToolCalls,
        ),
        (json!({ "content": "", "tool_calls": [] }), json!("tool_calls"), "", 0, FinishReason::Stop),
        (json!({ "content": "好的。" }), Value::Null, "好的。", 0, FinishReason::Stop),
        (json!({ "content": "好的。" }), json!("eos"), "好的。", 0, FinishReason::Stop),
        (json!({ "content": "好" }), json!("length"), "好", 0, FinishReason::Length),
        (json!({ "content": "" }), json!("content_filter"), "", 0, FinishReason::ContentFilter),
    ] {
        for reply in [whole(&message, &finish), in_a_stream(&message, &finish)] {
            assert_eq!(reply.text, text);
            assert_eq!((reply.calls.len(), reply.finish), (calls, Some(expected)), "{message} {finish}");
        }
    }
}

#[test]
fn g26_every_shape_of_a_message_is_read_and_reasoning_is_kept_apart() {
    let calls = json!([{ "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } }]);
    for message in [
        json!({ "content": null, "tool_calls": calls }),
        json!({ "tool_calls": calls }),
        json!({ "content": "", "tool_calls": calls }),
    ] {
        for reply in [whole(&message, &Value::Null), in_a_stream(&message, &Value::Null)] {
            assert_eq!((reply.text.as_str(), reply.calls.len(), reply.provider), ("", 1, None), "{message}");
        }
    }
    let details = json!([{ "type": "reasoning.encrypted", "data": "AbC=" }]);
    for (message, thinking, kept) in [
        (json!({ "content": [{ "type": "text", "text": "hi" }] }), "", None),
        (
            json!({ "content": "hi", "reasoning_content": "步骤一…" }),
            "步骤一…",
            Some(json!({ "reasoning_content": "步骤一…" })),
        ),
        (
            json!({ "content": "hi", "reasoning": "…", "reasoning_details": details }),
            "…",
            Some(json!({ "reasoning": "…", "reasoning_details": details })),
        ),
    ] {
        for reply in [whole(&message, &json!("stop")), in_a_stream(&message, &json!("stop"))] {
            assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), ("hi", thinking), "{message}");
            assert_eq!(reply.provider, kept.as_ref().map(JsonText::from));
        }
    }
}

#[test]
fn a_whole_call_is_begun_given_and_followed_by_the_end() {
    let data = [
        call(Some(0), Some("c1"), Some("f"), ""),
        call(Some(0), None, None, "{\"a\":"),
        call(Some(0), None, None, "1}"),
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1}}"#.to_owned(),
        // Some services count in every piece; the last stands.
        r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#.to_owned(),
        "[DONE]".to_owned(),
        "after the end nothing counts".to_owned(),
    ];
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    assert_eq!(
        events(&data).unwrap(),
        [
            ChatEvent::CallBegun { index: 0, name: "f".to_owned() },
            ChatEvent::Call(ToolCall::new(CallId::new("c1").unwrap(), "f", "{\"a\":1}")),
            ChatEvent::Usage(Usage { input: 3, output: 2, ..Usage::default() }),
            ChatEvent::Finished(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn calls_are_told_apart_however_a_service_marks_them() {
    let two = [("f", "{\"a\":1}"), ("g", "{\"b\":2}")];
    for (way, fragments) in [
        (
            "one index for all, ids differ",
            vec![
                call(Some(0), Some("x"), Some("f"), "{\"a\":1}"),
                call(Some(0), Some("y"), Some("g"), "{\"b\":2}"),
            ],
        ),
        (
            "one index for all, no ids",
            vec![call(Some(0), None, Some("f"), "{\"a\":1}"), call(Some(0), None, Some("g"), "{\"b\":2}")],
        ),
        (
            "no index, ids",
            vec![
                call(None, Some("x"), Some("f"), "{\"a\":1}"),
                call(None, Some("y"), Some("g"), "{\"b\":2}"),
            ],
        ),
        (
            "no index, an id only at first",
            vec![
                call(None, Some("x"), Some("f"), "{\"a\""),
                call(None, None, None, ":1}"),
                call(None, Some("y"), Some("g"), "{\"b\":2}"),
            ],
        ),
        (
            "id and name with each fragment",
            vec![
                call(Some(0), Some("x"), Some("f"), "{\"a\""),
                call(Some(0), Some("x"), Some("f"), ":1}"),
                call(Some(1), Some("y"), Some("g"), "{\"b\":2}"),
            ],
        ),
        (
            "another id with each fragment",
            vec![
                call(Some(0), Some("x"), Some("f"), "{\"a\""),
                call(Some(0), Some("z"), None, ":1}"),
                call(Some(1), Some("y"), Some("g"), "{\"b\":2}"),
            ],
        ),
        (
            "in the other order",
            vec![
                call(Some(1), Some("y"), Some("g"), "{\"b\":2}"),
                call(Some(0), Some("x"), Some("f"), "{\"a\":1}"),
            ],
        ),
    ] {
        let mut data: Vec<&str> = fragments.iter().map(String::as_str).collect();
        data.push("[DONE]");
        let reply = streamed(&data);
        assert_eq!(told(&reply.calls), two, "{way}");
        assert_ne!(reply.calls[0].id, reply.calls[1].id, "{way}");
    }
}

#[test]
fn arguments_are_the_text_that_was_written() {
    for (arguments, expected) in [
        (json!("{ \"a\" : 1.0 }"), "{ \"a\" : 1.0 }"),
        (json!("{broken"), "{broken"),
        (json!(""), ""),
        (Value::Null, ""),
        // Not what the protocol says, but seen: an object in place of its text.
        (json!({ "a": 1 }), "{\"a\":1}"),
    ] {
        let message =
            json!({ "tool_calls": [{ "id": "", "function": { "name": "f", "arguments": arguments } }] });
        let reply = whole(&message, &Value::Null);
        assert_eq!(told(&reply.calls), [("f", expected)]);
        assert!(!reply.calls[0].id.as_str().is_empty());
    }
}

#[test]
fn a_signature_beside_a_call_is_kept_under_its_id() {
    let extra = json!({ "google": { "thought_signature": "S==" } });
    let message = json!({ "tool_calls": [{ "id": "c1", "function": { "name": "f", "arguments": "{}" }, "extra_content": extra }] });
    let kept = whole(&message, &json!("stop")).provider.unwrap();
    assert_eq!(kept.read::<Value>().unwrap(), json!({ "tool_calls": { "c1": { "extra_content": extra } } }));
}

#[test]
fn an_answer_that_breaks_off_never_ends_well() {
    let piece = r#"{"choices":[{"delta":{"content":"ha"},"finish_reason":null}]}"#;
    let finish = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    assert!(matches!(events(&[]), Err(ModelError::Interrupted { .. })));
    assert!(matches!(events(&[piece]), Err(ModelError::Interrupted { .. })));
    assert!(matches!(events(&[piece, r#"{"choices":[{"del"#]), Err(ModelError::Interrupted { .. })));
    assert!(matches!(events(&[piece, "nonsense"]), Err(ModelError::BadResponse { .. })));
    assert!(matches!(
        events(&[piece, r#"{"error":{"message":"overloaded","code":503}}"#]),
        Err(ModelError::Server { status: 503, .. })
    ));
    // Without the mark of the end, a reason to end is enough; without a reason, the mark is.
    assert_eq!(streamed(&[piece, finish]).finish, Some(FinishReason::Stop));
    assert_eq!(streamed(&[piece, "[DONE]"]).text, "ha");
}

#[test]
fn a_complaint_comes_in_several_forms() {
    let mut assembler = Assembler::default();
    let limited =
        assembler.event("error", r#"{"message":"slow","type":"rate_limit_error"}"#, &mut VecDeque::new());
    assert!(matches!(limited, Err(ModelError::RateLimited { .. })));
    let old = events(&[r#"{"object":"error","message":"maximum context length is 5","code":400}"#]);
    assert!(matches!(old, Err(ModelError::ContextTooLong { .. })));
    let null = streamed(&[r#"{"error":null,"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#]);
    assert_eq!(null.text, "ok");
}

#[test]
fn a_whole_message_in_a_stream_is_read_once() {
    let reply = streamed(&[
        r#"{"choices":[{"delta":{"content":"hi"}}]}"#,
        r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(reply.text, "hi");
    assert_eq!(
        streamed(&[r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#]).text,
        "hi"
    );
    // Only the first of several answers is read.
    let first = streamed(&[
        r#"{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(first.text, "yes");
}
