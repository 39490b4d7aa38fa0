//! Settling what an earlier run left unfinished: killed, cancelled or fenced out between a call and its result (L5).
//!
//! The log is the journal. A call with a `call_started` entry may have run: its key says whether its outcome is recorded, and the
//! tool's contract whether it may run again. A call without one was never begun by us.

use std::collections::{BTreeSet, VecDeque};

use hermes_core::{
    Body, CallId, CallStarted, Effect, FailureKind, Kind, Limit, LogQuery, Message, Role, Seq, StepId,
    ToolCall, ToolOutcome,
};
use hermes_tools::Resume;
use jiff::Timestamp;

use crate::error::Error;
use crate::event::AgentEvent;
use crate::step::is_partial;
use crate::suspend::{Pending, judge, late, superseded};
use crate::turn::{Start, Turn};

/// How the session stands once its last turn is settled.
#[derive(Debug)]
pub(crate) enum Settled {
    /// There is nothing to go on from.
    Nothing,
    /// The last turn has no answer yet.
    Unanswered {
        /// Its first message.
        turn: Seq,
        /// What the user said.
        text: String,
    },
    /// Calls wait for a person.
    Waiting,
}

struct Waiting {
    pending: Pending,
    settled: BTreeSet<CallId>,
}

/// What became of a call without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// It has its result.
    Settled,
    /// It waits for a person.
    Waiting,
}

/// A call without a result.
#[derive(Debug)]
struct Open {
    call: ToolCall,
    step: StepId,
    started: Option<(CallStarted, Timestamp)>,
}

impl Turn {
    /// Gives every call of the last turn its result, but for those that wait for a person.
    pub(crate) async fn settle(&mut self, start: &Start) -> Result<Settled, Error> {
        let messages = self.last_turn().await?;
        let Some(first) = messages.front().filter(|message| message.role() == Role::User) else {
            return Ok(Settled::Nothing);
        };
        let turn = first.seq();
        let waiting = self.settle_waiting(start).await?;
        let mut waits = !waiting.pending.calls.is_empty();
        for open in open_calls(&messages) {
            if !waiting.settled.contains(&open.call.id) && !waiting.pending.holds(&open.call.id) {
                waits |= self.settle_call(turn, open, start).await? == Left::Waiting;
            }
        }
        if waits {
            return Ok(Settled::Waiting);
        }
        let answered = messages.iter().rfind(|m| m.kind() != Kind::CallStarted).is_some_and(|last| {
            last.role() == Role::Assistant && last.kind() == Kind::Text && !is_partial(last)
        });
        Ok(if answered { Settled::Nothing } else { Settled::Unanswered { turn, text: first.text() } })
    }

    /// Deals with the calls that wait for a person: a new message overtakes them all, an answer decides about one.
    async fn settle_waiting(&mut self, start: &Start) -> Result<Waiting, Error> {
        let session = self.log.session().clone();
        let state = self.parts.state.clone();
        let mut pending = Pending::load(state.as_deref(), session.owner(), session.id()).await?;
        let mut settled = BTreeSet::new();
        let (Some(state), at) = (state, self.parts.clock.now()) else {
            return Ok(Waiting { pending, settled });
        };
        // Taken out of the list before anything else, so that an answer that comes now finds none of them.
        let (over, denial): (Vec<_>, _) = match start {
            Start::Message(_) => (std::mem::take(&mut pending.calls), superseded()),
            Start::Resume => (pending.take_expired(at), late()),
            Start::Answer { .. } => (Vec::new(), late()),
        };
        if !over.is_empty() {
            pending.store(state.as_ref(), &session, at).await?;
        }
        for call in over {
            self.log_result(&call.suspended.call, call.step, denial.clone(), None).await?;
            settled.insert(call.suspended.call.id);
        }
        match start {
            Start::Resume | Start::Message(_) => {}
            Start::Answer { call, approval } => {
                // Taken out before it runs: of two answers, one finds it.
                let answered = pending.take(call)?;
                pending.store(state.as_ref(), &session, at).await?;
                let (turn, step, call) = (answered.turn, answered.step, answered.suspended.call.clone());
                let outcome = match judge(answered, approval.clone(), at) {
                    Ok(approved) => self.run_approved(turn, step, &call, approved).await?,
                    Err(denied) => *denied,
                };
                self.log_result(&call, step, outcome, None).await?;
                settled.insert(call.id);
            }
        }
        Ok(Waiting { pending, settled })
    }

