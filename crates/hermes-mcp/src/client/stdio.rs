//! The protocol over a program's standard input and output, for the many servers that print other things there too (M3).
//!
//! A line is a message when it is a JSON object with `"jsonrpc": "2.0"` and a method, or an id with a result or an error.
//! Every other line is logged, cut to a bounded length, and passed over without an answer.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use process_wrap::tokio::ChildWrapper;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::process::ProcessReport;

/// The longest message that is taken: 16 MiB, as over HTTP. A longer line is dropped while it is read.
pub(crate) const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// The longest line of standard error that is kept whole.
const MAX_STDERR_LINE: usize = 16 * 1024;

/// How much of a stray line is logged, in bytes.
const LOGGED: usize = 200;

/// How long is waited for the last words of a program that has ended.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How long is waited for the end of a program that has closed its output.
const LAST_BREATH: Duration = Duration::from_secs(1);

/// The messages of a handshake: `initialize` and `initialized`.
const GREETINGS: u8 = 2;

/// "Please end", the same number on every Unix.
#[cfg(unix)]
const SIGTERM: i32 = 15;

struct Outgoing {
    line: Vec<u8>,
    written: oneshot::Sender<std::io::Result<()>>,
}

/// A running program as a transport.
pub(crate) struct StdioTransport {
    server: String,
    stdout: Lines<BufReader<ChildStdout>>,
    outgoing: Option<mpsc::Sender<Outgoing>>,
    stderr: Option<JoinHandle<()>>,
    child: Option<Box<dyn ChildWrapper>>,
    exited: bool,
    /// The messages of the handshake that are still to come.
    greetings: u8,
    report: Arc<ProcessReport>,
    grace: Duration,
}

impl StdioTransport {
    /// Takes over a program that has just been started with pipes on all streams.
    pub(crate) fn new(
        server: String,
        mut child: Box<dyn ChildWrapper>,
        report: Arc<ProcessReport>,
        grace: Duration,
    ) -> std::io::Result<Self> {
        let missing = || std::io::Error::other("a stream of the program is missing");
        let stdin = child.stdin().take().ok_or_else(missing)?;
        let stdout = child.stdout().take().ok_or_else(missing)?;
        let stderr = child.stderr().take().ok_or_else(missing)?;
        // One line at a time: who sends waits for the program to take what came before.
        let (outgoing, lines) = mpsc::channel(1);
        tokio::spawn(write(stdin, lines));
        let stderr = tokio::spawn(drain(server.clone(), stderr, Arc::clone(&report)));
        Ok(Self {
            server,
            stdout: Lines::new(BufReader::new(stdout), MAX_MESSAGE),
            outgoing: Some(outgoing),
            stderr: Some(stderr),
            child: Some(child),
            exited: false,
            greetings: GREETINGS,
            report,
            grace,
        })
    }

    /// The next line, or `None` when there will be no more: at the end of the output, or when the program has ended,
    /// since a child of its own may hold the output open.
    async fn next_line(&mut self) -> Option<Line> {
        loop {
            let child = self.child.as_mut()?;
            if self.exited {
                return tokio::time::timeout(LAST_WORDS, self.stdout.next()).await.ok().flatten();
            }
            tokio::select! {
                biased;
                line = self.stdout.next() => return line,
                status = child.inner_mut().wait() => {
                    self.exited = true;
                    if let Ok(status) = status {
                        self.report.ended(status);
                    }
                }
            }
        }
    }

