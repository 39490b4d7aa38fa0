//! After a crash: the journal's entry, then the key, decide (L5).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hermes_core::{
    CallContext, CallStarted, Effect, FailureKind, IdempotencyStore as _, JsonText, Replay, ToolCall,
    ToolError, ToolOutcome, ToolSpec,
};
use hermes_inmemory::InMemoryStore;
use hermes_testkit::fake::ManualClock;
use hermes_testkit::sample;
use hermes_tools::{ExecuteOptions, Resume, ToolRegistry};
use serde_json::{Value, json};

use crate::{Notes, call, context, done, error, open, output};

struct Crash {
    registry: ToolRegistry,
    store: InMemoryStore,
    clock: ManualClock,
    runs: Arc<AtomicUsize>,
    call: ToolCall,
    context: CallContext,
    started: CallStarted,
}

/// A call of a tool that was written down; what else had happened is up to the test.
async fn crash(spec: ToolSpec) -> Crash {
    let (store, clock, runs) = (InMemoryStore::new(), ManualClock::default(), Arc::new(AtomicUsize::new(0)));
    let registry = ToolRegistry::new().with_idempotency(store.clone()).with_clock(clock.clone());
    let count = Arc::clone(&runs);
    let name = spec.name.clone();
    registry
        .register(spec, move |_: Value, _: CallContext| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Ok::<Value, ToolError>(json!("ran")) }
        })
        .unwrap();
    // Another store stands for the process that died: it only serves to get a true entry.
    let other = registry.clone().with_idempotency(InMemoryStore::new());
    let (call, context, notes) = (call(&name, "{}"), context(), Notes::default());
    other
        .execute(&call, context.clone(), &ExecuteOptions::default().with_journal(notes.clone()))
        .await
        .unwrap();
    runs.store(0, Ordering::SeqCst);
    let started = notes.entries.lock().unwrap().remove(0);
    Crash { registry, store, clock, runs, call, context, started }
}

impl Crash {
    async fn claim(&self) -> hermes_core::ClaimTicket {
        let claim = sample::claim(self.context.session, "the one that died", 0);
        match self.store.claim(&self.context.owner, self.started.key.as_ref().unwrap(), &claim).await.unwrap()
        {
            hermes_core::Claim::Won(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    async fn resume(&self) -> ToolOutcome {
        let options = ExecuteOptions::default()
            .with_resume(Resume { started: self.started.clone(), at: sample::at(0) });
        done(self.registry.execute(&self.call, self.context.clone(), &options).await.unwrap())
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn g02_an_effect_without_a_key_is_never_repeated() {
    let mut crash = crash(open("reserve_stock", Effect::SideEffect)).await;
    crash.started.key = None;
    for _ in 0..2 {
        let outcome = crash.resume().await;
        let (kind, said) = error(&outcome);
        assert_eq!(kind, FailureKind::OutcomeUnknown);
        assert!(said.contains("unknown"), "{said}");
    }
    assert_eq!(crash.runs(), 0);
}

#[tokio::test]
async fn g02_what_only_looks_is_run_again() {
    let crash = crash(open("stock", Effect::ReadOnly)).await;
    assert_eq!(output(&crash.resume().await), &json!("ran"));
    assert_eq!(crash.runs(), 1);
}

#[tokio::test]
async fn a_recorded_outcome_is_reused() {
    let crash = crash(open("pay", Effect::SideEffect)).await;
    let ticket = crash.claim().await;
    let recorded = JsonText::of(&ToolOutcome::success(json!("before the crash"))).unwrap();
    crash.store.complete(&ticket, &recorded, sample::at(1), sample::at(1_000_000)).await.unwrap();
    let outcome = crash.resume().await;
    assert_eq!((output(&outcome), outcome.report.from_record), (&json!("before the crash"), true));
    assert_eq!(crash.runs(), 0);
}

#[tokio::test]
async fn a_call_that_was_never_claimed_has_not_run_and_runs_once() {
    let crash = crash(open("pay", Effect::SideEffect)).await;
    assert_eq!(output(&crash.resume().await), &json!("ran"));
    assert!(crash.resume().await.report.from_record);
    assert_eq!(crash.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_holder_died_is_unknown_or_run_again_under_its_key() {
    let unsafe_call = crash(open("pay", Effect::SideEffect)).await;
    unsafe_call.claim().await;
    // The claim may still be live, or may have run out: it is unknown either way.
    assert_eq!(error(&unsafe_call.resume().await).0, FailureKind::OutcomeUnknown);
    unsafe_call.clock.advance(Duration::from_secs(100_000));
    assert_eq!(error(&unsafe_call.resume().await).0, FailureKind::OutcomeUnknown);
    assert_eq!(unsafe_call.runs(), 0);

    let replayable = crash(open("sms", Effect::SideEffect).replay(Replay::UnderKey)).await;
    replayable.claim().await;
    replayable.clock.advance(Duration::from_secs(100_000));
    assert_eq!(output(&replayable.resume().await), &json!("ran"));
    assert_eq!(replayable.runs(), 1);
}

#[tokio::test]
async fn past_the_retention_of_keys_a_missing_record_proves_nothing() {
    let crash = crash(open("pay", Effect::SideEffect)).await;
    crash.clock.advance(Duration::from_secs(31 * 24 * 60 * 60));
    assert_eq!(error(&crash.resume().await).0, FailureKind::OutcomeUnknown);
    assert_eq!(crash.runs(), 0);
}

#[tokio::test]
async fn a_tool_that_is_gone_leaves_its_call_unknown() {
    let crash = crash(open("pay", Effect::SideEffect)).await;
    assert!(crash.registry.remove("pay"));
    assert_eq!(error(&crash.resume().await).0, FailureKind::OutcomeUnknown);
}
