//! One run at a time drives a session, whichever process it is in (S9).

use std::time::Duration;

use hermes_agent::{AgentConfig, Error, StopReason};
use hermes_core::{Clock, Effect};
use hermes_testkit::fake::{Answer, RecordingTool, ScriptedModel};
use hermes_testkit::sample::{at, owner};
use jiff::Timestamp;
use tokio::time::Instant;

use crate::support::{
    Stage, check_log, check_requests, events, outcome, outline, registry, reopen, spec, stop,
};

/// A clock that goes with the runtime's, paused or not.
#[derive(Debug, Clone)]
pub(crate) struct RuntimeClock(Instant);

impl Default for RuntimeClock {
    #[expect(clippy::disallowed_methods, reason = "this is a clock")]
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        hermes_core::clock::later(at(0), self.0.elapsed())
    }
}

fn slow_order() -> RecordingTool {
    let spec = spec("order", Effect::SideEffect, ["what"]).timeout(Duration::from_secs(550));
    RecordingTool::new(spec).held()
}

fn orders() -> ScriptedModel {
    ScriptedModel::new([
        Answer::calls([("order", r#"{"what":"tea"}"#)]),
        Answer::text("Ordered."),
        Answer::text("More."),
    ])
}

#[tokio::test]
async fn another_agent_is_told_that_the_session_is_busy() {
    let (stage, order, model) = (Stage::default(), slow_order(), orders());
    let (agent, session) = stage.start_with(&model, [&order]).await;
    let (other_model, idle) = (ScriptedModel::new([Answer::text("Hello.")]), slow_order());
    let other = stage.builder(&other_model).tools(registry([&idle])).build().unwrap();
    let run = agent.run(&session, "Order tea");
    order.until_started(1).await;

    let theirs = reopen(&other, session.id()).await;
    let (told, error) = outcome(other.run(&theirs, "Hello")).await;

    assert!(told.is_empty(), "{told:?}");
    assert!(error.unwrap().is_busy());
    order.release(1);
    assert_eq!(stop(&events(run).await), StopReason::Answered);
    assert!(check_log(&session).await.is_empty());
    assert_eq!(other.run(&theirs, "Hello").answer().await.unwrap().text, "Hello.");
    assert_eq!(
        outline(&session).await,
        ["user", "calls:1", "started:call_1", "result:call_1", "assistant", "user", "assistant"]
    );
}

#[tokio::test]
async fn two_runs_of_one_agent_come_one_after_the_other() {
    let (stage, order, model) = (Stage::default(), slow_order(), orders());
    let (agent, session) = stage.start_with(&model, [&order]).await;
    let first = agent.run(&session, "Order tea");
    order.until_started(1).await;
    // By another handle, as another window of the same process has.
    let window = reopen(&agent, session.id()).await;
    let second = tokio::spawn(events(agent.run(&window, "And then?")));
    let third = agent.run(&session, "Never asked");
    third.cancel();
    assert_eq!(third.answer().await.unwrap().stop, StopReason::Cancelled, "who waits can be cancelled");
    assert_eq!(outline(&session).await, ["user", "calls:1", "started:call_1"]);
    order.release(1);

    assert_eq!(stop(&events(first).await), StopReason::Answered);
    assert_eq!(stop(&second.await.unwrap()), StopReason::Answered);

    assert_eq!(
        outline(&session).await,
        ["user", "calls:1", "started:call_1", "result:call_1", "assistant", "user", "assistant"]
    );
    check_requests(&model);
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_renewed_while_a_slow_tool_runs() {
    let (stage, order, model, clock) = (Stage::default(), slow_order(), orders(), RuntimeClock::default());
    let agent = stage.builder(&model).tools(registry([&order])).clock(clock.clone()).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();
    let other_model = ScriptedModel::new([]);
    let other = stage.builder(&other_model).clock(clock).build().unwrap();
    let run = agent.run(&session, "Order tea");
    order.until_started(1).await;
    let theirs = reopen(&other, session.id()).await;
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(100)).await;
        let (_, error) = outcome(other.run(&theirs, "Hello")).await;
        assert!(error.unwrap().is_busy(), "a lease of 30 s still holds");
    }
    order.release(1);
    assert_eq!(stop(&events(run).await), StopReason::Answered);
    assert_eq!(order.finished(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_ends_the_run_and_the_log_belongs_to_who_has_it() {
    // The stage's clock stands still unless it is moved: as for a process that was suspended.
    let (stage, order, model) = (Stage::default(), slow_order(), orders());
    let (agent, session) = stage.start_with(&model, [&order]).await;
    let other_model = ScriptedModel::new([Answer::text("I take over.")]);
    let other = stage.builder(&other_model).tools(registry([&order])).build().unwrap();
    let mut run = agent.run(&session, "Order tea");
    order.until_started(1).await;
    while !matches!(run.next().await, Some(Ok(hermes_agent::AgentEvent::CallStarted { .. }))) {}
    stage.clock.advance(AgentConfig::default().lease * 10);

    let theirs = reopen(&other, session.id()).await;
    let took = tokio::spawn(other.run(&theirs, "Is anybody there?").answer());
    let (_, error) = outcome(run).await;

    assert!(matches!(error, Some(Error::Session(hermes_session::Error::Fenced { .. }))), "{error:?}");
    assert_eq!(took.await.unwrap().unwrap().text, "I take over.");
    let expected = ["user", "calls:1", "started:call_1", "result:call_1", "user", "assistant"];
    assert_eq!(outline(&theirs).await, expected);
    assert_eq!(order.started(), 1, "it is not run again");
    assert!(check_log(&theirs).await.is_empty());
    check_requests(&other_model);
}