    /// Notes how the program ended, so that whoever waits for an answer can be told.
    async fn take_leave(&mut self) {
        if let Some(child) = self.child.as_mut()
            && !self.exited
            && let Ok(Ok(status)) = tokio::time::timeout(LAST_BREATH, child.inner_mut().wait()).await
        {
            self.exited = true;
            self.report.ended(status);
        }
        if let Some(stderr) = self.stderr.as_mut() {
            let _ = tokio::time::timeout(LAST_WORDS, stderr).await;
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        let greeting = self.greetings > 0;
        self.greetings = self.greetings.saturating_sub(1);
        async move {
            let closed =
                || std::io::Error::new(std::io::ErrorKind::BrokenPipe, "the program takes no more input");
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let (written, done) = oneshot::channel();
            let outgoing = outgoing.ok_or_else(closed)?;
            if outgoing.send(Outgoing { line, written }).await.is_err() && !greeting {
                return Err(closed());
            }
            match done.await.unwrap_or_else(|_gone| Err(closed())) {
                // A program that ends at once may be gone before it is greeted. Whoever receives next learns how it ended,
                // which says more than a broken pipe.
                Err(_) if greeting => Ok(()),
                result => result,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.next_line().await {
                Some(Line::Whole(line)) => match message(&line) {
                    Parsed::Message(message) => return Some(*message),
                    Parsed::Blank => {}
                    Parsed::Stray => {
                        let start = line.get(..LOGGED).unwrap_or(&line);
                        let text = String::from_utf8_lossy(start);
                        tracing::info!(server = self.server, bytes = line.len(), %text, "a stray line on standard output");
                    }
                },
                Some(Line::TooLong(bytes)) => {
                    tracing::warn!(
                        server = self.server,
                        bytes,
                        "a line on standard output is too long and was dropped"
                    );
                }
                None => {
                    self.take_leave().await;
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // The writer ends with the last sender, and with it the program's standard input.
        self.outgoing = None;
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let mut ended = self.exited;
        if !ended {
            ended = tokio::time::timeout(self.grace / 2, child.inner_mut().wait()).await.is_ok();
        }
        #[cfg(unix)]
        if !ended {
            // A program that has just ended cannot be signalled, which is as well.
            let _ = child.signal(SIGTERM);
            ended = tokio::time::timeout(self.grace / 4, child.inner_mut().wait()).await.is_ok();
        }
        // What it started and left running is ended too.
        let _ = child.start_kill();
        if !ended {
            let _ = tokio::time::timeout(self.grace / 4, child.inner_mut().wait()).await;
        }
        Ok(())
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        if let Some(child) = self.child.as_mut() {
            let _ = child.start_kill();
        }
        if let Some(stderr) = &self.stderr {
            stderr.abort();
        }
    }
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Outgoing>) {
    while let Some(Outgoing { line, written }) = lines.recv().await {
        let result = match stdin.write_all(&line).await {
            Ok(()) => stdin.flush().await,
            Err(error) => Err(error),
        };
        let broken = result.is_err();
        // Who sent it may have stopped waiting.
        let _ = written.send(result);
        if broken {
            return;
        }
    }
}

async fn drain(server: String, stderr: ChildStderr, report: Arc<ProcessReport>) {
    let mut lines = Lines::new(BufReader::new(stderr), MAX_STDERR_LINE);
    while let Some(line) = lines.next().await {
        if let Line::Whole(line) = line {
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end();
            tracing::info!(target: "hermes_mcp::stderr", server, "{line}");
            report.say(line);
        }
    }
}

enum Parsed {
    Message(Box<RxJsonRpcMessage<RoleClient>>),
    Stray,
    Blank,
}

fn message(line: &[u8]) -> Parsed {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Parsed::Blank;
    }
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return Parsed::Stray };
    let has = |key: &str| value.get(key).is_some();
    let is_message = value.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
        && (value.get("method").is_some_and(Value::is_string)
            || (has("id") && (has("result") || has("error"))));
    if !is_message {
        return Parsed::Stray;
    }
    serde_json::from_value(value).map_or(Parsed::Stray, |message| Parsed::Message(Box::new(message)))
}

enum Line {
    Whole(Vec<u8>),
    /// It had this many bytes, which are gone.
    TooLong(usize),
}

/// Lines of bounded length. Dropping [`Lines::next`] loses nothing.
struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    dropped: usize,
    limit: usize,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    const fn new(reader: R, limit: usize) -> Self {
        Self { reader, line: Vec::new(), dropped: 0, limit }
    }

    /// The next line without its end; an unfinished last line counts as one. An error of the stream is its end.
    async fn next(&mut self) -> Option<Line> {
        loop {
            let available = self.reader.fill_buf().await.ok()?;
            if available.is_empty() {
                return (!self.line.is_empty() || self.dropped > 0).then(|| self.finish());
            }
            let (part, ends) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (available.get(..at).unwrap_or_default(), true),
                None => (available, false),
            };
            if self.dropped > 0 || self.line.len().saturating_add(part.len()) > self.limit {
                self.dropped = self.dropped.saturating_add(self.line.len()).saturating_add(part.len()).max(1);
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(ends);
            self.reader.consume(used);
            if ends {
                return Some(self.finish());
            }
        }
    }

    fn finish(&mut self) -> Line {
        match std::mem::take(&mut self.dropped) {
            0 => Line::Whole(std::mem::take(&mut self.line)),
            bytes => Line::TooLong(bytes),
        }
    }
}
