//! Going on after a kill, from what the log and the keys say (L5).

use std::path::Path;

use hermes_agent::{AgentEvent, StopReason};
use hermes_core::{
    Body, CallStarted, ChatMessage, Claim, Effect, FailureKind, IdempotencyStore, JsonText, NewClaim,
    NewMessage, Replay, StepId, Takeover, ToolCall, ToolOutcome, ToolSpec, clock::later,
};
use hermes_session::Session;
use hermes_testkit::fake::{Answer, RecordingTool, ScriptedModel};
use hermes_testkit::sample::{call, holder, json, key, owner, result_of, seconds};
use serde_json::{Value, json};

use crate::approval::AskAboutEffects;
use crate::support::{
    Stage, check_log, check_requests, events, log, names, outline, registry, reopen, results, spec, stop,
    text, value,
};

/// A case of the given ones.
fn given(id: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/given.jsonl");
    let lines = std::fs::read_to_string(path).unwrap();
    let mut cases = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.find(|case| case["id"] == id).unwrap()
}

/// The message of a log as a case has it.
fn message(entry: &Value) -> NewMessage {
    let content = entry["content"].as_str().unwrap_or_default();
    match entry["kind"].as_str().unwrap() {
        "text" => NewMessage::user(content),
        "tool_call" => {
            let field = |call: &Value, name: &str| call[name].as_str().unwrap().to_owned();
            let calls = entry["calls"].as_array().unwrap().iter();
            let calls: Vec<ToolCall> = calls
                .map(|each| call(&field(each, "id"), &field(each, "name"), &field(each, "arguments")))
                .collect();
            NewMessage::calls(calls).with_step(StepId::generate())
        }
        "tool_result" => {
            let answered = call(entry["tool_call_id"].as_str().unwrap(), "stock", "");
            NewMessage::result(result_of(&answered, content))
        }
        other => unreachable!("{other}"),
    }
}

fn started(id: &str, tool: &str, arguments: &str, with_key: Option<&str>) -> CallStarted {
    let ToolCall { id, name, arguments } = call(id, tool, arguments);
    CallStarted {
        call: id,
        tool: name,
        arguments: json(&arguments),
        key: with_key.map(key),
        filled: Vec::new(),
        repaired: Vec::new(),
        approval: None,
    }
}

fn stock_and_reserve() -> [RecordingTool; 2] {
    let stock =
        ToolSpec::new("stock", "Says what is in stock").effect(Effect::ReadOnly).input_schema(json!({
            "type": "object", "properties": { "wh": { "type": "string" } }, "required": ["wh"]
        }));
    let reserve = ToolSpec::new("reserve_stock", "Reserves").effect(Effect::SideEffect).input_schema(json!({
        "type": "object", "properties": { "wh": { "type": "string" }, "n": { "type": "integer" } }, "required": ["wh", "n"]
    }));
    [RecordingTool::new(stock), RecordingTool::new(reserve)]
}

/// How the journal stood when the process was killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Journal {
    /// A log from elsewhere, without entries.
    Absent,
    /// The call was dispatched by a tool without a key.
    Keyless,
    /// The call was dispatched, its key claimed; the claim is live.
    Claimed,
    /// The same, and the claim has ended.
    Abandoned,
}

