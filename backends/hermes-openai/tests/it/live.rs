//! Real servers. Asserted is the shape of what they say, not the words.

use hermes_core::{
    ChatMessage, ChatModel as _, ChatModelExt as _, ChatRequest, Embedder as _, FinishReason,
    GenerationOptions, JsonText, ModelError, Purpose, Tokens, ToolChoice, ToolSpec,
};
use hermes_openai::{
    EmbeddingFormat, Endpoint, OpenAiConfig, OpenAiEmbedder, OpenAiEmbedderConfig, OpenAiModel, PurposeHint,
};
use hermes_testkit::server;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::server::http;

fn model(llm: &server::Llm) -> OpenAiModel {
    OpenAiModel::with_client(&OpenAiConfig::new(Endpoint::new(&llm.url), &llm.model), http()).unwrap()
}

fn options(max: u32) -> GenerationOptions {
    GenerationOptions {
        temperature: Some(0.0),
        max_output: Some(Tokens::new(max)),
        ..GenerationOptions::default()
    }
}

fn weather() -> Arc<ToolSpec> {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string", "description": "the city", "x-hermes-fill": "home town" } },
        "required": ["city"],
        "additionalProperties": false
    });
    Arc::new(ToolSpec::new("get_weather", "Says the weather in a city").input_schema(schema))
}

#[tokio::test]
async fn text_streams_with_usage() {
    let Some(llm) = server::llm() else { return };
    let mut request = ChatRequest::new([ChatMessage::user("Say hi in one word.")]);
    request.options = options(12);
    let reply = model(&llm).ask(request).await.unwrap();
    assert!(!reply.text.is_empty() && reply.calls.is_empty());
    assert!(matches!(reply.finish, Some(FinishReason::Stop | FinishReason::Length)));
    let usage = reply.usage.unwrap();
    assert!(usage.output > 0 && usage.input + usage.cache_read > 0, "{usage:?}");
}

#[tokio::test]
async fn a_required_call_comes_whole_and_its_result_is_answered() {
    let Some(llm) = server::llm() else { return };
    let model = model(&llm);
    let question = ChatMessage::user("What is the weather in Rome?");
    let mut request = ChatRequest::new([question.clone()]);
    request.tools = vec![weather()];
    request.tool_choice = ToolChoice::Required;
    request.options = options(64);
    let reply = model.ask(request.clone()).await.unwrap();
    assert_eq!(reply.finish, Some(FinishReason::ToolCalls));
    let call = reply.calls.first().unwrap().clone();
    assert_eq!(call.name, "get_weather");
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    assert!(arguments["city"].is_string(), "{arguments}");

    let result = ChatMessage::Tool {
        call: call.id.clone(),
        tool: call.name.clone(),
        content: vec![hermes_core::ContentPart::Text(
            r#"{"success":true,"output":"sunny, 24 °C"}"#.to_owned(),
        )],
    };
    let step = |call| ChatMessage::Assistant {
        content: Vec::new(),
        calls: vec![call],
        provider: Default::default(),
    };
    request.messages = [question.clone(), step(call.clone()), result.clone()].map(Arc::new).to_vec();
    request.tool_choice = ToolChoice::None;
    assert!(!model.ask(request.clone()).await.unwrap().text.is_empty());

    // A history with arguments that are no JSON is not refused.
    let broken = hermes_core::ToolCall { arguments: "{\"city\":".to_owned(), ..call };
    request.messages = [question, step(broken), result].map(Arc::new).to_vec();
    request.options = options(4);
    assert!(model.ask(request).await.is_ok());
}

#[tokio::test]
async fn an_answer_fits_its_schema() {
    let Some(llm) = server::llm() else { return };
    let mut request = ChatRequest::new([ChatMessage::user("Paris is the capital of which country?")]);
    let schema = r#"{"type":"object","properties":{"country":{"type":"string"}},"required":["country"],"additionalProperties":false}"#;
    request.options = options(32);
    request.options.response_schema = Some(("answer".to_owned(), JsonText::parse(schema).unwrap()));
    let reply = model(&llm).ask(request).await.unwrap();
    let answer: Value = serde_json::from_str(&reply.text).unwrap();
    assert!(answer["country"].is_string(), "{answer}");
}

#[tokio::test]
async fn the_server_says_its_model_and_window_and_refuses_what_does_not_fit() {
    let Some(llm) = server::llm() else { return };
    let model = OpenAiModel::connect(&OpenAiConfig::new(Endpoint::new(&llm.url), "")).await.unwrap();
    assert!(!model.info().id.is_empty());
    let window = usize::try_from(model.info().context_window.get()).unwrap();
    let request = ChatRequest::new([ChatMessage::user("word ".repeat(window + 100))]);
    let error = model.ask(request).await.unwrap_err();
    assert!(matches!(error, ModelError::ContextTooLong { .. }), "{error:?}");
}

#[tokio::test]
async fn em1_em2_em3_em4_embeddings_keep_the_contract() {
    let Some(live) = server::embeddings() else { return };
    let config = OpenAiEmbedderConfig::new(Endpoint::new(&live.url), &live.model, live.dimension)
        .with_purpose(PurposeHint::InputType)
        .with_max_inputs(3);
    let embedder = OpenAiEmbedder::with_client(&config, http()).unwrap();
    let texts: Vec<String> = ["我喜欢吃川菜", "", "The router's password", "🌏", "Which food do I like?"]
        .map(str::to_owned)
        .to_vec();
    let made = embedder.embed(&texts, Purpose::Passage).await.unwrap();
    assert_eq!(made.len(), texts.len());
    for (text, vector) in texts.iter().zip(&made) {
        assert_eq!(vector.as_slice().len(), live.dimension);
        let length: f32 = vector.as_slice().iter().map(|x| x * x).sum();
        assert!(vector.is_zero() || (length - 1.0).abs() < 1e-3, "{text}: {length}");
        let alone = embedder.embed(std::slice::from_ref(text), Purpose::Passage).await.unwrap();
        assert!(vector.is_zero() || vector.cosine(&alone[0]) > 1.0 - 1e-3, "{text}");
    }
    assert!(made[1].is_zero() && !made[3].is_zero());

    let packed = OpenAiEmbedder::with_client(&config.with_format(EmbeddingFormat::Base64), http()).unwrap();
    let same = packed.embed(&texts[..1], Purpose::Passage).await.unwrap();
    assert!(same[0].cosine(&made[0]) > 1.0 - 1e-3);
    let asked = packed.embed(&texts[4..], Purpose::Query).await.unwrap();
    assert!(asked[0].cosine(&made[0]) > asked[0].cosine(&made[2]));
    packed.embed(&["word ".repeat(3000)], Purpose::Passage).await.unwrap();
}
