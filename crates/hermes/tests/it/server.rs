//! An MCP server with the tools of a given case: this test program, started again. A call answers with the arguments that came.

use std::io::{BufRead as _, Write as _};

use hermes::mcp::McpClient;
use serde_json::{Value, json};

use crate::given::case;

const CASE: &str = "HERMES_TEST_CASE";

/// Connects to a server that has the tools of a case.
pub(crate) async fn connect(prefix: &str, id: &str) -> McpClient {
    let program = std::env::current_exe().unwrap();
    McpClient::stdio(prefix, program.to_str().unwrap())
        .args(["--exact", "server::child", "--nocapture", "--test-threads=1"])
        .env(CASE, id)
        .connect()
        .await
        .unwrap()
}

/// Not a test by itself: the server's process. Without a case it does nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "the case comes by the environment")]
fn child() {
    let Ok(id) = std::env::var(CASE) else { return };
    let tools = tools(&case(&id)["input"]["tools"]);
    // The harness has begun a line of its own.
    say(&Value::Null);
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let Some(number) = request.get("id") else { continue };
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "given", "version": "1" }
            }),
            Some("tools/list") => json!({ "tools": tools }),
            Some("tools/call") => {
                let arguments = request["params"].get("arguments").cloned().unwrap_or(json!({}));
                json!({ "content": [], "structuredContent": { "came": arguments } })
            }
            _ => json!({}),
        };
        say(&json!({ "jsonrpc": "2.0", "id": number, "result": result }));
    }
}

/// The tools as a server lists them; a case of another kind names its schema otherwise.
fn tools(given: &Value) -> Vec<Value> {
    let listed = |tool: &Value| {
        let schema = tool.get("inputSchema").or_else(|| tool.get("input_schema"));
        json!({ "name": tool["name"], "description": tool.get("description"), "inputSchema": schema })
    };
    given.as_array().unwrap().iter().map(listed).collect()
}

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{message}").unwrap();
    out.flush().unwrap();
}
