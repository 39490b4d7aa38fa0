//! One call: order of writing, keys, limits, panics, approval.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hermes_core::{
    ApprovalNote, ApprovalRequest, Approver, CallContext, CancelHandle, Decision, Effect, FailureKind, Seq,
    ToolError, ToolHost as _, ToolOutput, async_trait,
};
use hermes_inmemory::InMemoryStore;
use hermes_testkit::fake::{FailingStore, Fault, ManualClock};
use hermes_testkit::sample;
use hermes_tools::{Approved, ExecuteOptions, Executed, ToolRegistry};
use serde_json::{Value, json};

use crate::{Notes, call, context, done, echo, error, open, output, registry, run};

/// A tool that counts its runs.
fn counting(registry: &ToolRegistry, name: &str, effect: Effect) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let runs = Arc::clone(&count);
    registry
        .register(open(name, effect), move |_: Value, _: CallContext| {
            let n = runs.fetch_add(1, Ordering::SeqCst) + 1;
            async move { Ok::<Value, ToolError>(json!(n)) }
        })
        .unwrap();
    count
}

#[tokio::test]
async fn an_effect_happens_once_in_a_turn_and_again_in_a_later_one() {
    let (registry, _) = registry();
    let count = counting(&registry, "pay", Effect::SideEffect);
    let first = context();
    let mut later = first.clone();
    later.turn = Seq::new(9);
    let outcome = run(&registry, &call("pay", r#"{"to":"Li","n":5}"#), &first).await;
    assert_eq!((output(&outcome), outcome.report.from_record), (&json!(1), false));
    let again = run(&registry, &call("pay", r#"{ "n": 5.0, "to": "Li" }"#), &first).await;
    assert_eq!((output(&again), again.report.from_record), (&json!(1), true));
    let wished = run(&registry, &call("pay", r#"{"to":"Li","n":5}"#), &later).await;
    assert_eq!((output(&wished), wished.report.from_record), (&json!(2), false));
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn two_at_once_run_it_once() {
    let (registry, _) = registry();
    let count = counting(&registry, "pay", Effect::SideEffect);
    let near = context();
    let (a, b) = (call("pay", "{}"), call("pay", "{}"));
    let (a, b) = tokio::join!(run(&registry, &a, &near), run(&registry, &b, &near));
    assert_eq!((output(&a), output(&b)), (&json!(1), &json!(1)));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_effect_without_a_store_for_keys_is_refused() {
    let registry = ToolRegistry::new();
    let count = counting(&registry, "pay", Effect::SideEffect);
    let outcome = run(&registry, &call("pay", "{}"), &context()).await;
    assert!(error(&outcome).1.contains("no idempotency store"));
    assert_eq!(count.load(Ordering::SeqCst), 0);
    counting(&registry, "look", Effect::ReadOnly);
    assert!(run(&registry, &call("look", "{}"), &context()).await.is_success());
}

#[tokio::test]
async fn the_journal_comes_before_the_claim_and_can_stop_the_call() {
    let store = FailingStore::new(InMemoryStore::new());
    let registry = ToolRegistry::new().with_idempotency(store.clone());
    let count = counting(&registry, "pay", Effect::SideEffect);
    let refusing = ExecuteOptions::default().with_journal(Notes { refuses: true, ..Notes::default() });
    assert!(registry.execute(&call("pay", "{}"), context(), &refusing).await.is_err());
    assert!(store.calls().is_empty());

    let notes = Notes::default();
    let options = ExecuteOptions::default().with_journal(notes.clone());
    let call = call("pay", "{\"n\":1,}");
    done(registry.execute(&call, context(), &options).await.unwrap());
    let entries = notes.entries.lock().unwrap();
    assert_eq!((entries.len(), &entries[0].call, entries[0].arguments.as_str()), (1, &call.id, "{\"n\":1}"));
    assert!(entries[0].key.is_some());
    assert_eq!(entries[0].repaired, ["removed trailing commas: 1"]);
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_eq!(store.calls(), ["IdempotencyStore::claim", "IdempotencyStore::complete"]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_stops_the_effect_before_and_not_after() {
    let store = FailingStore::new(InMemoryStore::new());
    let registry = ToolRegistry::new().with_idempotency(store.clone());
    let count = counting(&registry, "pay", Effect::SideEffect);
    store.fail_call("IdempotencyStore::claim", 1, Fault::Permanent);
    let outcome = run(&registry, &call("pay", "{}"), &context()).await;
    assert!(error(&outcome).1.contains("nothing has happened"));
    assert_eq!(count.load(Ordering::SeqCst), 0);

    let near = context();
    store.fail_call("IdempotencyStore::complete", 1, Fault::Transient);
    assert!(run(&registry, &call("pay", "{}"), &near).await.is_success());
    assert!(
        run(&registry, &call("pay", "{}"), &near).await.report.from_record,
        "it was recorded at the second try"
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_past_its_time_is_told_then_dropped() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (registry, _) = registry();
    let (told, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (tell, drops) = (Arc::clone(&told), Arc::clone(&dropped));
    for (name, effect) in [("look", Effect::ReadOnly), ("pay", Effect::SideEffect)] {
        let (tell, drops) = (Arc::clone(&tell), Arc::clone(&drops));
        registry
            .register(open(name, effect), move |_: Value, context: CallContext| {
                let (tell, guard) = (Arc::clone(&tell), Dropped(Arc::clone(&drops)));
                async move {
                    let _guard = guard;
                    context.cancel.cancelled().await;
                    tell.fetch_add(1, Ordering::SeqCst);
                    std::future::pending::<Result<Value, ToolError>>().await
                }
            })
            .unwrap();
    }
    let looked = run(&registry, &call("look", "{}"), &context()).await;
    assert_eq!(error(&looked), (FailureKind::TimedOut, "look did not finish within 10 s and was stopped."));
    let paid = run(&registry, &call("pay", "{}"), &context()).await;
    assert_eq!(error(&paid).0, FailureKind::OutcomeUnknown);
    assert_eq!((told.load(Ordering::SeqCst), dropped.load(Ordering::SeqCst)), (2, 2));
    assert_eq!(registry.stats().abandoned("look"), 0);
}

/// A tool that cancels its own call, as a user would, and then obeys.
fn obeying(registry: &ToolRegistry, name: &str, effect: Effect, handle: &CancelHandle) {
    let handle = handle.clone();
    registry
        .register(open(name, effect), move |_: Value, context: CallContext| {
            handle.cancel();
            async move {
                context.cancel.cancelled().await;
                Err::<Value, ToolError>(ToolError::Cancelled)
            }
        })
        .unwrap();
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_it_runs_is_cancelled_or_unknown() {
    let (registry, _) = registry();
    for (name, effect, kind) in [
        ("look", Effect::ReadOnly, FailureKind::Cancelled),
        ("pay", Effect::SideEffect, FailureKind::OutcomeUnknown),
    ] {
        let handle = CancelHandle::new();
        obeying(&registry, name, effect, &handle);
        let near = context().with_cancel(handle.signal());
        assert_eq!(error(&run(&registry, &call(name, "{}"), &near).await).0, kind);
        // By now it is cancelled before it runs.
        let late = run(&registry, &call(name, "{\"n\":1}"), &near).await;
        assert_eq!((error(&late).0, late.report.attempts), (FailureKind::Cancelled, 0));
    }
}

#[tokio::test]
async fn an_effect_that_ends_after_the_cancellation_is_known() {
    let (registry, _) = registry();
    let handle = CancelHandle::new();
    let stop = handle.clone();
    registry
        .register(open("pay", Effect::SideEffect), move |_: Value, context: CallContext| {
            let stop = stop.clone();
            async move {
                stop.cancel();
                context.cancel.cancelled().await;
                Ok::<Value, ToolError>(json!("paid"))
            }
        })
        .unwrap();
    let outcome = run(&registry, &call("pay", "{}"), &context().with_cancel(handle.signal())).await;
    assert_eq!(output(&outcome), &json!("paid"));
}

fn defect() -> Result<Value, ToolError> {
    panic!("a defect")
}

#[tokio::test]
async fn a_panic_is_the_tools_own() {
    let (registry, _) = registry();
    for (name, effect) in [("look", Effect::ReadOnly), ("pay", Effect::SideEffect)] {
        registry.register(open(name, effect), |_: Value, _: CallContext| async { defect() }).unwrap();
    }
    registry.register_blocking(open("block", Effect::ReadOnly), |_: Value, _| defect()).unwrap();
    assert_eq!(error(&run(&registry, &call("look", "{}"), &context()).await).0, FailureKind::Failed);
    assert_eq!(error(&run(&registry, &call("block", "{}"), &context()).await).0, FailureKind::Failed);
    let outcome = run(&registry, &call("pay", "{}"), &context()).await;
    assert_eq!(error(&outcome).0, FailureKind::OutcomeUnknown);
    assert!(!error(&outcome).1.contains("a defect"), "a panic's text stays in the logs");
    assert_eq!(registry.stats().abandoned("block"), 0);
}

#[tokio::test]
async fn what_did_nothing_may_be_called_again_and_what_failed_is_on_record() {
    let (registry, _) = registry();
    let count = Arc::new(AtomicUsize::new(0));
    let runs = Arc::clone(&count);
    registry
        .register(open("pay", Effect::SideEffect), move |value: Value, _: CallContext| {
            runs.fetch_add(1, Ordering::SeqCst);
            async move {
                Err::<Value, ToolError>(match value["how"].as_str() {
                    Some("wrong") => ToolError::InvalidArguments { message: "no such account".to_owned() },
                    Some("busy") => ToolError::transient("busy"),
                    _ => ToolError::failed("card declined"),
                })
            }
        })
        .unwrap();
    let near = context();
    for (how, runs) in [("wrong", 2), ("busy", 2), ("declined", 1)] {
        count.store(0, Ordering::SeqCst);
        let arguments = format!("{{\"how\":\"{how}\"}}");
        for _ in 0..2 {
            run(&registry, &call("pay", &arguments), &near).await;
        }
        assert_eq!(count.load(Ordering::SeqCst), runs, "{how}");
    }
    let wrong = run(&registry, &call("pay", r#"{"how":"wrong"}"#), &near).await;
    assert_eq!(
        error(&wrong),
        (
            FailureKind::InvalidArguments,
            "pay refused the arguments: no such account\nCorrect this and call pay again."
        )
    );
}

#[derive(Debug)]
struct Asks;

#[async_trait]
impl Approver for Asks {
    async fn decide(&self, request: &ApprovalRequest<'_>) -> Decision {
        match request.spec.name.as_str() {
            "pay" => Decision::Ask { reason: format!("pay {}?", request.arguments) },
            "rm" => Decision::Deny { reason: "never".to_owned() },
            _ => Decision::Allow,
        }
    }
}

#[tokio::test]
async fn a_person_decides_about_what_was_shown() {
    let (registry, _) = registry();
    let registry = registry.with_approver(Asks).with_clock(ManualClock::default());
    let count = counting(&registry, "pay", Effect::SideEffect);
    counting(&registry, "rm", Effect::SideEffect);
    assert_eq!(
        error(&run(&registry, &call("rm", "{}"), &context()).await),
        (FailureKind::Denied, "rm was not allowed to run: never")
    );

    let (asked, near, notes) = (call("pay", r#"{"n": 5}"#), context(), Notes::default());
    let options = ExecuteOptions::default().with_journal(notes.clone());
    let Executed::Suspended(suspended) = registry.execute(&asked, near.clone(), &options).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(
        (suspended.arguments.as_str(), suspended.reason.as_str()),
        (r#"{"n": 5}"#, r#"pay {"n": 5}?"#)
    );
    assert!(notes.entries.lock().unwrap().is_empty() && count.load(Ordering::SeqCst) == 0);
    // Nobody can be asked through a plain host.
    assert_eq!(error(&registry.call(&asked, near.clone()).await).0, FailureKind::Denied);

    let stored = serde_json::to_string(&suspended).unwrap();
    let note = ApprovalNote { by: "dana".to_owned(), at: sample::at(5) };
    let approved = Approved { call: serde_json::from_str(&stored).unwrap(), note: note.clone() };
    let other = registry
        .execute(&call("pay", "{}"), near.clone(), &options.clone().with_approved(approved.clone()))
        .await
        .unwrap();
    assert!(error(&done(other)).1.contains("for another call"));
    for from_record in [false, true] {
        let options = options.clone().with_approved(approved.clone());
        let outcome = done(registry.execute(&asked, near.clone(), &options).await.unwrap());
        assert_eq!((output(&outcome), outcome.report.from_record), (&json!(1), from_record));
    }
    assert_eq!(notes.entries.lock().unwrap()[0].approval, Some(note));
}

#[tokio::test]
async fn a_flood_costs_a_preview() {
    let (registry, store) = registry();
    registry
        .register(open("flood", Effect::ReadOnly), |_: Value, _: CallContext| async {
            Ok::<ToolOutput, ToolError>(ToolOutput::text("x".repeat(50 << 20)))
        })
        .unwrap();
    let near = context();
    let outcome = run(&registry, &call("flood", "{}"), &near).await;
    assert!(outcome.report.truncated && outcome.to_model_text().len() < 10_000);
    let id = outcome.report.artifact.unwrap();
    let record =
        hermes_core::ArtifactStore::get(&store, &near.owner, near.session, id).await.unwrap().unwrap();
    assert_eq!(record.size, 32 << 20, "what is kept is bounded");
}

#[tokio::test(start_paused = true)]
async fn a_callers_deadline_holds_for_all_attempts() {
    let clock = ManualClock::default();
    let (registry, _) = registry();
    let registry = registry.with_clock(clock.clone());
    registry
        .register(open("look", Effect::ReadOnly), move |_: Value, context: CallContext| async move {
            Ok::<Value, ToolError>(json!(context.deadline.unwrap().as_microsecond()))
        })
        .unwrap();
    let end = hermes_core::clock::later(sample::at(0), Duration::from_secs(2));
    let outcome = run(&registry, &call("look", "{}"), &context().with_deadline(end)).await;
    assert_eq!(output(&outcome), &json!(end.as_microsecond()));
}

#[tokio::test]
async fn counters_tell_first_try_repair_and_correction_apart() {
    let (registry, _) = registry();
    let spec = hermes_core::ToolSpec::new("t", "")
        .input_schema(
            json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] }),
        )
        .effect(Effect::ReadOnly);
    echo(&registry, spec);
    let near = context();
    let options = ExecuteOptions::default().with_model("m");
    for arguments in [r#"{"n":1}"#, r#"{"n":1,}"#, r#"{}"#, r#"{"n":2}"#, r#"{"m":1}"#] {
        registry.execute(&call("t", arguments), near.clone(), &options).await.unwrap();
    }
    registry.stats().end_turn(near.session, near.turn);
    let rows = registry.stats().rows();
    assert_eq!((rows.len(), rows[0].tool.as_str(), rows[0].model.as_str()), (1, "t", "m"));
    let counts = rows[0].counts;
    assert_eq!(
        (counts.first_try, counts.repaired, counts.refused, counts.corrected, counts.given_up),
        (1, 1, 2, 1, 1)
    );
    assert_eq!(counts.succeeded, 3);
}
