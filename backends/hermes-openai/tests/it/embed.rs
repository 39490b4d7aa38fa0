//! Embeddings against the scripted server.

use hermes_core::{EmbedError, Embedder as _, ModelError, Purpose};
use hermes_openai::{EmbeddingFormat, OpenAiEmbedder, OpenAiEmbedderConfig, PurposeHint};
use serde_json::Value;

use crate::server::{Answer, Server, answer, http, json};

fn vectors(numbers: &[(usize, [f32; 2])]) -> Answer {
    let data: Vec<Value> = numbers
        .iter()
        .map(|(index, numbers)| serde_json::json!({ "index": index, "embedding": numbers }))
        .collect();
    Answer::Pieces(vec![json(&serde_json::json!({ "data": data }).to_string())])
}

fn too_long() -> Answer {
    let body = r#"{"error":{"message":"maximum context length is 5 tokens"}}"#;
    Answer::Pieces(vec![answer("400 Bad Request", "application/json", "", body)])
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn inputs(server: &Server) -> Vec<Value> {
    let requests = server.requests();
    requests
        .iter()
        .map(|text| serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap())
        .collect()
}

fn embedder(
    server: &Server,
    change: impl FnOnce(OpenAiEmbedderConfig) -> OpenAiEmbedderConfig,
) -> OpenAiEmbedder {
    OpenAiEmbedder::with_client(&change(OpenAiEmbedderConfig::new(server.endpoint(), "m", 2)), http())
        .unwrap()
}

#[tokio::test]
async fn em1_em4_vectors_come_in_order_in_batches_and_empty_texts_are_zero() {
    let answers = vec![vectors(&[(1, [0.0, 2.0]), (0, [2.0, 0.0])]), vectors(&[(0, [0.0, -3.0])])];
    let server = Server::start(answers).await;
    let embedder = embedder(&server, |config| config.with_max_inputs(2));
    let made = embedder.embed(&texts(&["a", " \n", "b", "", "c"]), Purpose::Query).await.unwrap();
    let made: Vec<&[f32]> = made.iter().map(hermes_core::Embedding::as_slice).collect();
    assert_eq!(made, [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, -1.0]]);
    let sent: Vec<Value> = inputs(&server).into_iter().map(|body| body["input"].clone()).collect();
    assert_eq!(sent, [serde_json::json!(["a", "b"]), serde_json::json!(["c"])]);
    assert!(embedder.embed(&[], Purpose::Query).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_purpose_is_told_as_the_service_wants_it() {
    let prefix = PurposeHint::TextPrefix { query: "query: ".to_owned(), passage: "passage: ".to_owned() };
    for (hint, query, passage) in [
        (
            PurposeHint::None,
            r#"{"model":"m","input":["a"],"encoding_format":"float"}"#,
            r#"{"model":"m","input":["a"],"encoding_format":"float"}"#,
        ),
        (
            PurposeHint::InputType,
            r#"{"model":"m","input":["a"],"encoding_format":"float","input_type":"query"}"#,
            r#"{"model":"m","input":["a"],"encoding_format":"float","input_type":"passage"}"#,
        ),
        (
            PurposeHint::ModelSuffix,
            r#"{"model":"m-query","input":["a"],"encoding_format":"float"}"#,
            r#"{"model":"m-passage","input":["a"],"encoding_format":"float"}"#,
        ),
        (
            prefix,
            r#"{"model":"m","input":["query: a"],"encoding_format":"float"}"#,
            r#"{"model":"m","input":["passage: a"],"encoding_format":"float"}"#,
        ),
    ] {
        let server = Server::start(vec![vectors(&[(0, [1.0, 0.0])]), vectors(&[(0, [1.0, 0.0])])]).await;
        let embedder = embedder(&server, |config| config.with_purpose(hint));
        for (purpose, expected) in [(Purpose::Query, query), (Purpose::Passage, passage)] {
            embedder.embed(&texts(&["a"]), purpose).await.unwrap();
            let sent = server.requests();
            assert!(sent.last().unwrap().ends_with(expected), "{sent:?}");
        }
    }
}

#[tokio::test]
async fn em4_what_is_too_long_is_parted_and_cut() {
    let long = "字".repeat(100);
    let answers =
        vec![too_long(), vectors(&[(0, [1.0, 0.0])]), too_long(), too_long(), vectors(&[(0, [0.0, 1.0])])];
    let server = Server::start(answers).await;
    let made =
        embedder(&server, |config| config).embed(&texts(&["short", &long]), Purpose::Passage).await.unwrap();
    assert_eq!((made[0].as_slice(), made[1].as_slice()), ([1.0, 0.0].as_slice(), [0.0, 1.0].as_slice()));
    let sent: Vec<Value> = inputs(&server).into_iter().map(|body| body["input"].clone()).collect();
    let cut = |chars: usize| serde_json::json!(["字".repeat(chars)]);
    assert_eq!(sent[1..], [serde_json::json!(["short"]), cut(100), cut(50), cut(25)]);
}

#[tokio::test]
async fn a_short_text_that_is_too_long_and_a_wrong_dimension_are_errors() {
    let server = Server::start(vec![too_long()]).await;
    let error =
        embedder(&server, |config| config).embed(&texts(&["short"]), Purpose::Query).await.unwrap_err();
    assert!(matches!(error, EmbedError::Service(ModelError::ContextTooLong { .. })), "{error:?}");

    let server = Server::once(json(r#"{"data":[{"embedding":[1,2,3]}]}"#)).await;
    let embedder = embedder(&server, |config| config.with_format(EmbeddingFormat::Base64));
    let error = embedder.embed(&texts(&["a"]), Purpose::Query).await.unwrap_err();
    assert!(matches!(error, EmbedError::Dimension { expected: 2, actual: 3 }), "{error:?}");
    assert_eq!(inputs(&server)[0]["encoding_format"], "base64");
}
