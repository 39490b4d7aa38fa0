//! Carrying out the calls of a step, and putting their results into the log.

use std::sync::Arc;

use hermes_core::{
    CallContext, ContentPart, FailureKind, NewMessage, Progress, ProgressSink, Seq, StepId, StoreError,
    ToolCall, ToolOutcome, clock::later,
};
use hermes_tools::{Approved, ExecuteOptions, Executed, Resume, StepCall, SuspendedCall};
use tokio::sync::mpsc;

use crate::error::Error;
use crate::event::{AgentEvent, StopReason};
use crate::fill::MemoryFiller;
use crate::limits::{LoopGuard, Verdict, advice, too_many, warning};
use crate::log::StepJournal;
use crate::run::Events;
use crate::suspend::{Pending, PendingCall};
use crate::turn::{Ground, Turn};

/// Tells the run how far a call is.
#[derive(Debug)]
struct EventProgress(Events);

impl ProgressSink for EventProgress {
    fn report(&self, progress: Progress) {
        self.0.tell_if_room(progress.into());
    }
}

impl Turn {
    /// Carries out the calls of a step. Says why the turn ends, if it does.
    pub(crate) async fn carry_out(
        &mut self,
        ground: &Ground,
        calls: &[ToolCall],
        step: StepId,
        circles: &mut LoopGuard,
    ) -> Result<Option<StopReason>, Error> {
        let mut stop = None;
        let (mut wanted, mut warned) = (Vec::new(), Vec::new());
        for (place, call) in calls.iter().enumerate() {
            self.events.tell(AgentEvent::ToolCall { call: call.clone() }).await;
            if place >= self.parts.config.max_calls {
                let blocked = ToolOutcome::failure(FailureKind::Blocked, too_many(ground.language));
                self.log_result(call, step, blocked, None).await?;
                continue;
            }
            let verdict = circles.check(call);
            if matches!(verdict, Verdict::Block | Verdict::Stop) {
                let blocked = ToolOutcome::failure(FailureKind::Blocked, advice(ground.language));
                self.log_result(call, step, blocked, None).await?;
            } else {
                wanted.push(call.clone());
                warned.push(verdict == Verdict::Warn);
            }
            if verdict == Verdict::Stop {
                stop = Some(StopReason::Loop);
            }
        }
        let filler = MemoryFiller { recall: Arc::clone(&ground.recall) };
        let options = self.options(step).with_filler(filler).with_language(ground.language);
        let steps: Vec<StepCall> = wanted
            .iter()
            .map(|call| {
                StepCall::new(call.clone(), self.call_context(ground.turn, step, call), options.clone())
            })
            .collect();
        let suspended = self.execute(&steps, step, |place| {
            warned.get(place).is_some_and(|warned| *warned).then(|| warning(ground.language))
        });
        let suspended = suspended.await?;
        if self.suspend(ground.turn, step, suspended).await? {
            stop = Some(StopReason::Suspended);
        }
        Ok(stop)
    }

    /// Runs calls and logs each result as it comes, whatever the others still do; gives the calls that wait for a person.
    async fn execute(
        &self,
        steps: &[StepCall],
        step: StepId,
        note: impl Fn(usize) -> Option<&'static str> + Send + Sync,
    ) -> Result<Vec<SuspendedCall>, Error> {
        let (ended, mut results) = mpsc::channel(steps.len().max(1));
        let running = async move {
            let tell = |place: usize, executed: &Result<Executed, StoreError>| {
                if let Ok(executed) = executed {
                    // There is room for every call of the step.
                    let _ = ended.try_send((place, executed.clone()));
                }
            };
            let all = self.parts.tools.execute_step(steps, tell).await;
            all.into_iter().find_map(Result::err)
        };
        let logging = async {
            let mut suspended = Vec::new();
            while let Some((place, executed)) = results.recv().await {
                match (executed, steps.get(place)) {
                    (Executed::Done(outcome), Some(StepCall { call, .. })) => {
                        self.log_result(call, step, outcome, note(place)).await?;
                    }
                    (Executed::Suspended(waiting), _) => suspended.push(waiting),
                    _ => {}
                }
            }
            Ok::<_, Error>(suspended)
        };
        let (failed, suspended) = tokio::join!(running, logging);
        match failed {
            Some(error) => Err(error.into()),
            None => suspended,
        }
    }

