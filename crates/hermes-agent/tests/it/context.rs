//! What a request is made of: the ledger of effects, and the tokens of each part (L3, L4, S6).

use hermes_agent::{AgentConfig, AgentEvent, Error, RequestTokens};
use hermes_core::{ChatMessage, Effect, Tokens, ToolOutput};
use hermes_session::count_message;
use hermes_testkit::fake::{Answer, RecordingTool, ScriptedModel};
use hermes_testkit::sample::owner;

use crate::support::{Stage, check_requests, events, last_text, outcome, registry, reopen, spec, text};

/// A model that orders tea in the first turn, looks in the second, and talks in all others.
fn once_ordering() -> ScriptedModel {
    ScriptedModel::responding(|_, request| match request {
        0 => Answer::calls([("order", r#"{"what":"tea"}"#)]),
        2 => Answer::calls([("look", r#"{"at":"the sky"}"#)]),
        _ => Answer::text(format!("Answer {request}.")),
    })
}

#[tokio::test]
async fn an_effect_of_long_ago_stands_beside_the_message_once_its_own_messages_are_gone() {
    let stage = Stage::default();
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["at"]));
    let model = once_ordering();
    let (agent, session) = stage.start_with(&model, [&order, &look]).await;
    agent.run(&session, "Order tea").answer().await.unwrap();
    agent.run(&session, "Look at the sky").answer().await.unwrap();
    agent.run(&session, "Turn 3").answer().await.unwrap();
    let near = model.requests().last().unwrap().messages.clone();
    assert!(
        near.iter()
            .any(|message| matches!(message.as_ref(), ChatMessage::Tool { tool, .. } if tool == "order"))
    );
    assert_eq!(last_text(&model), "Turn 3", "what can be seen is not told twice");
    for turn in 4..=20 {
        agent.run(&session, format!("Turn {turn}")).answer().await.unwrap();
    }

    // In another process, which reads the ledger from the stores.
    let other = stage.builder(&model).tools(registry([&order, &look])).build().unwrap();
    let session = reopen(&other, session.id()).await;
    other.run(&session, "Turn 21").answer().await.unwrap();

    let far = model.requests().last().unwrap().messages.clone();
    assert!(!far.iter().any(|message| matches!(message.as_ref(), ChatMessage::Tool { .. })), "{far:#?}");
    let beside = last_text(&model);
    assert!(beside.contains(r#"order({"what":"tea"}): ok"#), "{beside}");
    assert!(!beside.contains("look("), "looking is no effect: {beside}");
    assert!(beside.ends_with("Turn 21"), "{beside}");
    assert_eq!(order.started(), 1);
    check_requests(&model);
}

#[tokio::test]
async fn a_repeat_that_was_answered_from_the_record_is_one_effect() {
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let model = ScriptedModel::responding(|_, request| match request {
        0 | 1 => Answer::calls([("order", r#"{"what":"tea"}"#)]),
        _ => Answer::text("Done."),
    });
    let (agent, session) = Stage::default().start_with(&model, [&order]).await;
    for turn in 1..=20 {
        agent.run(&session, format!("Turn {turn}")).answer().await.unwrap();
    }
    assert_eq!(order.started(), 1, "the second one of a turn is a repeat (T8)");
    assert_eq!(last_text(&model).matches("order(").count(), 1, "{}", last_text(&model));
}

/// The tokens of each request of a run.
fn compositions(events: &[AgentEvent]) -> Vec<RequestTokens> {
    let tokens = |event: &AgentEvent| match event {
        AgentEvent::Request { tokens, .. } => Some(*tokens),
        _ => None,
    };
    events.iter().filter_map(tokens).collect()
}

#[tokio::test]
async fn the_parts_add_up_to_the_request_and_stay_within_the_budget() {
    let look = RecordingTool::running(spec("look", Effect::ReadOnly, ["at"]), |_, _| async {
        Ok(ToolOutput::text("a long result with many words in it ".repeat(40)))
    });
    let model = ScriptedModel::responding(|request, n| match n % 3 {
        0 => Answer::calls([("look", format!(r#"{{"at":"{n}"}}"#).as_str())]),
        _ => Answer::text(format!(
            "I have {} messages before me. {}",
            request.messages.len(),
            "And so on. ".repeat(20)
        )),
    });
    let stage = Stage::default();
    let mut config = AgentConfig::default();
    config.context_tokens = Some(Tokens::new(3_000));
    config.options.max_output = Some(Tokens::new(500));
    let agent = stage
        .builder(&model)
        .tools(registry([&look]))
        .system_prompt("You are brief.")
        .config(config)
        .build()
        .unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();

    let mut told = Vec::new();
    for turn in 0..25 {
        told.extend(events(agent.run(&session, format!("Message {turn}: please look again"))).await);
    }

    let compositions = compositions(&told);
    let requests = model.requests();
    assert_eq!(compositions.len(), requests.len());
    let counter = agent.sessions().counter();
    for (tokens, request) in compositions.iter().zip(&requests) {
        assert_eq!(tokens.answer, Tokens::ZERO, "it is not there yet");
        assert!(tokens.total() <= Tokens::new(2_500), "3,000 less 500 for the answer: {tokens}");
        let messages: Tokens =
            request.messages.iter().map(|message| count_message(counter.as_ref(), message)).sum();
        assert_eq!(messages, tokens.total().saturating_sub(tokens.tools), "{tokens}");
        assert!(tokens.tools > Tokens::ZERO && tokens.system > Tokens::ZERO && tokens.current > Tokens::ZERO);
    }
    let last = compositions.last().unwrap();
    assert!(last.summary > Tokens::ZERO && last.history > Tokens::ZERO, "{last}");
    check_requests(&model);
}

#[tokio::test]
async fn what_cannot_fit_is_an_error_with_numbers_and_nothing_is_lost() {
    let model = ScriptedModel::new([Answer::text("Better.")]);
    let stage = Stage::default();
    let mut config = AgentConfig::default();
    config.context_tokens = Some(Tokens::new(400));
    let agent = stage.builder(&model).config(config).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();
    let (_, error) = outcome(agent.run(&session, "word ".repeat(2_000))).await;
    assert!(matches!(error, Some(Error::Session(hermes_session::Error::Budget(_)))), "{error:?}");
    assert_eq!(crate::support::log(&session).await.len(), 1, "the message is in the log");

    // The same session with a larger budget.
    let larger = stage.builder(&model).build().unwrap();
    let session = reopen(&larger, session.id()).await;
    assert_eq!(larger.resume(&session).answer().await.unwrap().text, "Better.");
}

#[tokio::test]
async fn tools_that_leave_no_room_are_an_error_with_numbers() {
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["at"]));
    let model = ScriptedModel::new([]);
    let mut config = AgentConfig::default();
    config.context_tokens = Some(Tokens::new(60));
    let agent = Stage::default().builder(&model).tools(registry([&look])).config(config).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();
    let (_, error) = outcome(agent.run(&session, "Hi")).await;
    assert!(matches!(error, Some(Error::NoRoom { window: 60, .. })), "{error:?}");
}

#[tokio::test]
async fn consecutive_requests_share_their_beginning_byte_for_byte() {
    let model = ScriptedModel::responding(|_, n| Answer::text(format!("Answer {n}.")));
    let stage = Stage::default();
    let agent = stage.builder(&model).system_prompt("Be kind.").build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();
    for turn in 1..=10 {
        agent.run(&session, format!("Turn {turn}")).answer().await.unwrap();
    }
    let requests = model.requests();
    for pair in requests.windows(2) {
        let (before, after) = (&pair[0].messages, &pair[1].messages);
        assert_eq!(before[..], after[..before.len()], "{}", text(&after[0]));
    }
}
