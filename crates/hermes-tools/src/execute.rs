//! One call from the model's text to a result: repair → check → fill → approve → write down → claim → run → record.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::{Either, select};
use hermes_core::clock::later;
use hermes_core::{
    ApprovalNote, ApprovalRequest, CallContext, CallReport, CallStarted, Decision, FailureKind, Filled,
    Outcome, StoreError, ToolCall, ToolError, ToolOutcome, ToolOutput,
};
use serde_json::{Map, Value, json};
use tracing::Instrument as _;

use crate::attempt::{Attempt, attempt};
use crate::builtin::read_artifact;
use crate::claim::{Claimed, Keep};
use crate::contract::Entry;
use crate::feedback::{Unknown, Wording};
use crate::options::{ExecuteOptions, Executed, SuspendedCall};
use crate::prepare::Prepared;
use crate::registry::ToolRegistry;
use crate::retry::{self, Next};
use crate::stats::{Arguments, Caller, UNKNOWN_TOOL};
use crate::truncate;

/// What running a call, retries and all, has come to.
struct Ran {
    end: End,
    attempts: u8,
}

enum End {
    Output(ToolOutput),
    Error(ToolError),
    TimedOut,
    Cancelled,
    Panicked,
    /// An earlier attempt may have had its effect, and the last one did not bring its answer.
    Lost(String),
}

impl ToolRegistry {
    /// Runs one call. A wrong name, wrong arguments and a failing tool are outcomes, not errors.
    ///
    /// To stop it, raise the context's signal and let the future end: outcomes are then recorded as they should be. A run whose future
    /// is dropped is found by the next one as abandoned, its outcome unknown.
    ///
    /// # Errors
    /// [`StoreError`] of the journal, or, for a call that a crash cut short, of the store for keys. Nothing was run then; the call has
    /// no outcome yet.
    pub async fn execute(
        &self,
        call: &ToolCall,
        context: CallContext,
        options: &ExecuteOptions,
    ) -> Result<Executed, StoreError> {
        let span = tracing::info_span!(
            "execute_tool",
            "gen_ai.operation.name" = "execute_tool",
            "gen_ai.tool.name" = %hermes_text::truncate_chars(&call.name, 64),
            "gen_ai.tool.call.id" = %call.id,
            "hermes.tool.outcome" = tracing::field::Empty,
            "hermes.tool.attempts" = tracing::field::Empty,
        );
        let executed =
            Box::pin(self.execute_in_span(call, context, options)).instrument(span.clone()).await?;
        if span.is_disabled() {
            return Ok(executed);
        }
        let outcome = match &executed {
            Executed::Suspended(_) => "suspended".to_owned(),
            Executed::Done(outcome) => {
                span.record("hermes.tool.attempts", outcome.report.attempts);
                outcome.failure_kind().map_or_else(|| "success".to_owned(), |kind| format!("{kind:?}"))
            }
        };
        span.record("hermes.tool.outcome", outcome);
        Ok(executed)
    }

    async fn execute_in_span(
        &self,
        call: &ToolCall,
        context: CallContext,
        options: &ExecuteOptions,
    ) -> Result<Executed, StoreError> {
        let wording = self.wording(call, options);
        let table = self.shared.table();
        let model = options.model.as_deref().unwrap_or_default();
        let caller = |tool| Caller { session: context.session, turn: context.turn, tool, model };
        let Some(entry) = table.tools.get(&call.name).map(Arc::clone) else {
            let names: Vec<&str> = table.tools.keys().map(String::as_str).collect();
            let outcome = self.no_such_tool(call, options, wording, &names);
            self.shared.stats.checked(caller(UNKNOWN_TOOL), Arguments::Refused);
            self.shared.stats.ended(caller(UNKNOWN_TOOL), &outcome);
            return Ok(Executed::Done(outcome));
        };
        drop(table);
        let caller = caller(&entry.spec.name);
        let done = |outcome: ToolOutcome| {
            self.shared.stats.ended(caller, &outcome);
            Ok(Executed::Done(outcome))
        };

        let prepared = match self.prepare(&entry, call, &context, options, caller, wording).await {
            Ok(prepared) => prepared,
            Err(refused) => return done(*refused),
        };
        let approval = match self.approve(&entry, call, &context, &prepared, options, wording).await {
            Approval::Allowed(note) => note,
            Approval::Denied(reason) => {
                return done(reported(wording.denied(&call.name, &reason), &prepared));
            }
            Approval::Asked(reason) => return Ok(Executed::Suspended(self.suspend(call, prepared, reason))),
        };
        if context.cancel.is_cancelled() && options.resume.is_none() {
            return done(reported(wording.cancelled(&call.name), &prepared));
        }
        if let Some(journal) = options.journal.as_ref().filter(|_| options.resume.is_none()) {
            journal.started(&prepared.started(call, approval)).await?;
        }
        let limit = self.limit(&entry);
        let claimed =
            self.claim(&entry.spec, &context, &prepared, options.resume.as_ref(), limit, wording).await?;
        let ticket = match claimed {
            Claimed::Run(ticket) => ticket,
            Claimed::Answer(outcome) => return done(outcome),
        };
        let began = self.settings.clock.now();
        let ran = self.run(&entry, &context, &prepared, limit).await;
        let took = self.settings.clock.now().duration_since(began).as_micros();
        let (mut outcome, keep) = self.conclude(&entry, &context, &prepared, ran, limit, wording).await;
        outcome.report.duration_us = u64::try_from(took).unwrap_or_default();
        if let (Some(ticket), Some(store)) = (&ticket, &self.settings.idempotency) {
            self.record(store, ticket, &outcome, keep).await;
        }
        done(outcome)
    }

