//! Whole calls through a registry, against the in-memory stores.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what is wrong by stopping"
)]

mod artifact;
mod batch;
mod contract;
mod execute;
mod fill;
mod given;
mod resume;
mod source;
mod wrong;

use std::sync::{Arc, Mutex};

use hermes_core::{
    CallContext, CallId, CallStarted, Effect, FailureKind, Outcome, StoreError, ToolCall, ToolError,
    ToolOutcome, ToolSpec, async_trait,
};
use hermes_inmemory::InMemoryStore;
use hermes_testkit::sample;
use hermes_tools::{ExecuteOptions, Executed, Journal, ToolRegistry};
use serde_json::{Value, json};

/// A registry whose keys and artifacts are in memory.
fn registry() -> (ToolRegistry, InMemoryStore) {
    let store = InMemoryStore::new();
    (ToolRegistry::new().with_idempotency(store.clone()).with_artifacts(store.clone()), store)
}

/// A contract that takes any object.
fn open(name: &str, effect: Effect) -> ToolSpec {
    ToolSpec::new(name, "")
        .input_schema(json!({ "type": "object", "additionalProperties": true }))
        .effect(effect)
}

/// A tool that gives its arguments back.
fn echo(registry: &ToolRegistry, spec: ToolSpec) {
    registry
        .register(spec, |value: Value, _: CallContext| async move { Ok::<Value, ToolError>(value) })
        .unwrap();
}

async fn run(registry: &ToolRegistry, call: &ToolCall, context: &CallContext) -> ToolOutcome {
    done(registry.execute(call, context.clone(), &ExecuteOptions::default()).await.unwrap())
}

fn done(executed: Executed) -> ToolOutcome {
    match executed {
        Executed::Done(outcome) => outcome,
        other => panic!("not done: {other:?}"),
    }
}

fn output(outcome: &ToolOutcome) -> &Value {
    match &outcome.result {
        Outcome::Success { output, .. } => output,
        Outcome::Failure { kind, error } => panic!("{kind:?}: {error}"),
    }
}

fn error(outcome: &ToolOutcome) -> (FailureKind, &str) {
    match &outcome.result {
        Outcome::Failure { kind, error } => (*kind, error),
        Outcome::Success { output, .. } => panic!("it worked: {output}"),
    }
}

fn call(tool: &str, arguments: &str) -> ToolCall {
    ToolCall::new(CallId::generate(), tool, arguments)
}

/// A journal that remembers, or refuses.
#[derive(Debug, Clone, Default)]
struct Notes {
    entries: Arc<Mutex<Vec<CallStarted>>>,
    refuses: bool,
}

#[async_trait]
impl Journal for Notes {
    async fn started(&self, entry: &CallStarted) -> Result<(), StoreError> {
        if self.refuses {
            return Err(StoreError::Invalid { what: "lease", reason: "it was lost".to_owned() });
        }
        self.entries.lock().unwrap().push(entry.clone());
        Ok(())
    }
}

fn context() -> CallContext {
    sample::call_context()
}
