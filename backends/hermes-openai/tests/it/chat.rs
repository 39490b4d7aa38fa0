//! Streams, their cuts and their ends.

use base64::Engine as _;
use futures_util::StreamExt as _;
use hermes_core::{ChatEvent, ChatModel as _, ChatModelExt as _, FinishReason, ModelError, Usage};
use hermes_openai::{Endpoint, OpenAiConfig, OpenAiModel, models};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::server::{Answer, SSE_HEAD, Server, chunk, hello, http, json, sse};

const CASES: &str = include_str!("../../../../cases/given.jsonl");

fn case(id: &str) -> Value {
    let mut cases = CASES.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.find(|case| case["id"] == id).unwrap()
}

#[tokio::test]
async fn g23_a_character_may_be_cut_anywhere() {
    let case = case("g23");
    let encoded = case["input"]["body_base64"].as_str().unwrap();
    let body = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
    let text = case["expect"]["values"]["text"].as_str().unwrap();
    let mut cuts: Vec<Vec<&[u8]>> = (1..body.len()).map(|at| vec![&body[..at], &body[at..]]).collect();
    cuts.push(body.chunks(1).collect());
    cuts.push(vec![&body]);
    let server = Server::start(cuts.iter().map(|pieces| sse(pieces)).collect()).await;
    let model = server.model();
    for (at, _) in cuts.iter().enumerate() {
        let reply = model.ask(hello()).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), (text, Some(FinishReason::Stop)), "cut {at}");
    }
    // Read to their ends, the answers all came over one connection.
    assert_eq!(server.seen.lock().unwrap().connections, 1);
}

#[tokio::test]
async fn g23_a_wrong_byte_is_an_error_and_a_mark_at_the_beginning_is_none() {
    let wrong = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xFF\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let server = Server::start(vec![sse(&[wrong])]).await;
    assert!(matches!(server.model().ask(hello()).await, Err(ModelError::BadResponse { .. })));

    let marked: &[u8] =
        b"\xEF\xBB\xBFdata: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}";
    for pieces in [vec![marked], vec![&marked[..1], &marked[1..2], &marked[2..]]] {
        let server = Server::start(vec![sse(&pieces)]).await;
        assert_eq!(server.model().ask(hello()).await.unwrap().text, "a");
    }
}

#[tokio::test]
async fn g24_interleaved_calls_comments_and_usage_at_the_end() {
    let case = case("g24");
    let lines = case["input"]["events"].as_array().unwrap();
    let pieces: Vec<Vec<u8>> =
        lines.iter().map(|line| format!("{}\n\n", line.as_str().unwrap()).into_bytes()).collect();
    let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
    let server = Server::start(vec![sse(&pieces)]).await;
    let reply = server.model().ask(hello()).await.unwrap();

    let calls: Vec<Value> = reply
        .calls
        .iter()
        .map(|call| {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            serde_json::json!({ "id": call.id.as_str(), "name": call.name, "arguments": arguments })
        })
        .collect();
    let expected = &case["expect"]["values"];
    assert_eq!(Value::from(calls), expected["calls"]);
    assert_eq!(reply.finish, Some(FinishReason::ToolCalls));
    let usage = Usage {
        input: expected["usage"]["prompt_tokens"].as_u64().unwrap(),
        output: expected["usage"]["completion_tokens"].as_u64().unwrap(),
        ..Usage::default()
    };
    assert_eq!(reply.usage, Some(usage));
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_read_all_the_same() {
    let body = r#"{"choices":[{"message":{"content":"hi","tool_calls":[]},"finish_reason":"stop"}],"usage":{"prompt_tokens":2}}"#;
    let server = Server::once(json(body)).await;
    let events: Vec<_> = server.model().stream(hello()).await.unwrap().map(Result::unwrap).collect().await;
    assert_eq!(
        events,
        [
            ChatEvent::Text("hi".to_owned()),
            ChatEvent::Usage(Usage { input: 2, ..Usage::default() }),
            ChatEvent::Finished(FinishReason::Stop),
        ]
    );
}

#[tokio::test]
async fn text_comes_before_the_answer_is_whole_and_dropping_ends_the_request() {
    let (gone, mut left) = mpsc::channel(1);
    let mut bytes = SSE_HEAD.as_bytes().to_vec();
    bytes.extend(chunk(b"data: {\"choices\":[{\"delta\":{\"content\":\"one\"}}]}\n\n"));
    let server = Server::start(vec![Answer::Hang(bytes, gone)]).await;
    let mut stream = server.model().stream(hello()).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), ChatEvent::Text("one".to_owned()));
    drop(stream);
    left.recv().await.unwrap();
}

