//! Memory fills blanks, and only blanks (L2).

use hermes_agent::{AgentEvent, Approval, StopReason};
use hermes_core::{Body, Effect, JsonText, MemoryId, ToolSpec};
use hermes_inmemory::InMemorySemanticStore;
use hermes_memory::{Dictated, Memory};
use hermes_testkit::fake::{Answer, HashEmbedder, RecordingTool, ScriptedModel};
use hermes_testkit::sample::owner;
use serde_json::json;

use crate::support::{Stage, check_requests, events, log, names, registry, reopen, results, stop, value};

const WISH: &str = "Book the Sichuan restaurant I mentioned last time, tomorrow 7 pm, two people";

/// A memory that knows the user's restaurant, and the record's id.
async fn knowing(stage: &Stage, semantic: &InMemorySemanticStore) -> (Memory, MemoryId) {
    let memory = Memory::new(stage.store.clone(), semantic.clone(), HashEmbedder::new())
        .with_clock(stage.clock.clone());
    let told = Dictated::preference("The user's favourite Sichuan restaurant is \"Chuan Xiang Ge\".")
        .with_attribute("user", "favourite_sichuan_restaurant");
    let id = memory.add(&owner(), told).await.unwrap().record().unwrap().id;
    (memory, id)
}

fn booking(name: &str, effect: Effect) -> ToolSpec {
    ToolSpec::new(name, "Books or looks for a table").effect(effect).input_schema(json!({
        "type": "object",
        "properties": {
            "restaurant": { "type": "string", "x-hermes-fill": "restaurant" },
            "people": { "type": "integer" }
        },
        "required": ["restaurant", "people"]
    }))
}

#[tokio::test]
async fn a_missing_argument_is_filled_from_the_record_that_fits() {
    let (stage, semantic) = (Stage::default(), InMemorySemanticStore::new());
    let (memory, id) = knowing(&stage, &semantic).await;
    let search = RecordingTool::new(booking("search_restaurant", Effect::ReadOnly));
    let model = ScriptedModel::new([
        Answer::calls([("search_restaurant", r#"{"people":2}"#)]),
        Answer::text("Found."),
    ]);
    let agent = stage.builder(&model).tools(registry([&search])).memory(memory).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();

    let told = events(agent.run(&session, WISH)).await;

    assert_eq!(stop(&told), StopReason::Answered);
    let recalled = told.iter().find_map(|event| match event {
        AgentEvent::Recalled { items, trouble, .. } => {
            Some((items.iter().map(|item| item.id).collect::<Vec<_>>(), trouble.clone()))
        }
        _ => None,
    });
    assert_eq!(recalled, Some((vec![id], None)));
    let ran: serde_json::Value = search.calls()[0].arguments.read().unwrap();
    assert_eq!(ran, json!({"people": 2, "restaurant": "Chuan Xiang Ge"}));
    // Which record filled which argument: told, in the journal, in the result, and to the model.
    let filled = told.iter().find_map(|event| match event {
        AgentEvent::CallStarted { filled, .. } => Some(filled.clone()),
        _ => None,
    });
    let expected = vec![hermes_core::Filled {
        pointer: "/restaurant".to_owned(),
        value: JsonText::from(&json!("Chuan Xiang Ge")),
        memory: id,
    }];
    assert_eq!(filled.as_ref(), Some(&expected));
    let log = log(&session).await;
    let Body::CallStarted(started) = log[2].body() else { panic!("{log:#?}") };
    assert_eq!(started.filled, expected);
    let Body::ToolResult(result) = log[3].body() else { panic!("{log:#?}") };
    assert_eq!(result.report.filled, [id]);
    assert!(log[3].text().contains("filled_from_memory") && log[3].text().contains("Chuan Xiang Ge"));
    // The memory stands beside the user's message, labelled, and not in the log (R7).
    let first = crate::support::text(&model.requests()[0].messages[0]);
    assert!(
        first.contains("Chuan Xiang Ge") && first.contains("for reference") && first.ends_with(WISH),
        "{first}"
    );
    assert_eq!(log[0].text(), WISH);
    check_requests(&model);
}

#[tokio::test]
async fn what_the_model_said_is_never_overridden() {
    let (stage, semantic) = (Stage::default(), InMemorySemanticStore::new());
    let (memory, _) = knowing(&stage, &semantic).await;
    let search = RecordingTool::new(booking("search_restaurant", Effect::ReadOnly));
    let model = ScriptedModel::new([
        Answer::calls([
            ("search_restaurant", r#"{"people":2,"restaurant":"Blue Door"}"#),
            ("search_restaurant", r#"{"people":3,"restaurant":""}"#),
            ("search_restaurant", r#"{"people":4,"restaurant":7}"#),
        ]),
        Answer::text("Found."),
    ]);
    let agent = stage.builder(&model).tools(registry([&search])).memory(memory).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();
    events(agent.run(&session, WISH)).await;
    let ran: Vec<_> =
        search.calls().iter().map(|call| call.arguments.read::<serde_json::Value>().unwrap()).collect();
    assert_eq!(
        ran,
        [json!({"people": 2, "restaurant": "Blue Door"}), json!({"people": 3, "restaurant": ""})]
    );
    let results = results(&session, "search_restaurant").await;
    let refused: Vec<_> = results.iter().filter(|text| value(text)["success"] == false).collect();
    assert_eq!(refused.len(), 1);
    assert!(refused[0].contains("/restaurant"), "a wrong value is refused, not replaced: {refused:?}");
}

#[tokio::test]
async fn an_effect_that_rests_on_memory_asks_and_runs_once_with_what_was_shown() {
    let (stage, semantic) = (Stage::default(), InMemorySemanticStore::new());
    let (memory, id) = knowing(&stage, &semantic).await;
    let reserve = RecordingTool::new(booking("make_reservation", Effect::SideEffect));
    let model = ScriptedModel::new([Answer::calls([("make_reservation", r#"{"people":2}"#)])]);
    let agent = stage.builder(&model).tools(registry([&reserve])).memory(memory).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();

    let told = events(agent.run(&session, WISH)).await;

    assert_eq!(stop(&told), StopReason::Suspended);
    assert_eq!(
        names(&told),
        ["turn_started", "recalled", "request", "tool_call", "approval_needed", "finished"]
    );
    let pending = agent.pending(&session).await.unwrap();
    assert_eq!(pending[0].suspended.filled[0].memory, id);
    assert!(pending[0].suspended.reason.contains("Chuan Xiang Ge"), "{}", pending[0].suspended.reason);
    assert_eq!(reserve.started(), 0);

    // The user changes the memory meanwhile; another process, without any memory, gets the answer.
    agent
        .memory()
        .unwrap()
        .edit(&owner(), id, "The user's favourite Sichuan restaurant is \"Red Lantern\".")
        .await
        .unwrap();
    let second = ScriptedModel::new([Answer::text("Booked.")]);
    let other = stage.builder(&second).tools(registry([&reserve])).build().unwrap();
    let theirs = reopen(&other, session.id()).await;
    let call = pending[0].suspended.call.id.clone();
    let answer =
        other.answer(&theirs, call, Approval::Allow { by: "dana".to_owned() }).answer().await.unwrap();

    assert_eq!((answer.text.as_str(), answer.stop), ("Booked.", StopReason::Answered));
    assert_eq!(reserve.started(), 1);
    let ran: serde_json::Value = reserve.calls()[0].arguments.read().unwrap();
    assert_eq!(ran, json!({"people": 2, "restaurant": "Chuan Xiang Ge"}));
    check_requests(&second);
}
