//! The session's log, written by one at a time, and as the journal of the tools.

use std::sync::Arc;

use hermes_core::{CallStarted, Message, NewMessage, StepId, StoreError, async_trait};
use hermes_session::Session;
use hermes_tools::Journal;
use tokio::sync::Mutex;

use crate::event::AgentEvent;
use crate::run::Events;

/// The log of the turn's session. Calls that run at once take turns in writing to it.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    session: Session,
    door: Arc<Mutex<()>>,
}

impl Log {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, door: Arc::default() }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) async fn append(&self, message: NewMessage) -> Result<Option<Message>, hermes_session::Error> {
        let _one_at_a_time = self.door.lock().await;
        Ok(self.session.append(message).await?.pop())
    }
}

/// The journal of a step's calls.
#[derive(Debug)]
pub(crate) struct StepJournal {
    pub(crate) log: Log,
    pub(crate) step: StepId,
    pub(crate) events: Events,
}

#[async_trait]
impl Journal for StepJournal {
    async fn started(&self, entry: &CallStarted) -> Result<(), StoreError> {
        self.log
            .append(NewMessage::started(entry.clone()).with_step(self.step))
            .await
            .map_err(into_store_error)?;
        self.events
            .tell(AgentEvent::CallStarted {
                call: entry.call.clone(),
                tool: entry.tool.clone(),
                arguments: entry.arguments.as_str().to_owned(),
                filled: entry.filled.clone(),
                repaired: entry.repaired.clone(),
            })
            .await;
        Ok(())
    }
}

/// The journal speaks the stores' language.
fn into_store_error(error: hermes_session::Error) -> StoreError {
    use hermes_session::Error as E;
    match error {
        E::Store(error) => error,
        E::Conflict { session, expected, actual } => StoreError::Conflict { session, expected, actual },
        E::Fenced { session, held, current } => StoreError::Fenced { session, held, current },
        E::Leased { session, holder, until } => StoreError::Leased { session, holder, until },
        other => StoreError::Backend {
            backend: "session",
            op: "journal",
            transient: false,
            source: Box::new(other),
        },
    }
}
