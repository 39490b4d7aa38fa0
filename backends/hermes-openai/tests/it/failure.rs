//! Failures, each with its error, and none of them with the key.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use hermes_core::{ChatModel as _, ChatModelExt as _, Clock, ModelError};
use hermes_openai::{Endpoint, OpenAiConfig, OpenAiModel};
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::server::{Answer, SSE_HEAD, Server, answer, chunk, hello, http, sse};

const KEY: &str = "sk-do-not-tell-4711";

/// All that an error says, with its sources and by all ways of printing.
fn all_of(error: &dyn Error) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(" {error} {error:?}"));
        source = error.source();
    }
    text
}

fn keyed(server: &Server) -> OpenAiModel {
    let config = OpenAiConfig::new(server.endpoint().with_api_key(KEY).with_header("x-token", KEY), "m");
    OpenAiModel::with_client(&config, http()).unwrap()
}

#[derive(Debug)]
struct At(Timestamp);

impl Clock for At {
    fn now(&self) -> Timestamp {
        self.0
    }
}

#[tokio::test]
async fn no_error_and_no_debug_form_holds_the_key() {
    let quoting =
        format!(r#"{{"error":{{"message":"{}Incorrect API key provided: {KEY}"}}}}"#, "x".repeat(460));
    for status in
        ["400 Bad Request", "401 Unauthorized", "404 Not Found", "429 Slow", "500 Oops", "302 Found"]
    {
        let headers = format!("Location: http://h/?key={KEY}\r\n");
        let server = Server::once(answer(status, "application/json", &headers, &quoting)).await;
        let model = keyed(&server);
        assert!(!format!("{model:?}").contains("4711"));
        let error = model.ask(hello()).await.unwrap_err();
        assert!(!all_of(&error).contains("sk-do-not"), "{}", all_of(&error));
    }
    let streamed = format!("data: {{\"error\":{{\"message\":\"wrong key {KEY}\"}}}}\n\n");
    let server = Server::start(vec![sse(&[streamed.as_bytes()])]).await;
    let error = keyed(&server).ask(hello()).await.unwrap_err();
    assert!(matches!(error, ModelError::Server { .. }) && !all_of(&error).contains(KEY), "{error:?}");

    let server = Server::start(Vec::new()).await;
    let error = keyed(&server).ask(hello()).await.unwrap_err();
    assert!(matches!(error, ModelError::Interrupted { .. }) && !all_of(&error).contains(KEY), "{error:?}");

    let config = OpenAiConfig::new(Endpoint::new("http://127.0.0.1").with_api_key(format!("{KEY}\n")), "m");
    let error = OpenAiModel::new(&config).unwrap_err();
    assert!(matches!(error, ModelError::Config { .. }) && !all_of(&error).contains(KEY), "{error:?}");
    assert!(!format!("{config:?}").contains(KEY));
}

#[tokio::test]
async fn a_limit_says_how_long_to_wait() {
    for (header, seconds) in [
        ("Retry-After: 7\r\n", Some(7)),
        ("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(8)),
        ("", None),
    ] {
        let server = Server::once(answer("429 Too Many Requests", "application/json", header, "{}")).await;
        let clock = At("1994-11-06T08:49:29Z".parse().unwrap());
        let error = server.model().with_clock(Arc::new(clock)).ask(hello()).await.unwrap_err();
        assert_eq!(error.retry_after(), seconds.map(Duration::from_secs));
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn nobody_there_is_said_with_the_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let config = OpenAiConfig::new(Endpoint::new(format!("{url}?key={KEY}")), "m");
    let error = OpenAiModel::with_client(&config, http()).unwrap().ask(hello()).await.unwrap_err();
    let ModelError::Unreachable { url: told, .. } = &error else { unreachable!("{error:?}") };
    assert_eq!(told, &format!("{url}/v1/chat/completions"));
    assert!(!all_of(&error).contains(KEY));
}

#[tokio::test]
async fn silence_ends_in_an_error() {
    let piece = chunk(b"data: {\"choices\":[{\"delta\":{\"content\":\"one\"}}]}\n\n");
    let (gone, mut left) = mpsc::channel(3);
    let begun = [SSE_HEAD.as_bytes(), &piece].concat();
    let answers = [Vec::new(), SSE_HEAD.as_bytes().to_vec(), begun];
    let server =
        Server::start(answers.into_iter().map(|bytes| Answer::Hang(bytes, gone.clone())).collect()).await;

    // No head, no first byte, no next one.
    let patience = [Duration::from_millis(50), Duration::from_secs(60)];
    for (first_byte, idle) in [(0, 1), (0, 1), (1, 0)] {
        let mut endpoint = server.endpoint();
        endpoint.first_byte_timeout = patience[first_byte];
        endpoint.idle_timeout = patience[idle];
        let model = OpenAiModel::with_client(&OpenAiConfig::new(endpoint, "m"), http()).unwrap();
        let error = model.ask(hello()).await.unwrap_err();
        assert!(matches!(error, ModelError::TimedOut { waited } if waited == patience[0]), "{error:?}");
        left.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_whole_answer_stands_though_its_end_is_missing() {
    let whole = b"data: {\"choices\":[{\"delta\":{\"content\":\"one\"},\"finish_reason\":\"stop\"}]}\n\n";
    let (gone, _left) = mpsc::channel(2);
    let mut marked = whole.to_vec();
    marked.extend(b"data: [DONE]\n\n");
    let answers = [whole.to_vec(), marked].map(|body| [SSE_HEAD.as_bytes(), &chunk(&body)].concat());
    let server =
        Server::start(answers.into_iter().map(|bytes| Answer::Hang(bytes, gone.clone())).collect()).await;
    let mut endpoint = server.endpoint();
    endpoint.idle_timeout = Duration::from_millis(40);
    let model = OpenAiModel::with_client(&OpenAiConfig::new(endpoint, "m"), http()).unwrap();
    for _ in 0..2 {
        assert_eq!(model.ask(hello()).await.unwrap().text, "one");
    }
}

#[tokio::test]
async fn an_error_in_the_stream_comes_after_what_was_said() {
    let body: [&[u8]; 2] = [
        b"data: {\"choices\":[{\"delta\":{\"content\":\"one\"}}]}\n\n",
        b"data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n",
    ];
    let server = Server::start(vec![sse(&body)]).await;
    let mut stream = server.model().stream(hello()).await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    assert!(matches!(stream.next().await, Some(Err(ModelError::RateLimited { .. }))));
    assert!(stream.next().await.is_none());
}

#[test]
fn a_model_without_a_name_is_refused() {
    let error = OpenAiModel::new(&OpenAiConfig::new(Endpoint::new("http://127.0.0.1"), " ")).unwrap_err();
    assert!(error.to_string().contains("OPENAI_MODEL"), "{error}");
}
