//! A server that does what a test wants: this program, started again as a child with a script in its environment.
//!
//! The child is the test [`server`] below, run alone. What the test harness prints around it are stray lines, as any server may
//! have them.

use std::io::{BufRead as _, Write as _};

use hermes_mcp::{McpClient, McpServer, Stdio};
use serde_json::{Value, json};

const SCRIPT: &str = "HERMES_TEST_SCRIPT";

/// A server that follows a script.
pub(crate) fn scripted(prefix: &str, script: &str) -> McpServer<Stdio> {
    let program = std::env::current_exe().unwrap();
    McpClient::stdio(prefix, program.to_str().unwrap())
        .args(["--exact", "script::server", "--nocapture", "--test-threads=1"])
        .env(SCRIPT, script)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the script comes by the environment")]
fn server() {
    let Ok(script) = std::env::var(SCRIPT) else { return };
    Server::new(&script).run();
}

struct Server {
    script: String,
    out: std::io::Stdout,
    seen: Vec<Value>,
    /// The id of the call that is answered late.
    late: Option<Value>,
    more_tools: bool,
}

impl Server {
    fn new(script: &str) -> Self {
        Self {
            script: script.to_owned(),
            out: std::io::stdout(),
            seen: Vec::new(),
            late: None,
            more_tools: false,
        }
    }

    fn run(mut self) {
        if let Some(file) = self.script.strip_prefix("hung:") {
            let mut log = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
            writeln!(log, "{}", std::process::id()).unwrap();
            log.flush().unwrap();
            for line in std::io::stdin().lock().lines() {
                writeln!(log, "{}", line.unwrap()).unwrap();
            }
            return;
        }
        if self.script == "noise" {
            for n in 0..200 {
                writeln!(std::io::stderr().lock(), "warning {n}").unwrap();
            }
        }
        // The harness has begun a line of its own.
        self.write(b"\n");
        for line in std::io::stdin().lock().lines() {
            let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
            self.seen.push(message.clone());
            if let Some(id) = message.get("id") {
                self.noise();
                self.answer(id, message["method"].as_str().unwrap_or_default(), &message["params"]);
            }
        }
        if self.script == "stubborn" {
            // Does not end with its input; a signal has to do it.
            std::thread::park();
        }
    }

    fn write(&self, bytes: &[u8]) {
        let mut out = self.out.lock();
        out.write_all(bytes).unwrap();
        out.flush().unwrap();
    }

    fn send(&self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    fn result(&self, id: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn text(&self, id: &Value, text: &str) {
        self.result(id, json!({ "content": [{ "type": "text", "text": text }] }));
    }

    /// The lines of case g16.
    fn noise(&self) {
        if self.script != "noise" {
            return;
        }
        for text in [
            "Server ready v1.2\n",
            "\n",
            "- worker 3 started\n",
            "{\"level\":\"info\",\"msg\":\"cache warm\"}\n",
            "42\n",
            "null\n",
            "[]\n",
            "{\"jsonrpc\":\"2.0\"}\n",
        ] {
            self.write(text.as_bytes());
        }
        self.write(&[0x80, 0xff, 0x0a]);
        let mut long = vec![b'x'; 2_097_152];
        long.push(b'\n');
        self.write(&long);
    }

    fn answer(&mut self, id: &Value, method: &str, params: &Value) {
        match method {
            "initialize" => self.result(id, json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "scripted", "version": "1" },
                "instructions": "be\u{200b} kind",
            })),
            "tools/list" => self.list(id, params),
            "tools/call" => self.call(id, params),
            "ping" => self.result(id, json!({})),
            _ => self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no such method" } })),
        }
    }

    fn list(&self, id: &Value, params: &Value) {
        let tool =
            |name: &str| json!({ "name": name, "description": name, "inputSchema": { "type": "object" } });
        match self.script.as_str() {
            "pages" => {
                let page = params["cursor"].as_str().map_or(1, |cursor| cursor.parse::<u32>().unwrap());
                let mut result = json!({ "tools": [tool(&format!("t{page}"))] });
                if page < 3 {
                    result["nextCursor"] = json!((page + 1).to_string());
                }
                self.result(id, result);
            }
            "circle" => self.result(id, json!({ "tools": [tool("t")], "nextCursor": "again" })),
            "odd" => self.result(id, json!({ "tools": [
                tool("good"), { "name": "bad", "inputSchema": "none" }, 7, { "inputSchema": {} }, { "name": "bare" },
            ] })),
            "none" => self.result(id, json!({ "tools": 7 })),
            // As some servers do: the announcement comes with every list.
            _ => {
                self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                let mut tools: Vec<Value> =
                    ["echo", "die", "env", "wait", "slow", "seen", "progress", "more", "error", "lie"].map(tool).to_vec();
                if self.more_tools {
                    tools.push(tool("new"));
                    tools[0]["description"] = json!("Echoes, and more");
                }
                self.result(id, json!({ "tools": tools }));
            }
        }
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap() {
            "echo" | "new" => self.text(id, &arguments.to_string()),
            "die" => {
                writeln!(std::io::stderr().lock(), "panic: db gone").unwrap();
                std::process::exit(1);
            }
            "env" => {
                let names: Vec<String> =
                    std::env::vars_os().map(|(name, _)| name.into_string().unwrap()).collect();
                self.result(id, json!({ "structuredContent": { "names": names } }));
            }
            "wait" => {}
            "slow" => match arguments["job"].as_u64() {
                Some(1) => self.late = Some(id.clone()),
                Some(3) => {
                    if let Some(late) = self.late.take() {
                        self.text(&late, "job 1");
                    }
                    self.text(id, "job 3");
                }
                job => self.text(id, &format!("job {}", job.unwrap())),
            },
            "seen" => self.result(id, json!({ "structuredContent": { "seen": self.seen } })),
            "progress" => {
                for step in 1..=3 {
                    self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {
                        "progressToken": params["_meta"]["progressToken"], "progress": step, "total": 3, "message": format!("step {step}"),
                    } }));
                }
                self.late = Some(id.clone());
            }
            "more" => {
                self.more_tools = true;
                self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                if let Some(late) = self.late.take() {
                    self.text(&late, "done");
                }
                self.text(id, "ok");
            }
            "error" => {
                let code = arguments["code"].as_i64().unwrap();
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "<b>bad</b> luck" } }));
            }
            "lie" => self.result(id, json!({ "content": [{ "type": "text" }, { "type": "hologram" }, 7] })),
            other => panic!("no script for {other}"),
        }
    }
}
