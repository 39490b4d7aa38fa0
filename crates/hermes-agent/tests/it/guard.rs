//! The limits of a turn: steps, time, and calls that go in circles (L6).

use std::time::Duration;

use hermes_agent::{AgentConfig, AgentEvent, StopReason};
use hermes_core::{Body, Effect, FailureKind};
use hermes_testkit::fake::{Answer, RecordingTool, ScriptedModel};
use hermes_testkit::sample::owner;

use crate::support::{
    Stage, check_log, check_requests, events, log, registry, results, spec, stop, success, value,
};

fn looks(n: usize, arguments: impl Fn(usize) -> String + Send + Sync + 'static) -> ScriptedModel {
    ScriptedModel::responding(move |_, request| match request {
        request if request < n => Answer::calls([("look", arguments(request).as_str())]),
        _ => Answer::text("That is all."),
    })
}

#[tokio::test]
async fn a_turn_ends_at_its_most_steps_and_the_next_one_works() {
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["at"]));
    let model = looks(3, |n| format!(r#"{{"at":"{n}"}}"#));
    let stage = Stage::default();
    let mut config = AgentConfig::default();
    config.max_steps = 3;
    let agent = stage.builder(&model).tools(registry([&look])).config(config).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();

    let first = events(agent.run(&session, "Look everywhere")).await;

    assert_eq!(stop(&first), StopReason::MaxSteps);
    assert_eq!((model.requests().len(), look.finished()), (3, 3));
    assert!(check_log(&session).await.is_empty());

    let answer = agent.run(&session, "And?").answer().await.unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), ("That is all.", StopReason::Answered));
    check_requests(&model);
}

#[tokio::test]
async fn sixteen_steps_are_the_default() {
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["at"]));
    let model = looks(100, |n| format!(r#"{{"at":"{n}"}}"#));
    let (agent, session) = Stage::default().start_with(&model, [&look]).await;
    assert_eq!(stop(&events(agent.run(&session, "Look")).await), StopReason::MaxSteps);
    assert_eq!(model.requests().len(), 16);
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_at_its_most_time_while_the_model_is_silent() {
    let model = ScriptedModel::new([Answer::hanging_after("One moment"), Answer::text("Here I am.")]);
    let (agent, session) = Stage::default().start(&model).await;

    let told = events(agent.run(&session, "Hello")).await;

    assert_eq!(stop(&told), StopReason::MaxTime);
    assert_eq!(log(&session).await[1].text(), "One moment", "what the user saw stays");
    let answer = agent.run(&session, "Are you there?").answer().await.unwrap();
    assert_eq!(answer.text, "Here I am.");
    check_requests(&model);
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_at_its_most_time_while_a_tool_runs() {
    let slow = spec("look", Effect::ReadOnly, ["at"]).timeout(Duration::from_secs(3_600));
    let look = RecordingTool::new(slow).held();
    let model = looks(1, |_| r#"{"at":"a"}"#.to_owned());
    let (agent, session) = Stage::default().start_with(&model, [&look]).await;

    assert_eq!(stop(&events(agent.run(&session, "Look")).await), StopReason::MaxTime);

    assert_eq!((look.started(), look.finished()), (1, 0));
    assert!(check_log(&session).await.is_empty(), "the call has its result");
    assert_eq!(agent.run(&session, "And?").answer().await.unwrap().text, "That is all.");
    check_requests(&model);
}

#[tokio::test]
async fn calls_in_circles_are_warned_blocked_and_stopped() {
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["at", "for"]));
    // The same call, however it is spelt.
    let spelling = ["{\"at\":\"a\",\"for\":\"b\"}", "{ \"for\": \"b\", \"at\": \"a\" }"];
    let model = looks(100, move |n| spelling[n % 2].to_owned());
    let (agent, session) = Stage::default().start_with(&model, [&look]).await;

    let told = events(agent.run(&session, "Look")).await;

    assert_eq!(stop(&told), StopReason::Loop);
    assert_eq!(look.finished(), 3, "the fourth is not run");
    let results = results(&session, "look").await;
    assert_eq!(results.len(), 6);
    assert!(results[..3].iter().all(|text| value(text) == success("ok")), "{results:?}");
    assert!(!results[1].contains("repeat") && results[2].contains("repeat"), "{results:?}");
    assert!(results[3..].iter().all(|text| text.contains("not run")), "{results:?}");
    let failures: Vec<_> = log(&session)
        .await
        .iter()
        .filter_map(|message| match message.body() {
            Body::ToolResult(result) => Some(result.failure),
            _ => None,
        })
        .collect();
    assert_eq!(failures[3..], [Some(FailureKind::Blocked); 3]);
    assert!(check_log(&session).await.is_empty());
    check_requests(&model);
}

#[tokio::test]
async fn a_blocked_call_holds_up_no_other_call_of_its_step() {
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["at"]));
    let model = ScriptedModel::responding(|_, request| {
        let other = format!(r#"{{"at":"{request}"}}"#);
        match request {
            0..4 => Answer::calls([("look", r#"{"at":"here"}"#), ("look", other.as_str())]),
            _ => Answer::text("That is all."),
        }
    });
    let (agent, session) = Stage::default().start_with(&model, [&look]).await;
    let told = events(agent.run(&session, "Look")).await;
    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!(look.finished(), 7, "of eight calls one was blocked");
    let told = told.iter().filter(|event| matches!(event, AgentEvent::ToolResult { .. })).count();
    assert_eq!(told, 8);
    check_requests(&model);
}
