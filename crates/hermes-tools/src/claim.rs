//! The right to run an effect, and the record of what came of it (T8, L5).

use std::time::Duration;

use futures_util::future::{Either, select};
use hermes_core::clock::later;
use hermes_core::{
    CallContext, Claim, ClaimTicket, IdempotencyStore, JsonText, NewClaim, StoreError, Takeover, ToolOutcome,
    ToolSpec,
};

use crate::feedback::{Unknown, Wording};
use crate::options::Resume;
use crate::prepare::Prepared;
use crate::registry::ToolRegistry;
use crate::retry;

/// How often a claim that is held elsewhere is looked at again.
const POLL: Duration = Duration::from_millis(100);

/// What a claim gets beyond the longest run, for the stores' own time.
const MARGIN: Duration = Duration::from_secs(30);

/// How often recording an outcome is tried before it is left to expire as unknown.
const RECORD_TRIES: u32 = 4;

/// What becomes of a claim after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The effect has happened, has certainly failed, or may have happened: its outcome is on record.
    Record,
    /// Nothing has happened: the same call may be made again.
    Release,
}

/// What a claim has come to.
#[derive(Debug)]
pub(crate) enum Claimed {
    /// Run it; the ticket is there for tools with a key.
    Run(Option<ClaimTicket>),
    /// This is the answer; nothing is run.
    Answer(ToolOutcome),
}

impl ToolRegistry {
    /// Asks for the right to run a call.
    ///
    /// # Errors
    /// A failure of the store when the call was started before a crash: nothing can be said about it then. For a new call the same
    /// failure is an answer, since nothing has happened.
    pub(crate) async fn claim(
        &self,
        spec: &ToolSpec,
        context: &CallContext,
        prepared: &Prepared,
        resume: Option<&Resume>,
        limit: Duration,
        wording: Wording,
    ) -> Result<Claimed, StoreError> {
        let name = &spec.name;
        let crashed = || Claimed::Answer(wording.unknown(name, &Unknown::Crashed));
        let runs_again = resume.is_none() || spec.is_replayable();
        let Some(key) = &prepared.key else {
            return Ok(if runs_again { Claimed::Run(None) } else { crashed() });
        };
        let Some(store) = &self.settings.idempotency else {
            return Ok(match resume {
                None if retry::may_have_happened(spec) => Claimed::Answer(wording.no_store(name)),
                Some(_) if !runs_again => crashed(),
                _ => Claimed::Run(None),
            });
        };
        if !runs_again && resume.is_some_and(|resume| self.is_past_retention(resume)) {
            // The record may have been collected: its absence proves nothing.
            let record = store.get(&context.owner, key).await?;
            return Ok(record
                .and_then(|record| record.outcome)
                .map_or_else(crashed, |outcome| recorded(&outcome, wording, name)));
        }
        let mut waited = Duration::ZERO;
        let mut patience = None;
        loop {
            let now = self.settings.clock.now();
            let wish = NewClaim {
                session: context.session,
                tool: name.clone(),
                holder: self.settings.holder.clone(),
                at: now,
                expires: later(now, retry::longest(spec, limit).saturating_add(MARGIN)),
                takeover: if spec.is_replayable() { Takeover::IfAbandoned } else { Takeover::Never },
            };
            let expires = match store.claim(&context.owner, key, &wish).await {
                Ok(Claim::Won(ticket)) => return Ok(Claimed::Run(Some(ticket))),
                Ok(Claim::Done { outcome, .. }) => return Ok(recorded(&outcome, wording, name)),
                Ok(Claim::InProgress { expires, .. }) => expires,
                Ok(_) => return Ok(crashed()),
                Err(error) if resume.is_some() => return Err(error),
                Err(error) => {
                    tracing::warn!(
                        tool = name,
                        error = &error as &dyn std::error::Error,
                        "a key could not be claimed"
                    );
                    return Ok(Claimed::Answer(wording.not_started(name, &error)));
                }
            };
            // After a crash the holder is most likely dead: its claim is waited out where the call may run again.
            let patience = *patience.get_or_insert_with(|| match resume {
                Some(_) if runs_again => {
                    Duration::try_from(expires.duration_since(now)).unwrap_or_default().saturating_add(POLL)
                }
                _ => self.settings.config.wait,
            });
            if waited >= patience {
                return Ok(if runs_again { Claimed::Answer(wording.in_progress(name)) } else { crashed() });
            }
            let pause = Box::pin(tokio::time::sleep(POLL));
            if let Either::Right(_) = select(pause, context.cancel.cancelled()).await {
                return Ok(Claimed::Answer(wording.in_progress(name)));
            }
            waited += POLL;
        }
    }

    fn is_past_retention(&self, resume: &Resume) -> bool {
        later(resume.at, self.settings.config.retention) <= self.settings.clock.now()
    }

    /// Records what came of a claimed run, or gives the claim back where nothing has happened.
    ///
    /// A failure to record is logged, not returned: the effect has happened, and its outcome is known here. The claim expires then, and
    /// whoever asks later learns that the outcome is unknown.
    pub(crate) async fn record(
        &self,
        store: &dyn IdempotencyStore,
        ticket: &ClaimTicket,
        outcome: &ToolOutcome,
        keep: Keep,
    ) {
        let written = if keep == Keep::Record {
            match JsonText::of(outcome) {
                Ok(text) => self.complete(store, ticket, &text).await,
                Err(error) => Err(StoreError::Invalid { what: "outcome", reason: error.to_string() }),
            }
        } else {
            store.release(ticket).await
        };
        if let Err(error) = written {
            tracing::error!(key = %ticket.key, error = &error as &dyn std::error::Error, "an outcome could not be recorded");
        }
    }

    async fn complete(
        &self,
        store: &dyn IdempotencyStore,
        ticket: &ClaimTicket,
        outcome: &JsonText,
    ) -> Result<(), StoreError> {
        let mut tries = 1;
        loop {
            let now = self.settings.clock.now();
            match store.complete(ticket, outcome, now, later(now, self.settings.config.retention)).await {
                Err(error) if error.is_transient() && tries < RECORD_TRIES => {
                    tokio::time::sleep(POLL.saturating_mul(tries)).await;
                    tries += 1;
                }
                done => return done,
            }
        }
    }
}

fn recorded(outcome: &JsonText, wording: Wording, tool: &str) -> Claimed {
    Claimed::Answer(match outcome.read::<ToolOutcome>() {
        Ok(mut outcome) => {
            outcome.report.from_record = true;
            outcome
        }
        Err(error) => {
            tracing::error!(tool, %error, "a recorded outcome cannot be read");
            wording.unknown(tool, &Unknown::Crashed)
        }
    })
}
