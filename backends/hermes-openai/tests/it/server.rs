//! A server that answers each connection's requests with given bytes, cut as a test wants them.

use std::sync::{Arc, Mutex};

use hermes_core::{ChatMessage, ChatRequest};
use hermes_openai::{Endpoint, OpenAiConfig, OpenAiModel};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What is done with a request.
pub(crate) enum Answer {
    /// These pieces, each written and flushed by itself.
    Pieces(Vec<Vec<u8>>),
    /// These bytes; then the connection is closed.
    Cut(Vec<u8>),
    /// These bytes; then the connection stays open and silent until the client goes, which is told.
    Hang(Vec<u8>, mpsc::Sender<()>),
}

/// What the server has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) connections: usize,
    /// Heads and bodies, one text a request.
    pub(crate) requests: Vec<String>,
}

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) seen: Arc<Mutex<Seen>>,
}

impl Server {
    /// A server that gives these answers in turn, over as many connections as come.
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let answers = Arc::new(Mutex::new(answers.into_iter()));
        let shared = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Each piece goes out by itself and at once.
                stream.set_nodelay(true).unwrap();
                shared.lock().unwrap().connections += 1;
                let (seen, answers) = (Arc::clone(&shared), Arc::clone(&answers));
                tokio::spawn(async move {
                    let mut stream = stream;
                    while let Some(request) = request(&mut stream).await {
                        seen.lock().unwrap().requests.push(request);
                        let next = answers.lock().unwrap().next();
                        match next {
                            Some(Answer::Pieces(pieces)) => {
                                for piece in pieces {
                                    if stream.write_all(&piece).await.is_err() {
                                        return;
                                    }
                                    stream.flush().await.unwrap();
                                    tokio::task::yield_now().await;
                                }
                            }
                            Some(Answer::Cut(bytes)) => {
                                stream.write_all(&bytes).await.unwrap();
                                return;
                            }
                            Some(Answer::Hang(bytes, gone)) => {
                                stream.write_all(&bytes).await.unwrap();
                                let mut rest = [0; 16];
                                while stream.read(&mut rest).await.is_ok_and(|n| n > 0) {}
                                let _ = gone.send(()).await;
                                return;
                            }
                            None => return,
                        }
                    }
                });
            }
        });
        Self { url, seen }
    }

    /// A server that gives one answer and then closes the connection.
    pub(crate) async fn once(answer: impl Into<Vec<u8>>) -> Self {
        Self::start(vec![Answer::Cut(answer.into())]).await
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::new(&self.url)
    }

    pub(crate) fn model(&self) -> OpenAiModel {
        OpenAiModel::with_client(&OpenAiConfig::new(self.endpoint(), "m"), http()).unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }
}

/// A client that no proxy of the environment stands before.
pub(crate) fn http() -> reqwest::Client {
    // Without a provider for TLS the client would not be made.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

pub(crate) fn hello() -> ChatRequest {
    ChatRequest::new([ChatMessage::user("hello")])
}

/// One request, head and body; `None` when the client has gone.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.ok()?;
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(piece.get(..read).unwrap());
    }
}

/// An answer with this status and body, after which the connection can be used again.
pub(crate) fn answer(status: &str, kind: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub(crate) fn json(body: &str) -> Vec<u8> {
    answer("200 OK", "application/json", "", body)
}

/// The head of a stream, chunked.
pub(crate) const SSE_HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A chunk of a chunked body.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// A whole streamed answer of these pieces, each a chunk of its own.
pub(crate) fn sse(pieces: &[&[u8]]) -> Answer {
    let mut all = vec![SSE_HEAD.as_bytes().to_vec()];
    all.extend(pieces.iter().map(|piece| chunk(piece)));
    all.push(b"0\r\n\r\n".to_vec());
    Answer::Pieces(all)
}
