use hermes_core::{
    CallId, ContentPart, FileRef, FileSource, GenerationOptions, ProviderMetadata, Tokens, ToolCall,
};
use serde_json::json;

use super::*;

fn info() -> ModelInfo {
    ModelInfo {
        provider: "first".to_owned(),
        id: "m".to_owned(),
        context_window: Tokens::new(8192),
        max_output: Tokens::new(1024),
    }
}

fn dialect() -> Dialect {
    Dialect { empty_content: EmptyContent::Null, output_limit: None, is_openai: false, stream_usage: true }
}

fn text(request: &ChatRequest, dialect: &Dialect) -> String {
    String::from_utf8(write(request, &info(), dialect).unwrap()).unwrap()
}

fn body(request: &ChatRequest) -> Value {
    serde_json::from_str(&text(request, &dialect())).unwrap()
}

fn assistant(content: &str, calls: Vec<ToolCall>, provider: &[(&str, &str)]) -> ChatMessage {
    ChatMessage::Assistant {
        content: if content.is_empty() { Vec::new() } else { vec![ContentPart::Text(content.to_owned())] },
        calls,
        provider: provider
            .iter()
            .map(|(name, json)| ((*name).to_owned(), JsonText::parse(json).unwrap()))
            .collect(),
    }
}

fn call(arguments: &str) -> ToolCall {
    ToolCall::new(CallId::new("c1").unwrap(), "f", arguments)
}

#[test]
fn a_plain_request_holds_nothing_that_was_not_asked() {
    let request = ChatRequest::new([ChatMessage::system("be brief"), ChatMessage::user("你好")]);
    assert_eq!(
        text(&request, &dialect()),
        r#"{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"你好"}],"stream":true,"stream_options":{"include_usage":true}}"#
    );
    let silent = Dialect { stream_usage: false, ..dialect() };
    assert!(!text(&request, &silent).contains("stream_options"));
}

