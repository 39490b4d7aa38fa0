//! Cancelling at any time leaves a valid log, and the next turn works (L6).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_agent::{AgentEvent, Run, StopReason};
use hermes_core::{Effect, ToolOutput};
use hermes_testkit::fake::{Answer, RecordingTool, ScriptedModel};

use crate::support::{
    Stage, check_log, check_requests, events, last_text, log, outline, results, spec, stop,
};

/// Takes events until the first of this sort.
async fn until(run: &mut Run, wanted: impl Fn(&AgentEvent) -> bool) {
    while let Some(event) = run.next().await {
        if wanted(&event.unwrap()) {
            return;
        }
    }
    unreachable!("the run has ended");
}

#[tokio::test]
async fn during_text_what_was_said_stays() {
    let model =
        ScriptedModel::new([Answer::hanging_after("The answer is forty"), Answer::text("Forty-two.")]);
    let (agent, session) = Stage::default().start(&model).await;
    let mut run = agent.run(&session, "What is the answer?");
    let mut said = String::new();
    while said != "The answer is forty" {
        if let AgentEvent::Text { delta } = run.next().await.unwrap().unwrap() {
            said.push_str(&delta);
        }
    }
    run.cancel();

    assert_eq!(stop(&events(run).await), StopReason::Cancelled);

    assert_eq!(outline(&session).await, ["user", "assistant"]);
    assert_eq!(log(&session).await[1].text(), "The answer is forty");
    assert_eq!(agent.run(&session, "Go on").answer().await.unwrap().text, "Forty-two.");
    check_requests(&model);
}

#[tokio::test]
async fn before_a_word_was_said_nothing_is_made_up() {
    let model = ScriptedModel::new([Answer::hanging_after(""), Answer::text("Yes.")]);
    let (agent, session) = Stage::default().start(&model).await;
    let mut run = agent.run(&session, "Hello?");
    until(&mut run, |event| matches!(event, AgentEvent::Request { .. })).await;
    run.cancel();
    assert_eq!(stop(&events(run).await), StopReason::Cancelled);
    assert_eq!(outline(&session).await, ["user"]);
    assert_eq!(agent.run(&session, "Are you there?").answer().await.unwrap().text, "Yes.");
    check_requests(&model);
}

/// Says when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn during_a_tool_its_signal_is_raised_and_its_future_dropped() {
    let (dropped, raised) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (drops, raises) = (Arc::clone(&dropped), Arc::clone(&raised));
    let order = RecordingTool::running(spec("order", Effect::SideEffect, ["what"]), move |_, context| {
        let (guard, raises) = (Dropped(Arc::clone(&drops)), Arc::clone(&raises));
        async move {
            let _guard = guard;
            context.cancel.cancelled().await;
            raises.store(true, Ordering::SeqCst);
            std::future::pending::<()>().await;
            Ok(ToolOutput::text("too late"))
        }
    });
    let model = ScriptedModel::new([Answer::calls([("order", r#"{"what":"tea"}"#)]), Answer::text("I see.")]);
    let (agent, session) = Stage::default().start_with(&model, [&order]).await;
    let run = agent.run(&session, "Order tea");
    order.until_started(1).await;
    run.cancel();

    assert_eq!(stop(&events(run).await), StopReason::Cancelled);

    assert!(raised.load(Ordering::SeqCst), "the signal comes first (T6)");
    assert!(dropped.load(Ordering::SeqCst));
    assert_eq!(order.finished(), 0);
    assert_eq!(outline(&session).await, ["user", "calls:1", "started:call_1", "result:call_1"]);
    let results = results(&session, "order").await;
    assert!(results[0].contains("unknown"), "it may have happened: {results:?}");
    assert_eq!(agent.run(&session, "Stop that").answer().await.unwrap().text, "I see.");
    assert_eq!(order.started(), 1);
    check_requests(&model);
}

#[tokio::test(start_paused = true)]
async fn calls_that_did_not_begin_do_not_begin() {
    let slow = spec("look", Effect::ReadOnly, ["at"]).timeout(Duration::from_secs(600));
    let look = RecordingTool::new(slow).held();
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let model = ScriptedModel::new([
        Answer::calls([("look", r#"{"at":"a"}"#), ("order", r#"{"what":"tea"}"#)]),
        Answer::text("I see."),
    ]);
    let (agent, session) = Stage::default().start_with(&model, [&look, &order]).await;
    let run = agent.run(&session, "Look, then order tea");
    look.until_started(1).await;
    run.cancel();
    assert_eq!(stop(&events(run).await), StopReason::Cancelled);
    assert_eq!(order.started(), 0);
    assert!(check_log(&session).await.is_empty(), "each call has a result");
    agent.run(&session, "Never mind").answer().await.unwrap();
    assert_eq!(order.started(), 0);
    check_requests(&model);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_run_cancels_it_and_the_next_turn_comes_after() {
    let slow = spec("order", Effect::SideEffect, ["what"]).timeout(Duration::from_secs(600));
    let order = RecordingTool::new(slow).held();
    let model = ScriptedModel::new([Answer::calls([("order", r#"{"what":"tea"}"#)]), Answer::text("I see.")]);
    let (agent, session) = Stage::default().start_with(&model, [&order]).await;
    let run = agent.run(&session, "Order tea");
    order.until_started(1).await;
    drop(run);

    // At once, while the dropped run still ends.
    let answer = agent.run(&session, "Stop that").answer().await.unwrap();

    assert_eq!(answer.text, "I see.");
    let expected = ["user", "calls:1", "started:call_1", "result:call_1", "user", "assistant"];
    assert_eq!(outline(&session).await, expected);
    assert!(last_text(&model).ends_with("Stop that"));
    check_requests(&model);
}

#[tokio::test(start_paused = true)]
async fn settled_waits_for_runs_that_were_dropped() {
    let slow = spec("look", Effect::ReadOnly, ["at"]).timeout(Duration::from_secs(600));
    let look = RecordingTool::new(slow).held();
    let model = ScriptedModel::responding(|_, _| Answer::calls([("look", r#"{"at":"a"}"#)]));
    let (agent, session) = Stage::default().start_with(&model, [&look]).await;
    agent.settled().await;
    let run = agent.run(&session, "Look");
    look.until_started(1).await;
    drop(run);

    agent.clone().settled().await;

    assert!(check_log(&session).await.is_empty(), "the call has its result");
    assert!(session.held_lease().is_none());
    assert_eq!((look.started(), look.finished()), (1, 0));
    assert_eq!(model.requests().len(), 1, "it did not go on");
}

#[tokio::test]
async fn a_handle_cancels_from_elsewhere() {
    let model = ScriptedModel::new([Answer::hanging_after("Well")]);
    let (agent, session) = Stage::default().start(&model).await;
    let run = agent.run(&session, "Hello");
    let handle = run.cancel_handle();
    let answer = tokio::spawn(run.answer());
    handle.cancel();
    assert_eq!(answer.await.unwrap().unwrap().stop, StopReason::Cancelled);
}
