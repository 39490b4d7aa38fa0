//! A service with an OpenAI-compatible interface whose answers are written by the test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What the service answers to a request.
pub(crate) enum Reply {
    /// These pieces of text.
    Text(Vec<&'static str>),
    /// A call of a tool with these arguments.
    Call(&'static str, Value),
    /// This piece, and then nothing more for as long as the client waits.
    Endless(&'static str),
}

/// What came in: the header lines and the body.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Service {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Service {
    /// Serves answers by a function of the request's body, each connection in a thread of its own.
    pub(crate) fn start(answer: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen) = (Arc::new(answer), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                std::thread::spawn(move || serve(stream.unwrap(), &*answer, &seen));
            }
        });
        Self { url, requests }
    }

    /// One that always says the same.
    pub(crate) fn saying(text: &'static str) -> Self {
        Self::start(move |_| Reply::Text(vec![text]))
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The messages of the request with this number, from 0.
    #[track_caller]
    pub(crate) fn messages(&self, number: usize) -> Vec<Value> {
        self.requests()[number].body["messages"].as_array().unwrap().clone()
    }
}

/// Whether a request asks for what is worth remembering, and not for an answer.
pub(crate) fn is_extraction(body: &Value) -> bool {
    !body["response_format"].is_null()
}

/// The role and text of each message.
pub(crate) fn said(messages: &[Value]) -> Vec<(String, String)> {
    let text = |content: &Value| match content {
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    messages
        .iter()
        .map(|message| (message["role"].as_str().unwrap().to_owned(), text(&message["content"])))
        .collect()
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Value) -> Reply, seen: &Mutex<Vec<Request>>) {
    let Some(request) = read(&stream) else { return };
    if request.head.starts_with("GET ") {
        let models =
            json!({ "object": "list", "data": [{ "id": "scripted", "object": "model" }] }).to_string();
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json";
        let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{models}", models.len());
        return;
    }
    let reply = answer(&request.body);
    seen.lock().unwrap().push(request);
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";
    let _ = stream.write_all(head.as_bytes());
    match reply {
        Reply::Text(pieces) => {
            for piece in pieces {
                let _ = stream.write_all(delta(&json!({ "content": piece }), None).as_bytes());
            }
            finish(&mut stream, "stop");
        }
        Reply::Call(name, arguments) => {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            let call =
                json!({ "index": 0, "id": format!("call-{name}"), "type": "function", "function": function });
            let _ = stream.write_all(delta(&json!({ "tool_calls": [call] }), None).as_bytes());
            finish(&mut stream, "tool_calls");
        }
        Reply::Endless(piece) => {
            let _ = stream.write_all(delta(&json!({ "content": piece }), None).as_bytes());
            // Until the client goes.
            let _ = stream.read(&mut [0]);
        }
    }
}

fn finish(stream: &mut TcpStream, reason: &str) {
    let end = delta(&json!({}), Some(reason));
    let _ = stream.write_all(format!("{end}data: [DONE]\n\n").as_bytes());
}

fn delta(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    let chunk =
        json!({ "id": "1", "object": "chat.completion.chunk", "model": "scripted", "choices": [choice] });
    format!("data: {chunk}\n\n")
}

/// A request; `None` when the client has gone.
fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Request { head, body: serde_json::from_slice(&body).unwrap_or_default() })
}