async fn given_g02(journal: Journal) {
    let case = given("g02");
    let stage = Stage::default();
    let [stock, reserve] = stock_and_reserve();
    let silent = ScriptedModel::new([]);
    let (first, session) = stage.start_with(&silent, [&stock, &reserve]).await;
    for entry in case["input"]["log"].as_array().unwrap() {
        session.append(message(entry)).await.unwrap();
    }
    let of_s3 = started(
        "s3",
        "reserve_stock",
        r#"{"wh":"A","n":5}"#,
        Some("k-s3").filter(|_| journal != Journal::Keyless),
    );
    if journal != Journal::Absent {
        session.append(NewMessage::started(of_s3)).await.unwrap();
    }
    if matches!(journal, Journal::Claimed | Journal::Abandoned) {
        let at = stage.clock_now();
        let wish = NewClaim {
            session: session.id(),
            tool: "reserve_stock".to_owned(),
            holder: holder("killed"),
            at,
            expires: later(at, seconds(40)),
            takeover: Takeover::Never,
        };
        let claim = stage.store.claim(&owner(), &key("k-s3"), &wish).await.unwrap();
        assert!(matches!(claim, Claim::Won(_)));
        let passes = if journal == Journal::Abandoned { 60 } else { 1 };
        stage.clock.advance(seconds(passes));
    }
    drop(first);

    // A new process; the model answers nothing, as if the process were killed after the request.
    let model = ScriptedModel::new([Answer::hanging_after("")]);
    let second = stage.builder(&model).tools(registry([&stock, &reserve])).build().unwrap();
    let session = reopen(&second, session.id()).await;
    let mut run = second.run(&session, "继续");
    let mut told = Vec::new();
    while !told.iter().any(|event| matches!(event, AgentEvent::Request { .. })) {
        told.push(run.next().await.unwrap().unwrap());
    }
    run.cancel();
    run.answer().await.unwrap();

    assert!(
        told.iter()
            .any(|event| matches!(event, AgentEvent::Notice { text } if text.contains("reserve_stock"))),
        "{told:#?}"
    );
    check_requests(&model);
    let sent = model.requests().remove(0).messages;
    assert_eq!(sent.len(), 6, "user, step, three results, user: {sent:#?}");
    assert_eq!(text(&sent[0]), "查三个仓库并预留 5 件。");
    let ChatMessage::Assistant { calls, .. } = sent[1].as_ref() else { panic!("{sent:#?}") };
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["s1", "s2", "s3"]);
    assert_eq!(text(&sent[2]), r#"{"success":true,"output":12}"#, "the recorded result of s1");
    assert!(stock.started() == 1 || text(&sent[3]).contains(r#""success":false"#), "{}", text(&sent[3]));
    let unknown = text(&sent[4]);
    assert!(unknown.contains(r#""success":false"#), "{unknown}");
    assert!(unknown.contains("unknown") || unknown.contains("未知"), "{unknown}");
    assert_eq!(text(&sent[5]), "继续");
    let expected =
        usize::try_from(case["expect"]["values"]["reserve_stock_runs_after_restart"].as_u64().unwrap())
            .unwrap();
    assert_eq!(reserve.started(), expected);
    let results =
        log(&session).await.iter().filter(|message| matches!(message.body(), Body::ToolResult(_))).count();
    assert_eq!(
        results,
        usize::try_from(case["expect"]["values"]["tool_messages"].as_u64().unwrap()).unwrap()
    );

    // A second restart gives the same request.
    let again = ScriptedModel::new([Answer::text("好的。")]);
    let third = stage.builder(&again).tools(registry([&stock, &reserve])).build().unwrap();
    let session = reopen(&third, session.id()).await;
    let told = events(third.resume(&session)).await;
    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!(again.requests()[0].messages, sent);
    assert_eq!(reserve.started(), expected);
    assert!(check_log(&session).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn g02_with_a_log_from_elsewhere() {
    given_g02(Journal::Absent).await;
}

#[tokio::test(start_paused = true)]
async fn g02_with_a_tool_that_has_no_key() {
    given_g02(Journal::Keyless).await;
}

#[tokio::test(start_paused = true)]
async fn g02_while_the_claim_of_the_dead_is_live() {
    given_g02(Journal::Claimed).await;
}

#[tokio::test(start_paused = true)]
async fn g02_after_the_claim_of_the_dead_has_ended() {
    given_g02(Journal::Abandoned).await;
}

/// A session whose process was killed after a step that orders tea; `begun` says whether the journal has it.
async fn killed(
    stage: &Stage,
    order: &RecordingTool,
    begun: bool,
) -> (ScriptedModel, hermes_agent::Agent, Session) {
    let model = ScriptedModel::new([Answer::text("Ordered.")]);
    let (agent, session) = stage.start_with(&model, [order]).await;
    session.append(NewMessage::user("Order tea")).await.unwrap();
    let step = StepId::generate();
    let arguments = r#"{"what":"tea"}"#;
    session.append(NewMessage::calls(vec![call("c1", "order", arguments)]).with_step(step)).await.unwrap();
    if begun {
        session
            .append(NewMessage::started(started("c1", "order", arguments, Some("k1"))).with_step(step))
            .await
            .unwrap();
    }
    (model, agent, session)
}

async fn claimed(stage: &Stage, session: &Session, outcome: Option<ToolOutcome>) {
    let at = stage.clock_now();
    let wish = NewClaim {
        session: session.id(),
        tool: "order".to_owned(),
        holder: holder("killed"),
        at,
        expires: later(at, seconds(40)),
        takeover: Takeover::Never,
    };
    let Claim::Won(ticket) = stage.store.claim(&owner(), &key("k1"), &wish).await.unwrap() else { panic!() };
    if let Some(outcome) = outcome {
        stage
            .store
            .complete(&ticket, &JsonText::of(&outcome).unwrap(), at, later(at, seconds(86_400)))
            .await
            .unwrap();
    }
    stage.clock.advance(seconds(60));
}

#[tokio::test]
async fn what_was_not_begun_is_begun_when_the_turn_goes_on() {
    let stage = Stage::default();
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let (model, agent, session) = killed(&stage, &order, false).await;
    let told = events(agent.resume(&session)).await;
    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!(order.finished(), 1);
    assert_eq!(outline(&session).await, ["user", "calls:1", "started:c1", "result:c1", "assistant"]);
    check_requests(&model);
    // Nothing is left to go on from.
    let told = events(agent.resume(&session)).await;
    assert_eq!(names(&told), ["finished"]);
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn what_was_written_down_and_never_claimed_is_run_once() {
    let stage = Stage::default();
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let (_, agent, session) = killed(&stage, &order, true).await;
    events(agent.resume(&session)).await;
    assert_eq!(order.finished(), 1);
    assert_eq!(outline(&session).await, ["user", "calls:1", "started:c1", "result:c1", "assistant"]);
}

#[tokio::test]
async fn a_recorded_outcome_is_used_again() {
    let stage = Stage::default();
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let (model, agent, session) = killed(&stage, &order, true).await;
    claimed(&stage, &session, Some(ToolOutcome::success(json!("order 4711")))).await;
    let told = events(agent.resume(&session)).await;
    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!(order.started(), 0);
    let [result] = results(&session, "order").await.try_into().unwrap();
    // The model is told that this was not run again (T8).
    let recorded = json!({ "success": true, "output": "order 4711", "from_record": true });
    assert_eq!(value(&result), recorded);
    assert!(!told.iter().any(|event| matches!(event, AgentEvent::Notice { .. })));
    check_requests(&model);
}

#[tokio::test]
async fn an_effect_of_unknown_outcome_is_told_and_not_repeated() {
    let stage = Stage::default();
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let (_, agent, session) = killed(&stage, &order, true).await;
    claimed(&stage, &session, None).await;
    let told = events(agent.resume(&session)).await;
    assert_eq!(order.started(), 0);
    assert!(told.iter().any(|event| matches!(event, AgentEvent::Notice { .. })));
    let log = log(&session).await;
    let Body::ToolResult(result) = log[3].body() else { panic!("{log:#?}") };
    assert_eq!(result.failure, Some(FailureKind::OutcomeUnknown));
}

#[tokio::test]
async fn a_call_that_may_run_again_runs_again_under_its_key() {
    let stage = Stage::default();
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]).replay(Replay::UnderKey));
    let (_, agent, session) = killed(&stage, &order, true).await;
    claimed(&stage, &session, None).await;
    events(agent.resume(&session)).await;
    assert_eq!(order.finished(), 1);
    assert_eq!(order.calls()[0].context.key, Some(key("k1")));
}

#[tokio::test]
async fn a_call_that_was_not_begun_and_needs_approval_asks_for_it() {
    let stage = Stage::default();
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let (_, _, session) = killed(&stage, &order, false).await;
    let model = ScriptedModel::new([]);
    let agent =
        stage.builder(&model).tools(registry([&order]).with_approver(AskAboutEffects)).build().unwrap();
    let session = reopen(&agent, session.id()).await;
    let told = events(agent.resume(&session)).await;
    assert_eq!(stop(&told), StopReason::Suspended, "{told:#?}");
    assert_eq!(names(&told), ["approval_needed", "finished"]);
    assert_eq!((order.started(), agent.pending(&session).await.unwrap().len()), (0, 1));
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_message_without_an_answer_is_answered_and_an_empty_session_is_left_alone() {
    let stage = Stage::default();
    let model = ScriptedModel::new([Answer::text("Hello.")]);
    let (agent, session) = stage.start(&model).await;
    assert_eq!(names(&events(agent.resume(&session)).await), ["finished"]);
    session.append(NewMessage::user("Hi")).await.unwrap();
    let told = events(agent.resume(&session)).await;
    assert_eq!(names(&told), ["turn_started", "request", "answered", "finished"]);
    assert_eq!(outline(&session).await, ["user", "assistant"]);
}
