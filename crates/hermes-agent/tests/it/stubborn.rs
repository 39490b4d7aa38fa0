//! Readers that stop, models that name no tool, answers that are cut short, and users that say nothing.

use hermes_agent::{AgentConfig, AgentEvent, Error, StopReason};
use hermes_core::{Body, ChatMessage, Effect, FailureKind, Message, Seq};
use hermes_testkit::fake::{Answer, RecordingTool, ScriptedModel};
use hermes_testkit::sample::owner;
use hermes_tools::ToolRegistry;

use crate::support::{Stage, check_requests, events, log, outcome, outline, spec, stop};

fn config() -> AgentConfig {
    AgentConfig::default()
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_holds_the_session_no_longer_than_the_turn_may_take() {
    let model = ScriptedModel::responding(|_, _| Answer::text("Here."));
    let stage = Stage::default();
    let mut small = config();
    small.event_buffer = 1;
    let agent = stage.builder(&model).config(small).build().unwrap();
    let session = agent.sessions().create(&owner(), "Stalled").await.unwrap();
    let stalled = agent.run(&session, "Talk");
    // Nobody reads; the run ends all the same, once its time is over.
    agent.settled().await;
    assert!(session.held_lease().is_none());
    assert_eq!(agent.run(&session, "Are you there?").answer().await.unwrap().text, "Here.");
    drop(stalled);
}

#[tokio::test]
async fn a_name_that_no_tool_may_have_does_not_spoil_the_history() {
    let model = ScriptedModel::new([
        Answer::calls([("functions.look up", "{}")]),
        Answer::text("I have no such tool."),
    ]);
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["what"]));
    let (agent, session) = Stage::default().start_with(&model, [&look]).await;
    assert_eq!(stop(&events(agent.run(&session, "Look")).await), StopReason::Answered);
    let last = model.requests().pop().unwrap();
    let sent: Vec<_> = last.messages.iter().map(AsRef::as_ref).collect();
    let named = |message: &&ChatMessage| match message {
        ChatMessage::Assistant { calls, .. } => calls.first().map(|call| call.name.clone()),
        ChatMessage::Tool { tool, .. } => Some(tool.clone()),
        _ => None,
    };
    assert_eq!(sent.iter().filter_map(named).collect::<Vec<_>>(), ["functions_look_up", "functions_look_up"]);
    // The log keeps what came.
    assert_eq!(log(&session).await[1].body().calls()[0].name, "functions.look up");
    check_requests(&model);
}

#[tokio::test]
async fn an_answer_that_was_cut_short_is_no_answer() {
    let model = ScriptedModel::new([Answer::hanging_after("The answer is"), Answer::text("Forty-two.")]);
    let (agent, session) = Stage::default().start(&model).await;
    let mut run = agent.run(&session, "What is the answer?");
    let mut said = String::new();
    while said != "The answer is" {
        if let AgentEvent::Text { delta } = run.next().await.unwrap().unwrap() {
            said.push_str(&delta);
        }
    }
    run.cancel();
    assert_eq!(stop(&events(run).await), StopReason::Cancelled);
    assert_eq!(agent.resume(&session).answer().await.unwrap().text, "Forty-two.");
    assert_eq!(outline(&session).await, ["user", "assistant", "assistant"]);
    // Now it has its answer, and there is nothing to resume.
    assert_eq!(agent.resume(&session).answer().await.unwrap().text, "");
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn nothing_said_is_refused_before_anything_is_logged() {
    let model = ScriptedModel::new([]);
    let (agent, session) = Stage::default().start(&model).await;
    for blank in ["", "  \n\t"] {
        let (events, error) = outcome(agent.run(&session, blank)).await;
        assert!(events.is_empty() && matches!(error, Some(Error::Blank)), "{error:?}");
    }
    session.refresh().await.unwrap();
    assert_eq!(session.last(), Seq::START);
}

#[tokio::test]
async fn calls_beyond_the_most_of_one_step_are_blocked() {
    let calls: Vec<String> = (0..5).map(|n| format!(r#"{{"what":"{n}"}}"#)).collect();
    let answer = Answer::calls(calls.iter().map(|arguments| ("look", arguments.as_str())));
    let model = ScriptedModel::new([answer, Answer::text("Seen.")]);
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["what"]));
    let stage = Stage::default();
    let mut few = config();
    few.max_calls = 3;
    let registry = ToolRegistry::new();
    registry.add(look.clone()).unwrap();
    let agent = stage.builder(&model).tools(registry).config(few).build().unwrap();
    let session = agent.sessions().create(&owner(), "Many").await.unwrap();
    assert_eq!(stop(&events(agent.run(&session, "Look")).await), StopReason::Answered);
    assert_eq!(look.calls().len(), 3);
    let failure = |message: &Message| match message.body() {
        Body::ToolResult(result) => result.failure,
        _ => None,
    };
    let failures: Vec<_> = log(&session).await.iter().filter_map(failure).collect();
    assert_eq!(failures, [FailureKind::Blocked; 2]);
    check_requests(&model);
}

#[tokio::test]
async fn deleting_takes_what_hangs_on_a_session_and_erasing_all_of_a_user() {
    let model = ScriptedModel::new([Answer::calls([("pay", r#"{"what":"tea"}"#)]), Answer::text("Paid.")]);
    let pay = RecordingTool::new(spec("pay", Effect::SideEffect, ["what"]));
    let stage = Stage::default();
    let (agent, session) = stage.start_with(&model, [&pay]).await;
    assert_eq!(stop(&events(agent.run(&session, "Pay for tea")).await), StopReason::Answered);
    assert!(agent.delete_session(&session).await.unwrap());
    assert!(agent.sessions().open(&owner(), session.id()).await.is_err());
    // The claim on the payment went with its session, and so did what the agent kept of it.
    assert_eq!(agent.erase_user(&owner()).await.unwrap(), 0);
    let other = agent.sessions().create(&owner(), "Other").await.unwrap();
    assert_eq!(agent.erase_user(&owner()).await.unwrap(), 1);
    assert!(agent.sessions().open(&owner(), other.id()).await.is_err());
}