    /// The tool does not exist. What was started before a crash may have been a tool that does not exist any more.
    fn no_such_tool(
        &self,
        call: &ToolCall,
        options: &ExecuteOptions,
        wording: Wording,
        names: &[&str],
    ) -> ToolOutcome {
        if options.resume.is_some() {
            return wording.unknown(&call.name, &Unknown::Crashed);
        }
        let mut outcome = wording.unknown_tool(&call.name, names);
        if let Outcome::Failure { error, .. } = &mut outcome.result {
            *error = truncate::shorten_error(&self.settings, error);
        }
        outcome
    }

    async fn approve(
        &self,
        entry: &Entry,
        call: &ToolCall,
        context: &CallContext,
        prepared: &Prepared,
        options: &ExecuteOptions,
        wording: Wording,
    ) -> Approval {
        if let Some(resume) = &options.resume {
            return Approval::Allowed(resume.started.approval.clone());
        }
        if let Some(approved) = &options.approved {
            return Approval::Allowed(Some(approved.note.clone()));
        }
        let Some(approver) = &self.settings.approver else {
            // An effect on the world that rests on what memory supplied wants a person's word (L2).
            let asks = retry::may_have_happened(&entry.spec) && !prepared.filled.is_empty();
            let shown = || {
                prepared
                    .filled
                    .iter()
                    .map(|filled| format!("{} = {}", filled.pointer, filled.value))
                    .collect::<Vec<_>>()
            };
            return if asks {
                Approval::Asked(
                    wording.confirm_filled(&call.name, &hermes_text::mask_secrets(&shown().join(", "))),
                )
            } else {
                Approval::Allowed(None)
            };
        };
        let request = ApprovalRequest {
            owner: &context.owner,
            session: context.session,
            call,
            spec: &entry.spec,
            arguments: &prepared.arguments,
            filled: &prepared.filled,
        };
        match approver.decide(&request).await {
            Decision::Allow => Approval::Allowed(Some(ApprovalNote {
                by: "policy".to_owned(),
                at: self.settings.clock.now(),
            })),
            Decision::Deny { reason } => Approval::Denied(reason),
            Decision::Ask { reason } => Approval::Asked(reason),
        }
    }

    fn suspend(&self, call: &ToolCall, prepared: Prepared, reason: String) -> SuspendedCall {
        let Prepared { arguments, key, filled, repaired } = prepared;
        SuspendedCall {
            call: call.clone(),
            arguments,
            key,
            filled,
            repaired,
            reason,
            at: self.settings.clock.now(),
        }
    }

    /// How long one attempt may take.
    fn limit(&self, entry: &Entry) -> Duration {
        let config = &self.settings.config;
        let default = if entry.source.is_some() { config.source_timeout } else { config.timeout };
        entry.spec.timeout.unwrap_or(default)
    }

    /// Attempts a call until it has an answer or may not be tried again.
    async fn run(&self, entry: &Entry, context: &CallContext, prepared: &Prepared, limit: Duration) -> Ran {
        let abandon = || {
            self.shared.stats.abandoned_of(&entry.spec.name).fetch_add(1, Ordering::Relaxed);
        };
        let mut attempts = 0;
        let mut lost = None;
        let end = loop {
            attempts += 1;
            let now = self.settings.clock.now();
            // A deadline of the caller's holds for all attempts together.
            let left =
                context.deadline.map(|end| Duration::try_from(end.duration_since(now)).unwrap_or_default());
            let limit = left.map_or(limit, |left| left.min(limit));
            let inner = context.clone().with_key(prepared.key.clone()).with_deadline(later(now, limit));
            let tool = Arc::clone(&entry.tool);
            let error = match attempt(
                tool,
                prepared.arguments.clone(),
                inner,
                limit,
                self.settings.config.grace,
                &abandon,
            )
            .await
            {
                Attempt::Output(output) => break End::Output(output),
                Attempt::TimedOut => break End::TimedOut,
                Attempt::Cancelled => break End::Cancelled,
                Attempt::Panicked => break End::Panicked,
                Attempt::Error(error) => error,
            };
            if let ToolError::Unknown { message, .. } = &error
                && retry::may_have_happened(&entry.spec)
            {
                lost = Some(message.clone());
            }
            let Next::RetryAfter(wait) = retry::after(&entry.spec, &error, attempts, fastrand::f64()) else {
                break match lost {
                    Some(message) => End::Lost(message),
                    None => End::Error(error),
                };
            };
            tracing::debug!(attempts, ?wait, %error, "a tool is tried again");
            let pause = Box::pin(tokio::time::sleep(wait));
            if let Either::Right(_) = select(pause, context.cancel.cancelled()).await {
                break match lost {
                    Some(message) => End::Lost(message),
                    None => End::Error(ToolError::Cancelled),
                };
            }
        };
        Ran { end, attempts }
    }

