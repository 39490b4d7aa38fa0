//! The loop, top to bottom: settle, begin, recall, then step by step until the answer, then tell the end, then learn.

use std::sync::Arc;
use std::time::Duration;

use hermes_core::{CallId, CancelHandle, CancelSignal, FinishReason, NewMessage, Seq, Usage};
use hermes_memory::Recall;
use hermes_session::Session;
use hermes_text::Language;
use hermes_tools::Selection;

use crate::agent::Parts;
use crate::error::Error;
use crate::event::{AgentEvent, StopReason};
use crate::learn::Lesson;
use crate::ledger::Ledger;
use crate::limits::LoopGuard;
use crate::log::Log;
use crate::run::{Ending, Events};
use crate::settle::Settled;
use crate::suspend::Approval;

/// How a turn begins.
#[derive(Debug)]
pub(crate) enum Start {
    /// With something that the user says.
    Message(NewMessage),
    /// With what is in the log.
    Resume,
    /// With a person's answer to a call that waits.
    Answer {
        /// The call.
        call: CallId,
        /// The answer.
        approval: Approval,
    },
}

/// One turn being driven.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) parts: Arc<Parts>,
    pub(crate) log: Log,
    pub(crate) events: Events,
    pub(crate) cancel: CancelSignal,
    cancel_handle: CancelHandle,
    pub(crate) steps: u32,
    pub(crate) usage: Usage,
    /// The tools that the session is being sent, once that is known.
    pub(crate) selection: Option<Selection>,
    /// Whether the last context folded turns, so that the next request's beginning is new in any case.
    pub(crate) folded: bool,
    /// The first message that a request of this turn held whole.
    pub(crate) first_sent: Option<Seq>,
}

/// What is known about a turn once it has begun, and stays the same through its steps.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The first message of the turn.
    pub(crate) turn: Seq,
    /// What the user said.
    pub(crate) text: String,
    /// The language they said it in.
    pub(crate) language: Language,
    /// What memory gave.
    pub(crate) recall: Arc<Recall>,
    /// The effects of the session before this turn.
    pub(crate) ledger: Ledger,
}

/// How a turn has ended.
#[derive(Debug)]
struct Ended {
    stop: StopReason,
    /// What memory may learn from it.
    lesson: Option<Lesson>,
}

impl From<StopReason> for Ended {
    fn from(stop: StopReason) -> Self {
        Self { stop, lesson: None }
    }
}

impl Turn {
    pub(crate) fn new(parts: Arc<Parts>, session: Session, events: Events, cancel: CancelHandle) -> Self {
        let log = Log::new(session);
        let signal = cancel.signal();
        Self {
            parts,
            log,
            events,
            cancel: signal,
            cancel_handle: cancel,
            steps: 0,
            usage: Usage::default(),
            selection: None,
            folded: false,
            first_sent: None,
        }
    }

    /// Drives the turn to its end, tells how it ended, and lets memory learn from it.
    pub(crate) async fn run(mut self, start: Start, mut ending: Ending) {
        match self.in_line(start).await {
            Ok(Ended { stop, lesson }) => {
                ending.end(Ok(AgentEvent::Finished { stop, steps: self.steps, usage: self.usage }));
                // The session is free and the reply is out: learning holds up nobody (R3).
                if let Some(lesson) = lesson
                    && let Some(learned) = self.learn(lesson).await
                {
                    ending.learned(learned);
                }
            }
            Err(error) => ending.end(Err(error)),
        }
    }

