//! Calls that wait for a person (T13): durable, bound to the arguments that were shown, and answered once.

use hermes_core::{
    ApprovalNote, CallId, Entity, Expected, FailureKind, JsonText, NewState, Owner, Seq, SessionId, StateKey,
    StateStore, StepId, StoreError, ToolOutcome, Version,
};
use hermes_session::Session;
use hermes_tools::{Approved, SuspendedCall};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Error;

const NAMESPACE: &str = "hermes.suspended";

/// A person's answer to a call that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// It may run, with the arguments that were shown.
    Allow {
        /// Who says so.
        by: String,
    },
    /// It may not.
    Deny {
        /// Who says so.
        by: String,
        /// Why not, for the model; may be empty.
        reason: String,
    },
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCall {
    /// The first message of the turn.
    pub turn: Seq,
    /// The model's step.
    pub step: StepId,
    /// The call with the arguments that would be executed.
    pub suspended: SuspendedCall,
    /// After this time the answer is no.
    pub expires: Timestamp,
}

/// The calls of a session that wait, with the version they were read at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pending {
    pub(crate) calls: Vec<PendingCall>,
    version: Option<Version>,
}

impl Pending {
    pub(crate) async fn load(
        state: Option<&dyn StateStore>,
        owner: &Owner,
        session: SessionId,
    ) -> Result<Self, Error> {
        let Some(state) = state else { return Ok(Self::default()) };
        let Some(entry) = state.get(owner, &key(session)).await? else { return Ok(Self::default()) };
        let calls = entry.value.read().map_err(|e| {
            Error::Store(StoreError::Corrupt {
                what: "list of calls that wait for approval",
                reason: e.to_string(),
            })
        })?;
        Ok(Self { calls, version: Some(entry.version) })
    }

    pub(crate) fn holds(&self, call: &CallId) -> bool {
        self.calls.iter().any(|pending| pending.suspended.call.id == *call)
    }

    /// Stores the calls; of two who do so from the same version, one wins.
    pub(crate) async fn store(
        &mut self,
        state: &dyn StateStore,
        session: &Session,
        at: Timestamp,
    ) -> Result<(), Error> {
        let expected = self.version.map_or(Expected::Absent, Expected::At);
        let key = key(session.id());
        if self.calls.is_empty() {
            if self.version.is_some() {
                state.delete(session.owner(), &key, expected).await?;
            }
            self.version = None;
            return Ok(());
        }
        let value = JsonText::of(&self.calls).map_err(|e| {
            Error::Store(StoreError::Corrupt { what: "call that waits for approval", reason: e.to_string() })
        })?;
        let new = NewState { value, session: Some(session.id()), at, expires: None };
        self.version = Some(state.put(session.owner(), &key, &new, expected).await?);
        Ok(())
    }

    /// Takes out the calls whose time is over.
    pub(crate) fn take_expired(&mut self, at: Timestamp) -> Vec<PendingCall> {
        let (over, calls) = std::mem::take(&mut self.calls).into_iter().partition(|call| at >= call.expires);
        self.calls = calls;
        over
    }

    /// Takes out one call.
    pub(crate) fn take(&mut self, call: &CallId) -> Result<PendingCall, Error> {
        let place = self.calls.iter().position(|pending| pending.suspended.call.id == *call);
        let place = place.ok_or_else(|| StoreError::NotFound {
            what: Entity::State,
            id: format!("call {call} that waits for approval"),
        })?;
        Ok(self.calls.remove(place))
    }
}

fn key(session: SessionId) -> StateKey {
    StateKey::new(NAMESPACE, session.to_string())
}

/// What an answer means for the call: its approval, or its outcome without running.
pub(crate) fn judge(
    pending: PendingCall,
    answer: Approval,
    at: Timestamp,
) -> Result<Approved, Box<ToolOutcome>> {
    match answer {
        _ if at >= pending.expires => Err(Box::new(late())),
        Approval::Allow { by } => Ok(Approved { call: pending.suspended, note: ApprovalNote { by, at } }),
        Approval::Deny { reason, .. } if reason.is_empty() => {
            Err(Box::new(denied("the user did not allow it")))
        }
        Approval::Deny { reason, .. } => {
            Err(Box::new(denied(&format!("the user did not allow it: {reason}"))))
        }
    }
}

/// The outcome of a call that a new message of the user has overtaken.
pub(crate) fn superseded() -> ToolOutcome {
    denied("it waited for approval when the user said something else")
}

/// The outcome of a call that nobody answered in time.
pub(crate) fn late() -> ToolOutcome {
    denied("nobody answered in time")
}

fn denied(reason: &str) -> ToolOutcome {
    ToolOutcome::failure(FailureKind::Denied, format!("this call was not run: {reason}"))
}
