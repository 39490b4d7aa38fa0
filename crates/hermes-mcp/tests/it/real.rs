//! Servers of others, over both transports.

use std::sync::{Arc, Mutex};

use hermes_core::{Progress, ProgressSink, ToolError, ToolSource as _};
use hermes_mcp::{Health, McpClient, McpServer, Stdio};
use serde_json::{Value, json};

use crate::{context, json, names, soon, tool};

/// A server of the list; `None` when it is not there, which has been said.
fn listed(name: &str) -> Option<McpServer<Stdio>> {
    let list = hermes_testkit::server::url("mcp_servers")?;
    let list = std::fs::read_to_string(list).unwrap();
    let command = list.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
    let Some(command) = command else { panic!("{name} is not in the list of servers") };
    let mut words = command.split_whitespace();
    let program = words.next().unwrap();
    Some(McpClient::stdio(name, program).args(words))
}

async fn text(client: &McpClient, name: &str, arguments: Value) -> String {
    let output = soon(tool(client, name).call(json(arguments), context())).await;
    match output.unwrap_or_else(|error| panic!("{name}: {error}")).value {
        Value::String(text) => text,
        value => value.to_string(),
    }
}

#[derive(Debug, Default)]
struct Reports(Mutex<Vec<Progress>>);

impl ProgressSink for Reports {
    fn report(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress);
    }
}

async fn everything(client: &McpClient) {
    assert!(client.skipped().is_empty(), "{:?}", client.skipped());
    assert!(text(client, "everything_echo", json!({ "message": "你好" })).await.contains("你好"));
    assert!(text(client, "everything_get-sum", json!({ "a": 2, "b": 40 })).await.contains("42"));
    let image = text(client, "everything_get-tiny-image", json!({})).await;
    assert!(image.contains("image/png") && image.len() < 600, "{image}");
    let structured =
        text(client, "everything_get-structured-content", json!({ "location": "Chicago" })).await;
    assert!(structured.contains("temperature"), "{structured}");
    let links = text(client, "everything_get-resource-links", json!({ "count": 2 })).await;
    assert!(links.contains("[link "), "{links}");
    let reports = Arc::new(Reports::default());
    let long = tool(client, "everything_trigger-long-running-operation");
    let with_progress = context().with_progress(Arc::clone(&reports) as Arc<dyn ProgressSink>);
    soon(long.call(json(json!({ "duration": 1, "steps": 2 })), with_progress)).await.unwrap();
    assert!(!reports.0.lock().unwrap().is_empty());
    let wrong = soon(tool(client, "everything_get-sum").call(json(json!({ "a": "x" })), context())).await;
    assert!(matches!(wrong, Err(ToolError::Failed { .. } | ToolError::InvalidArguments { .. })), "{wrong:?}");
}

#[tokio::test]
async fn everything_over_stdio() {
    let Some(server) = listed("everything") else { return };
    let client = soon(server.connect()).await.unwrap();
    everything(&client).await;
    // M8: it sees what it is given and no more.
    let environment = text(&client, "everything_get-env", json!({})).await;
    assert!(environment.contains("PATH") && !environment.contains("CARGO"), "{environment}");
    soon(client.shutdown()).await;
    assert_eq!(client.health(), Health::Closed);
}

#[tokio::test]
async fn everything_over_http() {
    let Some(url) = hermes_testkit::server::url("mcp_http") else { return };
    let client = soon(McpClient::http("everything", url).connect()).await.unwrap();
    assert_eq!(client.info().unwrap().protocol, "2025-11-25");
    everything(&client).await;
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn others_over_stdio() {
    for (name, call, arguments) in [
        ("filesystem", "list_allowed_directories", json!({})),
        ("memory", "read_graph", json!({})),
        (
            "sequential-thinking",
            "sequentialthinking",
            json!({ "thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 }),
        ),
        ("time", "get_current_time", json!({ "timezone": "Asia/Shanghai" })),
        ("sqlite", "list_tables", json!({})),
    ] {
        let Some(server) = listed(name) else { return };
        let client = soon(server.connect()).await.unwrap();
        assert!(client.skipped().is_empty(), "{name}: {:?}", client.skipped());
        assert!(!text(&client, &format!("{name}_{call}"), arguments).await.is_empty());
        soon(client.shutdown()).await;
    }
    for (name, expected) in [("git", "git_git_status"), ("fetch", "fetch_fetch")] {
        let Some(server) = listed(name) else { return };
        let client = soon(server.trust_annotations().connect()).await.unwrap();
        assert!(names(&client).contains(&expected.to_owned()), "{:?}", names(&client));
        assert!(client.tools().skipped.is_empty());
        soon(client.shutdown()).await;
    }
}