    /// The messages of the last turn, oldest first.
    async fn last_turn(&self) -> Result<VecDeque<Message>, Error> {
        let mut messages = VecDeque::new();
        let mut query = LogQuery::newest(Limit::default());
        loop {
            let page = self.log.session().history(&query).await?;
            for message in page.messages {
                let begins = message.role() == Role::User;
                query = LogQuery::backward(Seq::new(message.seq().get().saturating_sub(1)), Limit::default());
                messages.push_front(message);
                if begins {
                    return Ok(messages);
                }
            }
            if !page.more {
                return Ok(messages);
            }
        }
    }

    async fn settle_call(&mut self, turn: Seq, open: Open, start: &Start) -> Result<Left, Error> {
        let Open { call, step, started } = open;
        let outcome = match (started, start) {
            (Some((started, at)), _) => self.resume_call(turn, step, &call, Resume { started, at }).await?,
            // Without a new message the turn goes on where it stopped: what was not begun is begun now.
            (None, Start::Resume | Start::Answer { .. }) => match self.run_call(turn, step, &call).await? {
                Some(outcome) => outcome,
                None => return Ok(Left::Waiting),
            },
            (None, Start::Message(_)) => self.never_begun(&call),
        };
        if outcome.failure_kind() == Some(FailureKind::OutcomeUnknown) {
            let text = format!(
                "{} was interrupted: whether it was carried out is not known, and it is not repeated",
                call.name
            );
            self.events.tell(AgentEvent::Notice { text }).await;
        }
        self.log_result(&call, step, outcome, None).await?;
        Ok(Left::Settled)
    }

    /// The result of a call that the next message has overtaken.
    fn never_begun(&self, call: &ToolCall) -> ToolOutcome {
        let effect = self.parts.tools.spec(&call.name).map(|spec| spec.effect);
        match effect {
            Some(Effect::ReadOnly | Effect::Idempotent) => ToolOutcome::failure(
                FailureKind::Cancelled,
                "the turn was interrupted before this call was run; call again if it is still needed",
            ),
            // A log that was written elsewhere may lack the entry, so that its absence proves nothing about an effect on the world.
            _ => ToolOutcome::failure(
                FailureKind::OutcomeUnknown,
                "the turn was interrupted and the outcome of this call is unknown; it is not repeated. Check before you try again",
            ),
        }
    }
}

/// The calls of a turn that have no result, in order.
fn open_calls(messages: &VecDeque<Message>) -> Vec<Open> {
    let mut open: Vec<Open> = Vec::new();
    for message in messages {
        match message.body() {
            Body::Assistant { calls, .. } => {
                let step = message.step().unwrap_or_else(StepId::generate);
                let mut seen: BTreeSet<&CallId> = BTreeSet::new();
                let fresh = calls.iter().filter(|call| seen.insert(&call.id));
                open.extend(fresh.map(|call| Open { call: call.clone(), step, started: None }));
            }
            Body::CallStarted(started) => {
                if let Some(place) =
                    open.iter_mut().find(|open| open.call.id == started.call && open.started.is_none())
                {
                    place.started = Some((started.clone(), message.created()));
                }
            }
            Body::ToolResult(result) => {
                if let Some(place) = open.iter().position(|open| open.call.id == result.call) {
                    open.remove(place);
                }
            }
            _ => {}
        }
    }
    open
}