    /// Drives the turn once no earlier run of this agent drives the session.
    async fn in_line(&mut self, start: Start) -> Result<Ended, Error> {
        if let Start::Message(message) = &start
            && is_blank(message)
        {
            return Err(Error::Blank);
        }
        let parts = Arc::clone(&self.parts);
        let _place = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Ok(StopReason::Cancelled.into()),
            place = parts.line.turn(self.log.session().id()) => place,
        };
        self.under_lease(start).await
    }

    /// Drives the turn while the session's lease is renewed and the clock is watched; both end the turn by its own signal, so that
    /// what is being written is written to its end.
    async fn under_lease(&mut self, start: Start) -> Result<Ended, Error> {
        let session = self.log.session().clone();
        let config = self.parts.config.clone();
        session.lease(&self.parts.holder, config.lease).await?;
        let cancel = self.cancel_handle.clone();
        let (mut lost, mut late) = (None, false);
        let ended = {
            let work = self.drive(start);
            let renewal = renew(&session, config.lease);
            let time = tokio::time::sleep(config.max_time);
            tokio::pin!(work, renewal, time);
            loop {
                tokio::select! {
                    biased;
                    ended = &mut work => break ended,
                    error = &mut renewal, if lost.is_none() => {
                        lost = Some(error);
                        cancel.cancel();
                    }
                    () = &mut time, if !late => {
                        late = true;
                        cancel.cancel();
                    }
                }
            }
        };
        if let Err(error) = session.release().await {
            tracing::warn!(%error, "the session's lease could not be given back; it ends by itself");
        }
        match (ended?, lost) {
            (Ended { stop: StopReason::Cancelled, .. }, Some(error)) => Err(error.into()),
            (Ended { stop: StopReason::Cancelled, .. }, None) if late => Ok(StopReason::MaxTime.into()),
            (ended, _) => Ok(ended),
        }
    }

    /// The turn itself.
    async fn drive(&mut self, start: Start) -> Result<Ended, Error> {
        self.log.session().refresh().await?;
        let settled = self.settle(&start).await?;
        if matches!(settled, Settled::Waiting) {
            return Ok(StopReason::Suspended.into());
        }
        let Some(ground) = self.begin(start, settled).await? else {
            return Ok(StopReason::Answered.into());
        };
        let stop = self.steps(&ground).await?;
        self.parts.tools.stats().end_turn(self.log.session().id(), ground.turn);
        // What is to be learned from is read now, while the log ends with this turn.
        let lesson = if stop == StopReason::Answered { self.lesson(&ground).await } else { None };
        Ok(Ended { stop, lesson })
    }

    /// Step by step, until the model is done or something ends the turn.
    async fn steps(&mut self, ground: &Ground) -> Result<StopReason, Error> {
        let mut circles = LoopGuard::new(self.parts.config.loops);
        while self.steps < self.parts.config.max_steps {
            if self.cancel.is_cancelled() {
                return Ok(StopReason::Cancelled);
            }
            self.steps += 1;
            let Some(reply) = self.ask(ground).await? else {
                return Ok(StopReason::Cancelled);
            };
            if reply.calls.is_empty() {
                self.events.tell(AgentEvent::Answered { text: reply.text }).await;
                return Ok(match reply.finish {
                    Some(FinishReason::Length) => StopReason::Length,
                    Some(FinishReason::ContentFilter) => StopReason::ContentFilter,
                    _ => StopReason::Answered,
                });
            }
            if let Some(stop) = self.carry_out(ground, &reply.calls, reply.step, &mut circles).await? {
                return Ok(stop);
            }
        }
        Ok(StopReason::MaxSteps)
    }
}

/// Whether the user said nothing: no file, and no text but white space.
fn is_blank(message: &NewMessage) -> bool {
    message.body.content().iter().all(|part| part.as_text().is_some_and(|text| text.trim().is_empty()))
}

/// Renews the lease for as long as it is polled; ends when it was lost.
async fn renew(session: &Session, lease: Duration) -> hermes_session::Error {
    loop {
        tokio::time::sleep(lease / 3).await;
        match session.renew(lease).await {
            Ok(_) => {}
            // A store that does not answer now may answer before the lease ends.
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, "the session's lease could not be renewed")
            }
            Err(error) => return error,
        }
    }
}