#[test]
fn options_are_written_under_the_services_names() {
    let mut request = ChatRequest::new([ChatMessage::user("x")]);
    request.options = GenerationOptions {
        temperature: Some(0.7),
        top_p: Some(0.5),
        max_output: Some(Tokens::new(9)),
        seed: Some(-1),
        stop: vec!["END".to_owned()],
        response_schema: Some(("answer".to_owned(), JsonText::parse(r#"{"type":"object"}"#).unwrap())),
        extra: Some(JsonText::parse(r#"{"top_k":40,"seed":7}"#).unwrap()),
    };
    let sent = text(&request, &dialect());
    // As written, and not as the nearest double.
    assert!(sent.contains(r#""temperature":0.7,"#), "{sent}");
    let sent: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent["max_tokens"], 9);
    assert_eq!((&sent["seed"], &sent["top_k"]), (&json!(7), &json!(40)));
    assert_eq!(sent["stop"], json!(["END"]));
    assert_eq!(
        sent["response_format"],
        json!({ "type": "json_schema", "json_schema": { "name": "answer", "strict": false, "schema": { "type": "object" } } })
    );
    let openai = Dialect { is_openai: true, ..dialect() };
    assert!(text(&request, &openai).contains(r#""max_completion_tokens":9"#));
    let told = Dialect { output_limit: Some(OutputLimit::MaxTokens), ..openai };
    assert!(text(&request, &told).contains(r#""max_tokens":9"#));
}

#[test]
fn further_options_cannot_replace_what_is_the_requests_own() {
    let mut request = ChatRequest::new([ChatMessage::user("x")]);
    for extra in [r#"{"messages":[]}"#, r#"{"stream":false}"#, "[1]"] {
        request.options.extra = Some(JsonText::parse(extra).unwrap());
        assert!(matches!(write(&request, &info(), &dialect()), Err(ModelError::Config { .. })), "{extra}");
    }
}

#[test]
fn tools_are_sent_without_hints_and_left_out_when_none_may_be_called() {
    let schema =
        json!({ "type": "object", "properties": { "city": { "type": "string", "x-hermes-fill": "home" } } });
    let mut request = ChatRequest::new([ChatMessage::user("x")]);
    request.tools = vec![Arc::new(ToolSpec::new("weather", "Says the weather").input_schema(schema))];
    let sent = body(&request);
    assert_eq!(
        sent["tools"],
        json!([{ "type": "function", "function": {
            "name": "weather",
            "description": "Says the weather",
            "parameters": { "type": "object", "properties": { "city": { "type": "string" } } }
        } }])
    );
    assert_eq!(sent.get("tool_choice"), None);
    request.tool_choice = ToolChoice::Required;
    assert_eq!(body(&request)["tool_choice"], "required");
    request.tool_choice = ToolChoice::None;
    assert_eq!((body(&request).get("tools"), body(&request).get("tool_choice")), (None, None));
    request.tool_choice = ToolChoice::Required;
    request.tools.clear();
    assert_eq!(body(&request).get("tool_choice"), None);
}

#[test]
fn g26_content_beside_calls_is_null_or_as_the_service_wants_it() {
    for content in [Vec::new(), vec![ContentPart::Text(String::new())]] {
        let message =
            ChatMessage::Assistant { content, calls: vec![call("{}")], provider: ProviderMetadata::new() };
        let request = ChatRequest::new([message]);
        for (empty_content, expected) in [
            (EmptyContent::Null, r#""role":"assistant","content":null,"tool_calls""#),
            (EmptyContent::EmptyString, r#""role":"assistant","content":"","tool_calls""#),
            (EmptyContent::Omit, r#""role":"assistant","tool_calls""#),
        ] {
            let sent = text(&request, &Dialect { empty_content, ..dialect() });
            assert!(sent.contains(expected), "{sent}");
        }
    }
    let both = body(&ChatRequest::new([assistant("hi", vec![call("{}")], &[])]));
    assert_eq!(both["messages"][0]["content"], "hi");
    let neither = body(&ChatRequest::new([assistant("", Vec::new(), &[])]));
    assert_eq!(neither["messages"][0]["content"], "");
}

#[test]
fn g26_reasoning_goes_back_byte_for_byte_to_its_own_service_only() {
    let kept = r#"{"reasoning_content":"\u6b65\u9aa4",  "reasoning_details":[{"data": "AbC=","n":1.0}],"role":"system"}"#;
    let request = ChatRequest::new([assistant("hi", Vec::new(), &[("first", kept)])]);
    let sent = text(&request, &dialect());
    assert!(sent.contains(r#""reasoning_content":"\u6b65\u9aa4""#), "{sent}");
    assert!(sent.contains(r#""reasoning_details":[{"data": "AbC=","n":1.0}]"#), "{sent}");
    assert!(!sent.contains("system"), "{sent}");
    let other = ModelInfo { provider: "second".to_owned(), ..info() };
    let sent = String::from_utf8(write(&request, &other, &dialect()).unwrap()).unwrap();
    assert!(!sent.contains("reasoning"), "{sent}");
}

#[test]
fn a_signature_goes_back_beside_its_call() {
    let kept = r#"{"tool_calls":{"c1":{"extra_content":{"google":{"thought_signature":"S=="}}}}}"#;
    let sent = body(&ChatRequest::new([assistant("", vec![call("{}")], &[("first", kept)])]));
    assert_eq!(
        sent["messages"][0]["tool_calls"],
        json!([{
            "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{}" },
            "extra_content": { "google": { "thought_signature": "S==" } }
        }])
    );
}

#[test]
fn arguments_are_sent_as_they_were_written() {
    for (written, sent) in [
        (r#"{ "b" : 1.0, "a":"\u00e9" }"#, r#"{ "b" : 1.0, "a":"\u00e9" }"#),
        ("", "{}"),
        ("{\"a\":", r#"{"not_json":"{\"a\":"}"#),
    ] {
        let body = body(&ChatRequest::new([assistant("", vec![call(written)], &[])]));
        assert_eq!(body["messages"][0]["tool_calls"][0]["function"]["arguments"], sent);
    }
}

#[test]
fn images_go_by_address_where_the_protocol_has_a_place_for_them() {
    let image =
        FileRef { media_type: "image/png".to_owned(), source: FileSource::Url("https://h/i.png".to_owned()) };
    let content = vec![
        ContentPart::Text("what is this?".to_owned()),
        ContentPart::Text(String::new()),
        ContentPart::Image(image),
    ];
    let user = body(&ChatRequest::new([ChatMessage::User { content: content.clone() }]));
    assert_eq!(
        user["messages"][0]["content"],
        json!([
            { "type": "text", "text": "what is this?" },
            { "type": "image_url", "image_url": { "url": "https://h/i.png" } },
        ])
    );
    let tool = ChatMessage::Tool { call: CallId::new("c1").unwrap(), tool: "f".to_owned(), content };
    assert_eq!(
        body(&ChatRequest::new([tool]))["messages"][0],
        json!({ "role": "tool", "tool_call_id": "c1", "content": "what is this?\n[image/png: https://h/i.png]" })
    );
}
