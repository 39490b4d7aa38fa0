//! One turn from the user's message to the answer: events, log, requests (L5, L6, S8, T3, T11).

use std::sync::Arc;

use hermes_agent::{Agent, AgentEvent, StopReason};
use hermes_core::{
    Body, ChatMessage, Effect, FailureKind, Limit, LogQuery, Role, SessionStore, ToolOutput, Usage,
};
use hermes_inmemory::InMemoryStore;
use hermes_testkit::fake::{Answer, RecordingTool, ScriptedModel};
use hermes_testkit::sample::owner;
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{
    Stage, check_log, check_requests, events, log, names, outline, results, spec, stop, success, text, value,
};

#[tokio::test]
async fn a_plain_turn_tells_logs_and_counts() {
    let usage = Usage { input: 7, cache_read: 3, output: 2, ..Usage::default() };
    let model = ScriptedModel::new([Answer::text("Hello, Dana, and welcome.").with_usage(usage)]);
    let stage = Stage::default();
    let agent = stage.builder(&model).system_prompt("Be kind.").build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();

    let events = events(agent.run(&session, "Hi, I am Dana.")).await;

    assert_eq!(names(&events), ["turn_started", "request", "usage", "answered", "finished"]);
    let said: String = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::Text { delta } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, "Hello, Dana, and welcome.");
    let turn = hermes_core::Seq::new(1);
    assert_eq!(events.first(), Some(&AgentEvent::TurnStarted { session: session.id(), turn }));
    let finished = AgentEvent::Finished { stop: StopReason::Answered, steps: 1, usage };
    assert_eq!(events.last(), Some(&finished));
    assert_eq!(usage.total(), 12, "the buckets do not overlap (L7)");

    assert_eq!(outline(&session).await, ["user", "assistant"]);
    let log = log(&session).await;
    assert_eq!(log[0].text(), "Hi, I am Dana.");
    assert_eq!(log[1].text(), "Hello, Dana, and welcome.");
    assert!(log.iter().all(|message| message.created() == stage.clock_now()));
    let [request] = model.requests().try_into().unwrap();
    let expected = [ChatMessage::system("Be kind."), ChatMessage::user("Hi, I am Dana.")];
    assert_eq!(request.messages, expected.map(Arc::new));
    assert!(session.held_lease().is_none(), "the lease is given back");
}

