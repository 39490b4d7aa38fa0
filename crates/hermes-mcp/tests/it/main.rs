//! Connections to scripted servers (a child that is this very program, or a small HTTP server) and to real ones.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "helpers of tests say what is wrong by stopping, and take what `json!` gives"
)]

mod faults;
mod http;
mod real;
mod script;
mod stdio;
mod web;

use std::sync::Arc;
use std::time::Duration;

use hermes_core::{CallContext, JsonText, Tool, ToolSource};
use hermes_mcp::{Health, McpClient};
use serde_json::Value;

/// How long anything may take before a test is given up.
const PATIENCE: Duration = Duration::from_secs(60);

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.unwrap_or_else(|_late| panic!("it took too long"))
}

fn tool(client: &McpClient, name: &str) -> Arc<dyn Tool> {
    let tools = client.tools().tools;
    let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    tools
        .into_iter()
        .find(|tool| tool.spec().name == name)
        .unwrap_or_else(|| panic!("{name} is not among {names:?}"))
}

fn names(client: &McpClient) -> Vec<String> {
    client.tools().tools.iter().map(|tool| tool.spec().name.clone()).collect()
}

fn context() -> CallContext {
    hermes_testkit::sample::call_context()
}

fn json(value: Value) -> JsonText {
    JsonText::from(&value)
}

/// Waits until the health fits.
async fn until(client: &McpClient, fits: impl Fn(&Health) -> bool) -> Health {
    let mut health = client.health();
    while !fits(&health) {
        health = soon(client.health_changed(&health)).await;
    }
    health
}