#[tokio::test]
async fn an_answer_that_breaks_off_ends_in_an_error() {
    let piece = b"data: {\"choices\":[{\"delta\":{\"content\":\"one\"}}]}\n\n";
    // The body ends well and the answer does not; then the body breaks off too.
    for end in [b"0\r\n\r\n".as_slice(), b"ff\r\ndata: {"] {
        let mut bytes = SSE_HEAD.as_bytes().to_vec();
        bytes.extend(chunk(piece));
        bytes.extend(end);
        let server = Server::once(bytes).await;
        let mut stream = server.model().stream(hello()).await.unwrap();
        assert_eq!(stream.next().await.unwrap().unwrap(), ChatEvent::Text("one".to_owned()));
        assert!(matches!(stream.next().await, Some(Err(ModelError::Interrupted { .. }))));
        assert!(stream.next().await.is_none());
    }
}

#[tokio::test]
async fn a_connection_that_is_closed_under_a_request_is_replaced_once() {
    let good = json(r#"{"choices":[{"message":{"content":"hi"}}]}"#);
    let answers =
        vec![Answer::Pieces(vec![good.clone()]), Answer::Cut(Vec::new()), Answer::Pieces(vec![good])];
    let server = Server::start(answers).await;
    let model = server.model();
    for _ in 0..2 {
        assert_eq!(model.ask(hello()).await.unwrap().text, "hi");
    }
    assert_eq!(server.seen.lock().unwrap().connections, 2);

    let server = Server::start(vec![Answer::Cut(Vec::new()), Answer::Cut(Vec::new())]).await;
    assert!(matches!(server.model().ask(hello()).await, Err(ModelError::Interrupted { .. })));
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn connections_are_shared_within_a_runtime_and_not_beyond() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let good = json(r#"{"choices":[{"message":{"content":"hi"}}]}"#);
    let (of_server, one, another) = (runtime(), runtime(), runtime());
    let server =
        of_server.block_on(Server::start((0..4).map(|_| Answer::Pieces(vec![good.clone()])).collect()));
    let model = || OpenAiModel::new(&OpenAiConfig::new(server.endpoint(), "m")).unwrap();
    let first = model();
    for (runtime, model, connections) in
        [(&one, &first, 1), (&one, &model(), 1), (&another, &first, 2), (&one, &first, 2)]
    {
        assert_eq!(runtime.block_on(model.ask(hello())).unwrap().text, "hi");
        assert_eq!(server.seen.lock().unwrap().connections, connections);
    }
}

#[tokio::test]
async fn models_are_listed_and_the_first_can_be_taken() {
    let list = json(r#"{"object":"list","data":[{"id":"a","meta":{"n_ctx":2048}},{"id":"b"}]}"#);
    let server = Server::start((0..3).map(|_| Answer::Pieces(vec![list.clone()])).collect()).await;
    let listed = models(&server.endpoint()).await.unwrap();
    assert_eq!(listed.iter().map(|model| model.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(server.model().models().await.unwrap(), listed);

    let model = OpenAiModel::connect(&OpenAiConfig::new(server.endpoint(), "")).await.unwrap();
    assert_eq!((model.info().id.as_str(), model.info().context_window.get()), ("a", 2048));
    assert_eq!(model.info().max_output.get(), 1024);
    assert_eq!(format!("http://{}", model.info().provider), server.url);
    assert!(server.requests().iter().all(|request| request.starts_with("GET /v1/models HTTP/1.1")));
}

#[tokio::test]
async fn the_request_goes_where_it_should_with_its_headers() {
    let server = Server::once(json(r#"{"choices":[{"message":{"content":"hi"}}]}"#)).await;
    let mut endpoint = Endpoint::new(format!("{}/api/v1/?version=2", server.url))
        .with_api_key("sk-1")
        .with_header("X-Title", "a title");
    endpoint.organization = Some("org".to_owned());
    let model = OpenAiModel::with_client(&OpenAiConfig::new(endpoint, "m"), http()).unwrap();
    model.ask(hello()).await.unwrap();
    let request = server.requests().concat();
    assert!(request.starts_with("POST /api/v1/chat/completions?version=2 HTTP/1.1"), "{request}");
    for line in [
        "authorization: Bearer sk-1",
        "x-title: a title",
        "openai-organization: org",
        "content-type: application/json",
    ] {
        assert!(request.contains(line), "{request}");
    }
    assert!(request.ends_with(
        r#"{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true,"stream_options":{"include_usage":true}}"#
    ));
}
