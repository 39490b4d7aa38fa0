//! Programs: what goes well.

use std::sync::{Arc, Mutex};

use hermes_core::{CancelHandle, Progress, ProgressSink, ToolError, ToolSource as _};
use hermes_inmemory::InMemoryStore;
use hermes_mcp::{Health, Pins};
use serde_json::{Value, json};

use crate::script::scripted;
use crate::{context, json, names, soon, tool, until};

#[tokio::test]
async fn a_tool_is_listed_called_and_ended() {
    let client = soon(scripted("s", "plain").connect()).await.unwrap();
    let info = client.info().unwrap();
    assert_eq!(
        (info.name.as_str(), info.version.as_str(), info.instructions.as_deref()),
        ("scripted", "1", Some("be kind"))
    );
    assert_eq!(info.protocol, "2025-11-25");
    let output = soon(tool(&client, "s_echo").call(json(json!({ "a": 1 })), context())).await.unwrap();
    assert_eq!(output.value, json!({ "a": 1 }));
    assert_eq!(client.health(), Health::Connected);
    let kept = tool(&client, "s_echo");
    soon(client.shutdown()).await;
    assert_eq!(client.health(), Health::Closed);
    let error = soon(kept.call(json(json!({})), context())).await.unwrap_err();
    assert!(matches!(&error, ToolError::Failed { .. }) && error.to_string().contains("shut down"), "{error}");
    // Twice does no harm.
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn g16_stray_lines_are_passed_over() {
    let client = soon(scripted("s", "noise").connect()).await.unwrap();
    for n in 0..3 {
        let output = soon(tool(&client, "s_echo").call(json(json!({ "n": n })), context())).await.unwrap();
        assert_eq!(output.value, json!({ "n": n }));
    }
    // None of it was answered.
    let seen = soon(tool(&client, "s_seen").call(json(json!({})), context())).await.unwrap().value;
    for message in seen["seen"].as_array().unwrap() {
        assert!(message["method"].is_string(), "{message}");
    }
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn a_program_sees_only_the_variables_that_are_listed() {
    let server = scripted("s", "plain").env("LISTED", "x");
    let client = soon(server.connect()).await.unwrap();
    let output = soon(tool(&client, "s_env").call(json(json!({})), context())).await.unwrap();
    let seen: Vec<&str> =
        output.value["names"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(seen.contains(&"LISTED") && seen.contains(&"PATH"), "{seen:?}");
    // Cargo sets this one for tests.
    assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
    assert!(!seen.contains(&"CARGO_MANIFEST_DIR"), "{seen:?}");
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn lists_come_in_pages_and_odd_ones_cost_little() {
    let pages = soon(scripted("s", "pages").connect()).await.unwrap();
    assert_eq!(names(&pages), ["s_t1", "s_t2", "s_t3"]);
    let circle = soon(scripted("s", "circle").connect()).await.unwrap();
    assert_eq!(names(&circle), ["s_t"]);
    assert!(
        circle.skipped().iter().any(|skipped| skipped.reason.contains("circle")),
        "{:?}",
        circle.skipped()
    );
    let odd = soon(scripted("s", "odd").connect()).await.unwrap();
    assert_eq!(names(&odd), ["s_bare", "s_good"]);
    assert_eq!(odd.skipped().len(), 3, "{:?}", odd.skipped());
    let error = soon(scripted("s", "none").connect()).await.unwrap_err();
    assert!(error.to_string().contains("list of tools"), "{error}");
    for client in [pages, circle, odd] {
        soon(client.shutdown()).await;
    }
}

#[tokio::test]
async fn announced_changes_reach_whoever_waits_and_pins_withhold_them() {
    let pins = Pins::new(Arc::new(InMemoryStore::new()), hermes_testkit::sample::owner());
    let client = soon(scripted("s", "plain").pins(pins).connect()).await.unwrap();
    let before = client.tools();
    assert_eq!(before.generation, 1);
    soon(tool(&client, "s_more").call(json(json!({})), context())).await.unwrap();
    soon(client.changed(before.generation)).await;
    let after = client.tools();
    assert_eq!(after.generation, 2);
    assert!(names(&client).contains(&"s_new".to_owned()));
    // The changed one is withheld until it is approved.
    assert!(!names(&client).contains(&"s_echo".to_owned()));
    assert!(after.skipped.iter().any(|skipped| skipped.name == "echo" && skipped.reason.contains("approve")));
    assert!(client.approve("nothing").await.is_err());
    client.approve("echo").await.unwrap();
    soon(client.changed(2)).await;
    assert_eq!(tool(&client, "s_echo").spec().description, "Echoes, and more");
    soon(client.shutdown()).await;
}

#[derive(Debug, Default)]
struct Reports(Mutex<Vec<Progress>>, tokio::sync::Notify);

impl ProgressSink for Reports {
    fn report(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress);
        self.1.notify_one();
    }
}

#[tokio::test]
async fn progress_is_passed_on() {
    let client = soon(scripted("s", "plain").connect()).await.unwrap();
    let reports = Arc::new(Reports::default());
    let slow = tool(&client, "s_progress");
    let call =
        slow.call(json(json!({})), context().with_progress(Arc::clone(&reports) as Arc<dyn ProgressSink>));
    let release = async {
        // The server is in the middle of it once the last report is here.
        while reports.0.lock().unwrap().last().is_none_or(|report| report.done < 3.0) {
            reports.1.notified().await;
        }
        tool(&client, "s_more").call(json(json!({})), context()).await.unwrap();
    };
    let (output, ()) = soon(async { tokio::join!(call, release) }).await;
    assert_eq!(output.unwrap().value, json!("done"));
    let last = reports.0.lock().unwrap().last().cloned().unwrap();
    assert_eq!((last.total, last.message.as_deref()), (Some(3.0), Some("step 3")));
    soon(client.shutdown()).await;
}

/// The ids of the calls of a tool and those of the cancellations that the server has seen.
async fn seen(client: &hermes_mcp::McpClient, tool_name: &str) -> (Vec<Value>, Vec<Value>) {
    let output = soon(tool(client, "s_seen").call(json(json!({})), context())).await.unwrap();
    let seen = output.value["seen"].as_array().unwrap().clone();
    let calls = seen
        .iter()
        .filter(|message| message["params"]["name"] == tool_name)
        .map(|message| message["id"].clone());
    let cancelled = seen
        .iter()
        .filter(|message| message["method"] == "notifications/cancelled")
        .map(|message| message["params"]["requestId"].clone());
    (calls.collect(), cancelled.collect())
}

#[tokio::test]
async fn calls_cancelled_here_are_cancelled_there() {
    let client = soon(scripted("s", "plain").connect()).await.unwrap();
    let wait = tool(&client, "s_wait");
    // By the signal.
    let cancel = CancelHandle::new();
    let call = wait.call(json(json!({})), context().with_cancel(cancel.signal()));
    let raise = async {
        tool(&client, "s_echo").call(json(json!({})), context()).await.unwrap();
        cancel.cancel();
    };
    let (result, ()) = soon(async { tokio::join!(call, raise) }).await;
    assert!(matches!(result, Err(ToolError::Cancelled)));
    // By dropping the call once it is under way.
    let echo = tool(&client, "s_echo");
    tokio::select! {
        biased;
        _ = wait.call(json(json!({})), context()) => panic!("it never answers"),
        output = echo.call(json(json!({})), context()) => drop(output.unwrap()),
    }
    let (mut calls, mut cancelled) = seen(&client, "wait").await;
    while cancelled.len() < 2 {
        tokio::task::yield_now().await;
        (calls, cancelled) = seen(&client, "wait").await;
    }
    assert_eq!(calls, cancelled);
    // What is cancelled beforehand is not sent.
    let result = soon(wait.call(json(json!({})), context().with_cancel(cancel.signal()))).await;
    assert!(matches!(result, Err(ToolError::Cancelled)));
    assert_eq!(seen(&client, "wait").await.0.len(), 2);
    soon(client.shutdown()).await;
    until(&client, |health| *health == Health::Closed).await;
}

#[tokio::test]
async fn g22_a_late_answer_is_dropped() {
    let server = scripted("s", "plain").idle_timeout(std::time::Duration::from_millis(300));
    let client = soon(server.connect()).await.unwrap();
    let slow = tool(&client, "s_slow");
    let error = soon(slow.call(json(json!({ "job": 1 })), context())).await.unwrap_err();
    assert!(matches!(&error, ToolError::Unknown { .. }) && error.to_string().contains("300 ms"), "{error}");
    for job in [2, 3] {
        let output = soon(slow.call(json(json!({ "job": job })), context())).await.unwrap();
        assert_eq!(output.value, json!(format!("job {job}")));
    }
    let (calls, cancelled) = seen(&client, "slow").await;
    assert_eq!(calls.len(), 3, "job 1 was asked for once");
    assert_eq!(cancelled, calls[..1]);
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn answers_that_are_errors_or_nonsense_are_told_apart() {
    let client = soon(scripted("s", "plain").connect()).await.unwrap();
    let error = tool(&client, "s_error");
    let wrong = soon(error.call(json(json!({ "code": -32602 })), context())).await.unwrap_err();
    assert!(
        matches!(&wrong, ToolError::InvalidArguments { .. }) && wrong.to_string().contains("bad luck"),
        "{wrong}"
    );
    let failed = soon(error.call(json(json!({ "code": -32603 })), context())).await.unwrap_err();
    assert!(matches!(&failed, ToolError::Failed { .. }) && !failed.to_string().contains('<'), "{failed}");
    let lie = soon(tool(&client, "s_lie").call(json(json!({})), context())).await.unwrap();
    assert!(lie.value.as_str().unwrap().contains("hologram"), "{}", lie.value);
    let raw = soon(client.raw_call("lie", json(json!({})), None)).await.unwrap();
    assert!(raw.as_str().contains("hologram"));
    soon(client.shutdown()).await;
}
