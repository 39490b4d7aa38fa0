//! The store fails at any one call, or from any one call on; another process goes on, and no effect happens twice (L5).

use std::sync::Arc;
use std::time::Duration;

use hermes_agent::Agent;
use hermes_core::{Body, Effect, FailureKind, Seq, SessionId};
use hermes_inmemory::InMemoryStore;
use hermes_testkit::fake::{Answer, FailingStore, Fault, ManualClock, RecordingTool, ScriptedModel};
use hermes_testkit::sample::owner;

use crate::support::{check_log, check_requests, log, outcome, registry, reopen, results, spec};

/// How long the store is broken.
#[derive(Debug, Clone, Copy)]
enum Outage {
    Once,
    FromThenOn,
}

struct Scene {
    store: FailingStore<InMemoryStore>,
    clock: ManualClock,
    look: RecordingTool,
    order: RecordingTool,
}

impl Scene {
    fn new() -> Self {
        Self {
            store: FailingStore::new(InMemoryStore::new()),
            clock: ManualClock::default(),
            look: RecordingTool::new(spec("look", Effect::ReadOnly, ["at"])),
            order: RecordingTool::new(spec("order", Effect::SideEffect, ["what"])),
        }
    }

    fn agent(&self, model: &ScriptedModel) -> Agent {
        let tools = registry([&self.look, &self.order]);
        Agent::builder()
            .model(model.clone())
            .store(self.store.clone())
            .clock(self.clock.clone())
            .tools(tools)
            .build()
            .unwrap()
    }

    /// The first process: says something in a new session, and may fail at it.
    async fn first(&self, fail: impl FnOnce(&FailingStore<InMemoryStore>)) -> SessionId {
        let model = ScriptedModel::new([
            Answer::calls([("look", r#"{"at":"the menu"}"#), ("order", r#"{"what":"tea"}"#)]),
            Answer::calls([("order", r#"{"what":"cake"}"#)]),
            Answer::text("Tea and cake are ordered."),
        ]);
        let agent = self.agent(&model);
        let session = agent.sessions().create(&owner(), "Test").await.unwrap();
        fail(&self.store);
        let _may_fail = outcome(agent.run(&session, "Order tea and cake")).await;
        agent.settled().await;
        self.store.heal();
        check_requests(&model);
        session.id()
    }

    fn orders(&self, what: &str) -> usize {
        self.order.calls().iter().filter(|call| call.arguments.as_str().contains(what)).count()
    }
}

/// How the next process takes the session up.
#[derive(Debug, Clone, Copy)]
enum Next {
    Resume,
    Message,
}

async fn crash(n: usize, fault: Fault, outage: Outage, next: Next, pause: u64) {
    let scene = Scene::new();
    let id = scene
        .first(|store| match outage {
            Outage::Once => store.fail_at(n, fault),
            // More than any run calls.
            Outage::FromThenOn => (n..n + 400).for_each(|n| store.fail_at(n, fault)),
        })
        .await;
    scene.clock.advance(Duration::from_secs(pause));

    let model = ScriptedModel::responding(|_, _| Answer::text("I see."));
    let agent = scene.agent(&model);
    let session = reopen(&agent, id).await;
    let (_, error) = outcome(match next {
        Next::Resume => agent.resume(&session),
        Next::Message => agent.run(&session, "And?"),
    })
    .await;
    let told = format!("call {n}, {fault:?}, {outage:?}, {next:?}, {pause} s");
    assert!(error.is_none(), "{told}: {error:?}");
    let (_, error) = outcome(agent.run(&session, "Thank you")).await;
    assert!(error.is_none(), "{told}: {error:?}");

    assert_eq!(check_log(&session).await, Vec::<String>::new(), "{told}: each call has its result");
    check_requests(&model);
    for what in ["tea", "cake"] {
        let ran = scene.orders(what);
        assert!(ran <= 1, "{told}: {what} was ordered {ran} times");
    }
    let ordered = results(&session, "order").await;
    let succeeded = ordered.iter().filter(|text| text.contains(r#""success":true"#)).count();
    assert!(succeeded <= scene.order.finished(), "{told}: {ordered:?}");
    // What has happened and is not known as a success is known as unknown, never as not done.
    let unknown = log(&session)
        .await
        .iter()
        .filter(|message| {
            matches!(message.body(), Body::ToolResult(result)
            if result.tool == "order" && result.failure == Some(FailureKind::OutcomeUnknown))
        })
        .count();
    assert!(scene.order.finished() <= succeeded + unknown, "{told}: {ordered:?}");
}

/// How many calls a run makes when nothing fails.
async fn calls_of_a_run() -> usize {
    let scene = Scene::new();
    let before = Arc::new(std::sync::Mutex::new(0));
    let at = Arc::clone(&before);
    let id = scene.first(move |store| *at.lock().unwrap() = store.calls().len()).await;
    let calls = scene.store.calls().len() - *before.lock().unwrap();
    let probe = scene.agent(&ScriptedModel::new([]));
    let session = reopen(&probe, id).await;
    assert_eq!(scene.order.finished(), 2);
    assert!(session.last() > Seq::new(8));
    calls
}

async fn at_every_call(outage: Outage, next: Next) {
    let calls = calls_of_a_run().await;
    assert!(calls > 20, "{calls}");
    for n in 1..=calls {
        for fault in [Fault::Transient, Fault::Permanent, Fault::AnswerLost] {
            // A lease of the dead has ended; its claim of a key has not, or has.
            for pause in [31, 600] {
                crash(n, fault, outage, next, pause).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_failure_at_any_call_then_resumed() {
    at_every_call(Outage::Once, Next::Resume).await;
}

#[tokio::test(start_paused = true)]
async fn one_failure_at_any_call_then_a_message() {
    at_every_call(Outage::Once, Next::Message).await;
}

#[tokio::test(start_paused = true)]
async fn cut_off_at_any_call_then_resumed() {
    at_every_call(Outage::FromThenOn, Next::Resume).await;
}

#[tokio::test(start_paused = true)]
async fn cut_off_at_any_call_then_a_message() {
    at_every_call(Outage::FromThenOn, Next::Message).await;
}
