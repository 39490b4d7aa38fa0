//! A small HTTP server that does what a test wants.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// What is answered.
#[derive(Debug)]
pub(crate) enum Response {
    Json {
        status: u16,
        session: Option<String>,
        body: Value,
    },
    Status(u16, Vec<(&'static str, String)>),
    /// The connection is closed without an answer.
    Cut,
    /// There is never an answer.
    Never,
}

pub(crate) fn result(request: &Request, session: Option<&str>, result: Value) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result });
    Response::Json { status: 200, session: session.map(str::to_owned), body }
}

/// The answer to `initialize`.
pub(crate) fn welcome(request: &Request, session: Option<&str>) -> Response {
    result(
        request,
        session,
        json!({
            "protocolVersion": request.body["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "web", "version": "1" },
        }),
    )
}

/// One tool, `echo`.
pub(crate) fn tools(request: &Request) -> Response {
    result(request, None, json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] }))
}

/// The arguments of a call, as text.
pub(crate) fn echo(request: &Request) -> Response {
    let text = request.body["params"]["arguments"].to_string();
    result(request, None, json!({ "content": [{ "type": "text", "text": text }] }))
}

/// A running server; it ends, with its connections, when it is dropped.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl Web {
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) async fn start(answer: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), answer).await
    }

    pub(crate) async fn start_at(
        address: SocketAddr,
        answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(answer);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let answer = Arc::clone(&answer);
                connections.spawn(async move {
                    // A client may leave at any time.
                    let _ = serve(stream, answer.as_ref()).await;
                });
            }
        });
        Self { address, _tasks: tasks }
    }
}

async fn serve(
    stream: TcpStream,
    answer: &(dyn Fn(&Request) -> Response + Send + Sync),
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if stream.read_line(&mut first).await? == 0 {
            return Ok(());
        }
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = headers
            .iter()
            .find(|(name, _)| name == "content-length")
            .map_or(0, |(_, value)| value.parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let request = Request {
            method: first.split(' ').next().unwrap_or_default().to_owned(),
            headers,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        };
        let (status, extra, body) = match answer(&request) {
            Response::Json { status, session, body } => {
                let mut extra = vec![("content-type", "application/json".to_owned())];
                extra.extend(session.map(|session| ("mcp-session-id", session)));
                (status, extra, body.to_string())
            }
            Response::Status(status, extra) => (status, extra, String::new()),
            Response::Cut => return Ok(()),
            Response::Never => std::future::pending().await,
        };
        let mut head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in extra {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await?;
        stream.flush().await?;
    }
}