    /// Turns what happened into what the model is told, and says whether it goes on record.
    async fn conclude(
        &self,
        entry: &Entry,
        context: &CallContext,
        prepared: &Prepared,
        ran: Ran,
        limit: Duration,
        wording: Wording,
    ) -> (ToolOutcome, Keep) {
        let name = &entry.spec.name;
        let unknown = |why| (wording.unknown(name, &why), Keep::Record);
        let effect = retry::may_have_happened(&entry.spec);
        let (outcome, keep) = match ran.end {
            End::Output(output) => {
                self.check_output(entry, context, &output);
                (self.success(name, context, prepared, output, wording).await, Keep::Record)
            }
            End::Lost(message) => unknown(Unknown::Lost(self.foreign(&message))),
            End::TimedOut if effect => unknown(Unknown::TimedOut(limit)),
            End::TimedOut => (wording.timed_out(name, limit), Keep::Release),
            End::Cancelled if effect => unknown(Unknown::Cancelled),
            End::Cancelled => (wording.cancelled(name), Keep::Release),
            End::Panicked if effect => unknown(Unknown::Panicked),
            End::Panicked => (wording.panicked(name), Keep::Release),
            End::Error(error) => self.failure(name, &error, wording),
        };
        let mut outcome = reported(outcome, prepared);
        outcome.report.attempts = ran.attempts;
        (outcome, keep)
    }

    /// A tool that does not keep its own promise is a defect to be seen, not a reason to call an effect failed: what came goes to the
    /// model, and it is logged and counted.
    fn check_output(&self, entry: &Entry, context: &CallContext, output: &ToolOutput) {
        let Some(validator) = &entry.output else { return };
        if let Err(error) = validator.validate(&output.value) {
            let place = error.instance_path().as_str();
            tracing::warn!(tool = entry.spec.name, call = %context.call, place, "an output breaks the tool's output schema");
            self.shared.stats.misshapen(&entry.spec.name);
        }
    }

    async fn success(
        &self,
        name: &str,
        context: &CallContext,
        prepared: &Prepared,
        output: ToolOutput,
        wording: Wording,
    ) -> ToolOutcome {
        let limit = match name {
            read_artifact::NAME => usize::try_from(self.settings.config.result_tokens).unwrap_or(usize::MAX),
            _ => self.shared.outputs.limit(context, &self.settings.config),
        };
        let short = truncate::shorten(&self.settings, wording, name, context, &output, limit).await;
        self.shared.outputs.add(context, &short.value);
        let value = with_filled(short.value, &prepared.filled);
        let report =
            CallReport { truncated: short.truncated, artifact: short.artifact, ..CallReport::default() };
        ToolOutcome { result: Outcome::Success { output: value, files: output.files }, report }
    }

    fn failure(&self, name: &str, error: &ToolError, wording: Wording) -> (ToolOutcome, Keep) {
        if let Some(source) = std::error::Error::source(error) {
            tracing::warn!(tool = name, error = source, "a tool failed");
        }
        let text = self.foreign(&error.to_string());
        match error {
            ToolError::InvalidArguments { .. } => (wording.refused_by_tool(name, &text), Keep::Release),
            ToolError::Cancelled => (wording.cancelled(name), Keep::Release),
            ToolError::Failed { .. } => (ToolOutcome::failure(FailureKind::Failed, text), Keep::Record),
            // Nothing has happened; and a lost answer of a tool without effect is a plain failure.
            _ => (ToolOutcome::failure(FailureKind::Failed, text), Keep::Release),
        }
    }

    /// A text of the tool's, held to the length of feedback.
    fn foreign(&self, text: &str) -> String {
        truncate::shorten_error(&self.settings, text)
    }
}

enum Approval {
    Allowed(Option<ApprovalNote>),
    Denied(String),
    Asked(String),
}

impl Prepared {
    fn started(&self, call: &ToolCall, approval: Option<ApprovalNote>) -> CallStarted {
        CallStarted {
            call: call.id.clone(),
            tool: call.name.clone(),
            arguments: self.arguments.clone(),
            key: self.key.clone(),
            filled: self.filled.clone(),
            repaired: self.repaired.clone(),
            approval,
        }
    }
}

fn reported(mut outcome: ToolOutcome, prepared: &Prepared) -> ToolOutcome {
    outcome.report.repaired.clone_from(&prepared.repaired);
    outcome.report.filled = prepared.filled.iter().map(|filled| filled.memory).collect();
    outcome
}

/// The model learns which arguments it did not write: the output stands beside them (L2).
fn with_filled(output: Value, filled: &[Filled]) -> Value {
    if filled.is_empty() {
        return output;
    }
    let values: Map<String, Value> = filled
        .iter()
        .map(|filled| (filled.pointer.clone(), filled.value.read().unwrap_or_default()))
        .collect();
    json!({ "result": output, "filled_from_memory": values })
}