    /// Runs one call that an interrupted turn had not begun; `None` when it waits for a person now.
    pub(crate) async fn run_call(
        &self,
        turn: Seq,
        step: StepId,
        call: &ToolCall,
    ) -> Result<Option<ToolOutcome>, Error> {
        let executed =
            self.parts.tools.execute(call, self.call_context(turn, step, call), &self.options(step)).await?;
        match executed {
            Executed::Done(outcome) => Ok(Some(outcome)),
            Executed::Suspended(waiting) => {
                self.suspend(turn, step, vec![waiting]).await?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Finds or makes the outcome of a call that had been started (L5).
    pub(crate) async fn resume_call(
        &self,
        turn: Seq,
        step: StepId,
        call: &ToolCall,
        resume: Resume,
    ) -> Result<ToolOutcome, Error> {
        self.run_to_outcome(turn, step, call, self.options(step).with_resume(resume)).await
    }

    /// Runs a call that a person has allowed.
    pub(crate) async fn run_approved(
        &self,
        turn: Seq,
        step: StepId,
        call: &ToolCall,
        approved: Approved,
    ) -> Result<ToolOutcome, Error> {
        self.run_to_outcome(turn, step, call, self.options(step).with_approved(approved)).await
    }

    async fn run_to_outcome(
        &self,
        turn: Seq,
        step: StepId,
        call: &ToolCall,
        options: ExecuteOptions,
    ) -> Result<ToolOutcome, Error> {
        match self.parts.tools.execute(call, self.call_context(turn, step, call), &options).await? {
            Executed::Done(outcome) => Ok(outcome),
            // A call that was allowed or started is not asked about again; should it be, the answer is no.
            _ => Ok(ToolOutcome::failure(
                FailureKind::Denied,
                "this call was not run: it would have needed another approval",
            )),
        }
    }

    fn options(&self, step: StepId) -> ExecuteOptions {
        let journal = StepJournal { log: self.log.clone(), step, events: self.events.clone() };
        ExecuteOptions::default().with_journal(journal).with_model(self.parts.models.info().id.clone())
    }

    fn call_context(&self, turn: Seq, step: StepId, call: &ToolCall) -> CallContext {
        let session = self.log.session();
        CallContext::new(session.owner().clone(), session.id(), turn, step, call.id.clone())
            .with_cancel(self.cancel.clone())
            .with_progress(Arc::new(EventProgress(self.events.clone())))
    }

    /// Puts a result into the log, and tells it; `note` stands behind it.
    pub(crate) async fn log_result(
        &self,
        call: &ToolCall,
        step: StepId,
        outcome: ToolOutcome,
        note: Option<&str>,
    ) -> Result<(), Error> {
        let mut result = outcome.into_result(call.id.clone(), call.name.clone());
        result.content.extend(note.map(|note| ContentPart::Text(note.to_owned())));
        self.log.append(NewMessage::result(result.clone()).with_step(step)).await?;
        self.events.tell(AgentEvent::ToolResult { result }).await;
        Ok(())
    }

    /// Makes calls wait for a person. Without a state store nobody could be asked: the answer is no. Says whether any waits.
    async fn suspend(&self, turn: Seq, step: StepId, calls: Vec<SuspendedCall>) -> Result<bool, Error> {
        if calls.is_empty() {
            return Ok(false);
        }
        let Some(state) = self.parts.state.as_deref() else {
            for waiting in calls {
                let reason = format!(
                    "this call was not run: it needs approval, and nobody can be asked here ({})",
                    waiting.reason
                );
                self.log_result(&waiting.call, step, ToolOutcome::failure(FailureKind::Denied, reason), None)
                    .await?;
            }
            return Ok(false);
        };
        let session = self.log.session();
        let mut pending = Pending::load(Some(state), session.owner(), session.id()).await?;
        let expires = later(self.parts.clock.now(), self.parts.config.approval_life);
        pending.calls.extend(calls.iter().map(|suspended| PendingCall {
            turn,
            step,
            suspended: suspended.clone(),
            expires,
        }));
        pending.store(state, session, self.parts.clock.now()).await?;
        for SuspendedCall { call, arguments, reason, .. } in calls {
            let (call, tool) = (call.id, call.name);
            self.events
                .tell(AgentEvent::ApprovalNeeded {
                    call,
                    tool,
                    arguments: arguments.as_str().to_owned(),
                    reason,
                })
                .await;
        }
        Ok(true)
    }
}
