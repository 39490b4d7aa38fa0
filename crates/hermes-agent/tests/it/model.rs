//! Models that fail: asked again, waited for, replaced (L6); and what is theirs alone (S7).

use std::time::Duration;

use hermes_agent::{AgentEvent, Error, StopReason};
use hermes_core::{ChatMessage, Clock as _, Effect, ModelError, ModelInfo, Tokens};
use hermes_testkit::fake::{Answer, RecordingTool, ScriptedModel};
use hermes_testkit::sample::{json, owner};

use crate::lease::RuntimeClock;
use crate::support::{Stage, events, log, outcome, registry, spec, stop};

fn server() -> ModelError {
    ModelError::Server { status: 503, message: "overloaded".to_owned() }
}

fn second(answers: impl IntoIterator<Item = Answer>) -> ScriptedModel {
    ScriptedModel::new(answers).with_info(ModelInfo {
        provider: "other".to_owned(),
        id: "other-1".to_owned(),
        context_window: Tokens::new(64_000),
        max_output: Tokens::new(2_048),
    })
}

fn restarts(events: &[AgentEvent]) -> Vec<&str> {
    let model = |event: &'_ AgentEvent| matches!(event, AgentEvent::Restarted { .. });
    events
        .iter()
        .filter(|event| model(event))
        .map(|event| match event {
            AgentEvent::Restarted { model, .. } => model.as_str(),
            _ => "",
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_tried_twice_more() {
    let model =
        ScriptedModel::new([Answer::refused(server()), Answer::broken_after("Hal"), Answer::text("Hello.")]);
    let (agent, session) = Stage::default().start(&model).await;

    let told = events(agent.run(&session, "Hi")).await;

    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!(restarts(&told), ["scripted-1", "scripted-1"]);
    assert_eq!(model.requests().len(), 3);
    assert_eq!(model.requests()[0].messages, model.requests()[2].messages);
    assert_eq!(log(&session).await[1].text(), "Hello.", "the broken answer is void");
}

#[tokio::test(start_paused = true)]
async fn after_transient_failures_the_next_model_is_asked() {
    let first = ScriptedModel::responding(|_, _| Answer::refused(server()));
    let next = second([Answer::text("Hello from the other.")]);
    let agent = Stage::default().builder(&first).fallback(next.clone()).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();

    let told = events(agent.run(&session, "Hi")).await;

    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!((first.requests().len(), next.requests().len()), (3, 1));
    assert_eq!(restarts(&told), ["scripted-1", "scripted-1", "other-1"]);
    assert_eq!(log(&session).await[1].text(), "Hello from the other.");
}

#[tokio::test(start_paused = true)]
async fn after_a_permanent_failure_the_next_model_is_asked_at_once() {
    let first = ScriptedModel::new([Answer::refused(ModelError::Unauthorized { status: 401 })]);
    let next = second([Answer::text("Hello.")]);
    let agent = Stage::default().builder(&first).fallback(next.clone()).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();
    let told = events(agent.run(&session, "Hi")).await;
    assert_eq!((first.requests().len(), next.requests().len()), (1, 1));
    assert_eq!(restarts(&told), ["other-1"]);
}

#[tokio::test(start_paused = true)]
async fn when_no_model_answers_the_last_error_is_told_and_the_next_turn_works() {
    let model = ScriptedModel::new([Answer::refused(ModelError::Unauthorized { status: 401 })]);
    let next = second([Answer::refused(ModelError::Unauthorized { status: 403 }), Answer::text("Now.")]);
    let agent = Stage::default().builder(&model).fallback(next).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();
    let (_, error) = outcome(agent.run(&session, "Hi")).await;
    let error = error.unwrap();
    assert!(
        matches!(&error, Error::Model { model, source: ModelError::Unauthorized { status: 403 } } if model == "other-1"),
        "{error:?}"
    );
    assert_eq!(agent.run(&session, "Hi again").answer().await.unwrap().text, "Now.");
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_requests_is_waited_for_as_long_as_the_service_says() {
    let clock = RuntimeClock::default();
    let limited = ModelError::RateLimited { retry_after: Some(Duration::from_secs(20)) };
    let model = ScriptedModel::new([Answer::refused(limited), Answer::text("Hello.")]);
    let agent = Stage::default().builder(&model).clock(clock.clone()).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();
    let before = clock.now();
    let told = events(agent.run(&session, "Hi")).await;
    assert_eq!(stop(&told), StopReason::Answered);
    let waited = clock.now().duration_since(before).as_secs();
    assert_eq!(waited, 20);
}

#[tokio::test(start_paused = true)]
async fn a_longer_limit_than_we_wait_for_is_a_failure() {
    let limited = ModelError::RateLimited { retry_after: Some(Duration::from_secs(61)) };
    let model = ScriptedModel::new([Answer::refused(limited)]);
    let next = second([Answer::text("Hello.")]);
    let agent = Stage::default().builder(&model).fallback(next).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();
    let told = events(agent.run(&session, "Hi")).await;
    assert_eq!((model.requests().len(), restarts(&told)), (1, vec!["other-1"]));
}

/// The opaque data that a request carries.
fn carried(model: &ScriptedModel, request: usize) -> Vec<(String, String)> {
    let requests = model.requests();
    let data = requests[request].messages.iter().filter_map(|message| match message.as_ref() {
        ChatMessage::Assistant { provider, .. } => Some(provider.clone()),
        _ => None,
    });
    data.flatten().map(|(name, data)| (name, data.as_str().to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn opaque_data_goes_back_to_its_own_provider_only() {
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["at"]));
    let signature = r#"{"sig":  1.50}"#;
    let first = ScriptedModel::new([
        Answer::calls([("look", r#"{"at":"a"}"#)]).with_provider(json(signature)),
        // The second request fails over.
        Answer::refused(ModelError::Unauthorized { status: 401 }),
        Answer::text("And here I am again."),
    ]);
    let other = second([Answer::text("The other answers.").with_provider(json(r#"{"theirs":1}"#))]);
    let agent =
        Stage::default().builder(&first).fallback(other.clone()).tools(registry([&look])).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();

    agent.run(&session, "Look").answer().await.unwrap();
    agent.run(&session, "Go on").answer().await.unwrap();

    let ours = ("scripted".to_owned(), signature.to_owned());
    assert_eq!(carried(&first, 1), std::slice::from_ref(&ours), "byte for byte");
    assert_eq!(carried(&other, 0), []);
    assert_eq!(carried(&first, 2), [ours]);
    let stored = log(&session).await.iter().filter(|message| !message.provider().is_empty()).count();
    assert_eq!(stored, 2, "the log keeps both");
}
