//! Calls that wait for a person: durable, answered once, in whatever process (T13).

use std::time::Duration;

use hermes_agent::{AgentConfig, AgentEvent, Approval, StopReason};
use hermes_core::{ApprovalRequest, Approver, Body, Decision, Effect, async_trait};
use hermes_session::Session;
use hermes_testkit::fake::{Answer, RecordingTool, ScriptedModel};
use hermes_testkit::sample::owner;

use crate::support::{
    Stage, check_log, check_requests, events, last_text, log, names, outcome, outline, registry, reopen,
    results, spec, stop,
};

/// Asks about every effect on the world.
#[derive(Debug)]
pub(crate) struct AskAboutEffects;

#[async_trait]
impl Approver for AskAboutEffects {
    async fn decide(&self, request: &ApprovalRequest<'_>) -> Decision {
        match request.spec.effect {
            Effect::SideEffect => Decision::Ask { reason: format!("May I call {}?", request.call.name) },
            _ => Decision::Allow,
        }
    }
}

fn allow() -> Approval {
    Approval::Allow { by: "dana".to_owned() }
}

fn deny(reason: &str) -> Approval {
    Approval::Deny { by: "dana".to_owned(), reason: reason.to_owned() }
}

struct Waiting {
    stage: Stage,
    look: RecordingTool,
    order: RecordingTool,
    session: Session,
    told: Vec<AgentEvent>,
}