#[tokio::test]
async fn usage_is_summed_over_the_steps_of_a_turn() {
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["at"]));
    let first = Usage { input: 10, output: 4, ..Usage::default() };
    let second = Usage { cache_read: 9, reasoning: 1, ..Usage::default() };
    let model = ScriptedModel::new([
        Answer::calls([("look", r#"{"at":"a"}"#)]).with_usage(first),
        Answer::text("Done.").with_usage(second),
    ]);
    let (agent, session) = Stage::default().start_with(&model, [&look]).await;
    let events = events(agent.run(&session, "Look")).await;
    let AgentEvent::Finished { steps, usage, .. } = events.last().unwrap() else { panic!("{events:?}") };
    assert_eq!((*steps, *usage), (2, first.plus(second)));
}

#[tokio::test]
async fn calls_of_one_step_are_carried_out_logged_and_sent_with_their_results() {
    // The looks end in the other order than they were called in: the second one lets the first go.
    let glanced = Arc::new(Notify::new());
    let waits = Arc::clone(&glanced);
    let look = RecordingTool::running(spec("look", Effect::ReadOnly, ["at"]), move |_, _| {
        let waits = Arc::clone(&waits);
        async move {
            waits.notified().await;
            Ok(ToolOutput::text("seen"))
        }
    });
    let glance = RecordingTool::running(spec("glance", Effect::ReadOnly, ["at"]), move |_, _| {
        glanced.notify_one();
        async { Ok(ToolOutput::text("glanced")) }
    });
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let model = ScriptedModel::new([
        Answer::calls([
            ("look", r#"{"at":"a"}"#),
            ("glance", r#"{"at":"b"}"#),
            ("order", r#"{"what":"tea"}"#),
        ])
        .after_text("Let me see."),
        Answer::text("All done."),
    ]);
    let (agent, session) = Stage::default().start_with(&model, [&look, &glance, &order]).await;

    let events = events(agent.run(&session, "Look around and order tea")).await;

    assert_eq!(stop(&events), StopReason::Answered);
    assert_eq!((look.finished(), glance.finished(), order.finished()), (1, 1, 1));
    assert!(check_log(&session).await.is_empty());
    check_requests(&model);
    let requests = model.requests();
    let step = &requests[1].messages;
    assert_eq!(step.len(), 5, "user, step, three results: {step:#?}");
    let answers: Vec<_> = step[2..].iter().map(|message| value(&text(message))).collect();
    assert_eq!(answers, [success("seen"), success("glanced"), success("ok")]);
    let ChatMessage::Assistant { calls, content, .. } = step[1].as_ref() else { panic!("{step:#?}") };
    assert_eq!((calls.len(), hermes_core::text_of(content)), (3, "Let me see.".to_owned()));
    // The effect comes after the looks before it (T11).
    let outline = outline(&session).await;
    let place = |entry: &str| outline.iter().position(|line| line == entry).unwrap();
    assert!(place("started:call_3") > place("started:call_1"));
    assert_eq!(outline.last().unwrap(), "assistant");
    let steps: Vec<_> = log(&session).await.iter().map(hermes_core::Message::step).collect();
    assert!(steps[1].is_some());
    assert!(steps[1..steps.len() - 1].iter().all(|step| *step == steps[1]), "one step stays one (S7)");
}

#[tokio::test]
async fn the_journal_has_a_call_before_its_tool_runs_and_no_request_has_the_journal() {
    let stage = Stage::default();
    let store = stage.store.clone();
    let witness = RecordingTool::running(
        spec("order", Effect::SideEffect, ["what"]),
        move |arguments, context| {
            let store = store.clone();
            async move {
                let query = LogQuery::newest(Limit::MAX);
                let page = SessionStore::page(&store, &context.owner, context.session, &query).await.unwrap();
                let written = page.messages.iter().any(|message| {
                matches!(message.body(), Body::CallStarted(started)
                    if started.call == context.call && started.arguments == arguments && started.key == context.key)
            });
                Ok(ToolOutput::json(json!(written && context.key.is_some())))
            }
        },
    );
    let model =
        ScriptedModel::new([Answer::calls([("order", r#"{"what":"tea"}"#)]), Answer::text("Ordered.")]);
    let (agent, session) = stage.start_with(&model, [&witness]).await;

    let events = events(agent.run(&session, "Order tea")).await;

    assert_eq!(
        names(&events),
        [
            "turn_started",
            "request",
            "tool_call",
            "call_started",
            "tool_result",
            "request",
            "answered",
            "finished"
        ]
    );
    assert_eq!(outline(&session).await, ["user", "calls:1", "started:call_1", "result:call_1", "assistant"]);
    let [result] = results(&session, "order").await.try_into().unwrap();
    assert_eq!(value(&result), json!({"success": true, "output": true}));
    let sent: Vec<Role> = model.requests()[1].messages.iter().map(|message| message.role()).collect();
    assert_eq!(sent, [Role::User, Role::Assistant, Role::Tool]);
}

#[tokio::test]
async fn wrong_arguments_come_back_and_are_corrected() {
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let model = ScriptedModel::new([
        Answer::calls([("order", r#"{"wat":"tea"}"#)]),
        Answer::calls([("order", r#"{"what":"tea"}"#)]),
        Answer::text("Ordered."),
    ]);
    let (agent, session) = Stage::default().start_with(&model, [&order]).await;

    let events = events(agent.run(&session, "Order tea")).await;

    assert_eq!(stop(&events), StopReason::Answered);
    assert_eq!(order.finished(), 1);
    let results = results(&session, "order").await;
    let refused = value(&results[0]);
    assert_eq!(refused["success"], false);
    assert!(refused["error"].as_str().unwrap().contains("/what"), "{results:?}");
    assert_eq!(value(&results[1]), success("ok"));
    // What was refused never began.
    let begun = outline(&session).await.iter().filter(|line| line.starts_with("started")).count();
    assert_eq!(begun, 1);
    check_requests(&model);
    let failure = log(&session).await.iter().find_map(|message| match message.body() {
        Body::ToolResult(result) => result.failure,
        _ => None,
    });
    assert_eq!(failure, Some(FailureKind::InvalidArguments));
    let counts = agent.tools().stats().of("order");
    assert_eq!(counts.corrected, 1, "{counts:?}");
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let nothing = Agent::builder().build().unwrap_err();
    assert_eq!(nothing.part(), "a model");
    assert_eq!(nothing.to_string(), "an agent needs a model: call `model` on its builder");
    let storeless = Agent::builder().model(ScriptedModel::new([])).build().unwrap_err();
    assert_eq!(storeless.part(), "a session store");
    assert!(Agent::builder().model(ScriptedModel::new([])).store(InMemoryStore::new()).build().is_ok());
}

#[tokio::test]
async fn events_are_json_objects_with_a_tag() {
    let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["at"]));
    let model = ScriptedModel::new([Answer::calls([("look", r#"{"at":"a"}"#)]), Answer::text("Hi.")]);
    let (agent, session) = Stage::default().start_with(&model, [&look]).await;
    let events = events(agent.run(&session, "Look")).await;
    let json: Vec<_> = events.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    assert!(json.iter().all(|event| event["event"].is_string()), "{json:#?}");
    let started = json.iter().find(|event| event["event"] == "call_started").unwrap();
    assert_eq!(started["tool"], "look");
    assert_eq!(started["arguments"], r#"{"at":"a"}"#);
    let result = json.iter().find(|event| event["event"] == "tool_result").unwrap();
    assert_eq!(result["result"]["call"], "call_1");
    let last = json.last().unwrap();
    assert_eq!(
        (&last["event"], &last["stop"], &last["steps"]),
        (&json!("finished"), &json!("answered"), &json!(2))
    );
}
