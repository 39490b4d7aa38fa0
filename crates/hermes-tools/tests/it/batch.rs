//! The calls of one step (T11).

use std::sync::{Arc, Mutex};

use hermes_core::{CallContext, Effect, ToolError};
use hermes_tools::{ExecuteOptions, StepCall};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::{call, context, open, output, registry};

#[tokio::test]
async fn what_only_looks_runs_together_and_effects_run_in_order() {
    let (registry, _) = registry();
    // Three calls meet at the barrier: they could not if one waited for another.
    let barrier = Arc::new(Barrier::new(3));
    let log = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&log);
    registry
        .register(open("look", Effect::ReadOnly), move |value: Value, _: CallContext| {
            let (barrier, notes) = (Arc::clone(&barrier), Arc::clone(&notes));
            async move {
                barrier.wait().await;
                notes.lock().unwrap().push(format!("look {}", value["n"]));
                Ok::<Value, ToolError>(value)
            }
        })
        .unwrap();
    let notes = Arc::clone(&log);
    registry
        .register(open("write", Effect::SideEffect), move |value: Value, _: CallContext| {
            let notes = Arc::clone(&notes);
            async move {
                notes.lock().unwrap().push(format!("begin {}", value["n"]));
                tokio::task::yield_now().await;
                notes.lock().unwrap().push(format!("end {}", value["n"]));
                Ok::<Value, ToolError>(value)
            }
        })
        .unwrap();
    let names = ["write", "write", "look", "look", "look", "write"];
    let steps: Vec<StepCall> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            StepCall::new(call(name, &json!({ "n": n }).to_string()), context(), ExecuteOptions::default())
        })
        .collect();
    let mut told = Vec::new();
    let results = registry.execute_step(&steps, |at, _| told.push(at)).await;
    let order: Vec<&Value> =
        results.iter().map(|result| &output(result.as_ref().unwrap().outcome().unwrap())["n"]).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    let log = log.lock().unwrap();
    assert_eq!(log[..4], ["begin 0", "end 0", "begin 1", "end 1"]);
    assert_eq!(log[7..], ["begin 5", "end 5"]);
    told.sort_unstable();
    assert_eq!(told, [0, 1, 2, 3, 4, 5]);
}