impl Waiting {
    /// A session in which a step looked, and wants to order as often as said.
    async fn with_orders(orders: usize) -> Self {
        let stage = Stage::default();
        let look = RecordingTool::new(spec("look", Effect::ReadOnly, ["at"]));
        let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
        let mut calls = vec![("look", r#"{"at":"the menu"}"#)];
        calls.extend(
            [("order", r#"{"what":"tea"}"#), ("order", r#"{"what":"cake"}"#)].into_iter().take(orders),
        );
        let model = ScriptedModel::new([Answer::calls(calls)]);
        let tools = registry([&look, &order]).with_approver(AskAboutEffects);
        let agent = stage.builder(&model).tools(tools).build().unwrap();
        let session = agent.sessions().create(&owner(), "Test").await.unwrap();
        let told = events(agent.run(&session, "Order what is good")).await;
        Self { stage, look, order, session, told }
    }

    /// An agent as another process has it, and its handle on the session.
    async fn elsewhere(&self, model: &ScriptedModel) -> (hermes_agent::Agent, Session) {
        let tools = registry([&self.look, &self.order]).with_approver(AskAboutEffects);
        let agent = self.stage.builder(model).tools(tools).build().unwrap();
        let session = reopen(&agent, self.session.id()).await;
        (agent, session)
    }
}

#[tokio::test]
async fn a_call_that_asks_suspends_the_turn_and_the_others_finish() {
    let Waiting { look, order, session, told, .. } = Waiting::with_orders(1).await;
    assert_eq!(stop(&told), StopReason::Suspended);
    assert_eq!((look.finished(), order.started()), (1, 0));
    assert_eq!(outline(&session).await, ["user", "calls:2", "started:call_1", "result:call_1"]);
    let needed = told.iter().find(|event| matches!(event, AgentEvent::ApprovalNeeded { .. })).unwrap();
    let AgentEvent::ApprovalNeeded { call, tool, arguments, reason } = needed else { panic!() };
    assert_eq!(
        (call.as_str(), tool.as_str(), arguments.as_str(), reason.as_str()),
        ("call_2", "order", r#"{"what":"tea"}"#, "May I call order?")
    );
    assert!(session.held_lease().is_none(), "the lease is released meanwhile");
}

#[tokio::test]
async fn an_answer_from_another_process_lets_it_run_once() {
    let waiting = Waiting::with_orders(1).await;
    let model = ScriptedModel::new([Answer::text("Ordered.")]);
    let (agent, session) = waiting.elsewhere(&model).await;
    let pending = agent.pending(&session).await.unwrap();
    let [pending] = pending.as_slice() else { panic!("{pending:?}") };
    assert_eq!(pending.suspended.arguments.as_str(), r#"{"what":"tea"}"#);
    assert_eq!(
        pending.expires,
        hermes_core::clock::later(waiting.stage.clock_now(), Duration::from_secs(86_400))
    );
    let call = pending.suspended.call.id.clone();

    let told = events(agent.answer(&session, call.clone(), allow())).await;

    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!(waiting.order.finished(), 1);
    assert!(agent.pending(&session).await.unwrap().is_empty());
    let expected = [
        "user",
        "calls:2",
        "started:call_1",
        "result:call_1",
        "started:call_2",
        "result:call_2",
        "assistant",
    ];
    assert_eq!(outline(&session).await, expected);
    let log = log(&session).await;
    let Body::CallStarted(started) = log[4].body() else { panic!("{log:#?}") };
    assert_eq!(
        started.approval.as_ref().map(|note| note.by.as_str()),
        Some("dana"),
        "the journal says who allowed it"
    );
    check_requests(&model);

    // Again, and from a third process.
    let (_, error) = outcome(agent.answer(&session, call.clone(), allow())).await;
    assert!(error.unwrap().to_string().len() > 1);
    let (third, theirs) = waiting.elsewhere(&model).await;
    let (_, error) = outcome(third.answer(&theirs, call, allow())).await;
    assert!(error.is_some());
    assert_eq!(waiting.order.started(), 1);
    assert!(check_log(&session).await.is_empty());
}

#[tokio::test]
async fn of_two_answers_at_once_one_counts() {
    let waiting = Waiting::with_orders(1).await;
    let model = ScriptedModel::responding(|_, _| Answer::text("Ordered."));
    let (one, ours) = waiting.elsewhere(&model).await;
    let (other, theirs) = waiting.elsewhere(&model).await;
    let call = one.pending(&ours).await.unwrap().remove(0).suspended.call.id;
    let (first, second) = tokio::join!(
        outcome(one.answer(&ours, call.clone(), allow())),
        outcome(other.answer(&theirs, call, allow()))
    );
    let failed = [&first.1, &second.1].into_iter().filter(|error| error.is_some()).count();
    assert_eq!(failed, 1, "{first:?} {second:?}");
    assert_eq!(waiting.order.started(), 1);
}

#[tokio::test]
async fn what_is_denied_does_not_run_and_the_model_learns_why() {
    let waiting = Waiting::with_orders(1).await;
    let model = ScriptedModel::new([Answer::text("Then not.")]);
    let (agent, session) = waiting.elsewhere(&model).await;
    let call = agent.pending(&session).await.unwrap().remove(0).suspended.call.id;
    let told = events(agent.answer(&session, call, deny("too dear"))).await;
    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!(waiting.order.started(), 0);
    assert!(last_text(&model).contains("too dear") && last_text(&model).contains(r#""success":false"#));
    check_requests(&model);
}

#[tokio::test]
async fn the_turn_goes_on_when_the_last_answer_is_there() {
    let waiting = Waiting::with_orders(2).await;
    let model = ScriptedModel::new([Answer::text("Cake it is.")]);
    let (agent, session) = waiting.elsewhere(&model).await;
    let ids: Vec<_> =
        agent.pending(&session).await.unwrap().into_iter().map(|call| call.suspended.call.id).collect();

    let first = events(agent.answer(&session, ids[1].clone(), allow())).await;
    assert_eq!(stop(&first), StopReason::Suspended);
    assert!(model.requests().is_empty());
    assert_eq!(stop(&events(agent.resume(&session)).await), StopReason::Suspended, "it still waits");

    let second = events(agent.answer(&session, ids[0].clone(), deny(""))).await;
    assert_eq!(stop(&second), StopReason::Answered);
    assert_eq!(
        waiting.order.calls().iter().map(|call| call.arguments.as_str().to_owned()).collect::<Vec<_>>(),
        [r#"{"what":"cake"}"#]
    );
    check_requests(&model);
    assert!(check_log(&session).await.is_empty());
}

#[tokio::test]
async fn a_new_message_overtakes_what_waits() {
    let waiting = Waiting::with_orders(2).await;
    let model = ScriptedModel::new([Answer::text("As you wish.")]);
    let (agent, session) = waiting.elsewhere(&model).await;
    let call = agent.pending(&session).await.unwrap().remove(0).suspended.call.id;

    let told = events(agent.run(&session, "Forget it, what time is it?")).await;

    assert_eq!(stop(&told), StopReason::Answered);
    assert!(agent.pending(&session).await.unwrap().is_empty());
    let (_, error) = outcome(agent.answer(&session, call, allow())).await;
    assert!(error.is_some(), "it is too late");
    assert_eq!(waiting.order.started(), 0);
    assert!(results(&session, "order").await.iter().all(|text| text.contains("not run")));
    check_requests(&model);
    assert!(check_log(&session).await.is_empty());
}

#[tokio::test]
async fn an_answer_after_the_expiry_is_no() {
    let waiting = Waiting::with_orders(1).await;
    let model = ScriptedModel::new([Answer::text("Too late.")]);
    let (agent, session) = waiting.elsewhere(&model).await;
    let call = agent.pending(&session).await.unwrap().remove(0).suspended.call.id;
    waiting.stage.clock.advance(AgentConfig::default().approval_life);
    let told = events(agent.answer(&session, call, allow())).await;
    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!(waiting.order.started(), 0);
    assert!(last_text(&model).contains("in time"), "{}", last_text(&model));
}

#[tokio::test]
async fn just_before_the_expiry_an_answer_still_counts() {
    let waiting = Waiting::with_orders(1).await;
    let model = ScriptedModel::new([Answer::text("Ordered.")]);
    let (agent, session) = waiting.elsewhere(&model).await;
    let call = agent.pending(&session).await.unwrap().remove(0).suspended.call.id;
    waiting.stage.clock.advance(AgentConfig::default().approval_life - Duration::from_secs(1));
    events(agent.answer(&session, call, allow())).await;
    assert_eq!(waiting.order.finished(), 1);
}

#[tokio::test]
async fn a_turn_whose_calls_have_expired_can_be_resumed() {
    let waiting = Waiting::with_orders(2).await;
    let model = ScriptedModel::new([Answer::text("Nobody answered.")]);
    let (agent, session) = waiting.elsewhere(&model).await;
    waiting.stage.clock.advance(AgentConfig::default().approval_life);
    let told = events(agent.resume(&session)).await;
    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!(waiting.order.started(), 0);
    assert!(agent.pending(&session).await.unwrap().is_empty());
    check_requests(&model);
    assert!(check_log(&session).await.is_empty());
}

#[tokio::test]
async fn without_a_state_store_nobody_can_be_asked_and_the_answer_is_no() {
    let stage = Stage::default();
    let order = RecordingTool::new(spec("order", Effect::SideEffect, ["what"]));
    let model =
        ScriptedModel::new([Answer::calls([("order", r#"{"what":"tea"}"#)]), Answer::text("I may not.")]);
    let tools = registry([&order]).with_approver(AskAboutEffects).with_idempotency(stage.store.clone());
    let sessions = hermes_session::Sessions::new(stage.store.clone());
    let agent =
        hermes_agent::Agent::builder().model(model.clone()).sessions(sessions).tools(tools).build().unwrap();
    let session = agent.sessions().create(&owner(), "Test").await.unwrap();
    let told = events(agent.run(&session, "Order tea")).await;
    assert_eq!(stop(&told), StopReason::Answered);
    assert_eq!(order.started(), 0);
    assert!(last_text(&model).contains("approval"));
}

#[tokio::test]
async fn the_answers_run_tells_what_happens() {
    let waiting = Waiting::with_orders(1).await;
    let model = ScriptedModel::new([Answer::text("Ordered.")]);
    let (agent, session) = waiting.elsewhere(&model).await;
    let call = agent.pending(&session).await.unwrap().remove(0).suspended.call.id;
    let told = events(agent.answer(&session, call, allow())).await;
    assert_eq!(
        names(&told),
        ["call_started", "tool_result", "turn_started", "request", "answered", "finished"]
    );
}
