//! [`Agent`]: the parts put together once, and the runs they drive.

use std::sync::Arc;

use hermes_core::{
    ArtifactStore, CallId, CancelHandle, ChatModel, Clock, HolderId, IdempotencyStore, NewMessage,
    SessionStore, StateStore, SystemClock, TokenCounter,
};
use hermes_memory::Memory;
use hermes_session::{Session, Sessions};
use hermes_tools::ToolRegistry;
use hermes_tools::builtin::{FindTools, ReadArtifact};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::config::AgentConfig;
use crate::erase::Erasable;
use crate::error::{BuildError, Error};
use crate::fallback::Models;
use crate::line::Line;
use crate::run::{self, Run};
use crate::suspend::{Approval, Pending, PendingCall};
use crate::telemetry;
use crate::turn::{Start, Turn};

/// A model with sessions, tools and memory, which drives turns. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Agent {
    pub(crate) parts: Arc<Parts>,
    runs: TaskTracker,
}

/// What every turn of an agent uses.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) models: Models,
    pub(crate) sessions: Sessions,
    pub(crate) state: Option<Arc<dyn StateStore>>,
    pub(crate) erasable: Erasable,
    pub(crate) tools: ToolRegistry,
    pub(crate) memory: Option<Memory>,
    pub(crate) system: Option<String>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) holder: HolderId,
    pub(crate) line: Line,
    pub(crate) config: AgentConfig,
}

/// What the user says in a turn.
#[derive(Debug, Clone)]
pub struct UserInput(NewMessage);

impl From<&str> for UserInput {
    fn from(text: &str) -> Self {
        Self(NewMessage::user(text))
    }
}

impl From<String> for UserInput {
    fn from(text: String) -> Self {
        Self(NewMessage::user(text))
    }
}

impl From<&String> for UserInput {
    fn from(text: &String) -> Self {
        Self(NewMessage::user(text.as_str()))
    }
}

impl From<Vec<hermes_core::ContentPart>> for UserInput {
    fn from(content: Vec<hermes_core::ContentPart>) -> Self {
        Self(NewMessage::new(hermes_core::Body::User { content }))
    }
}

impl Agent {
    /// Begins to put an agent together. A model and a store are required.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    /// The sessions: create, open, list, search.
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.parts.sessions
    }

    /// The tools, with their counters.
    #[must_use]
    pub fn tools(&self) -> &ToolRegistry {
        &self.parts.tools
    }

    /// The memory, if the agent has one.
    #[must_use]
    pub fn memory(&self) -> Option<&Memory> {
        self.parts.memory.as_ref()
    }

    /// Where small durable facts are kept, if the agent has such a store.
    #[must_use]
    pub fn state(&self) -> Option<&Arc<dyn StateStore>> {
        self.parts.state.as_ref()
    }

    /// Says something in a session and drives the turn that it begins.
    ///
    /// What an earlier run left unfinished, because it was killed or cancelled, is settled first (L5). The turn begins at
    /// once, in a task of its own, or when the agent's earlier runs on the session have ended; take its events from the [`Run`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn run(&self, session: &Session, input: impl Into<UserInput>) -> Run {
        self.drive(session, Start::Message(input.into().0))
    }

    /// Settles what an earlier run left unfinished and lets the model go on from it, without a new message (L5). A session
    /// whose last turn has its answer is left as it is.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn resume(&self, session: &Session) -> Run {
        self.drive(session, Start::Resume)
    }

    /// The calls of a session that wait for a person (T13).
    ///
    /// # Errors
    /// A failure of the state store.
    pub async fn pending(&self, session: &Session) -> Result<Vec<PendingCall>, Error> {
        Ok(Pending::load(self.parts.state.as_deref(), session.owner(), session.id()).await?.calls)
    }

    /// Answers a call that waits, in whatever process, and lets the turn go on once none waits any more. Of two answers to one
    /// call the first counts; the run of the other ends in an error that says so.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn answer(&self, session: &Session, call: CallId, approval: Approval) -> Run {
        self.drive(session, Start::Answer { call, approval })
    }

    fn drive(&self, session: &Session, start: Start) -> Run {
        let cancel = CancelHandle::new();
        let (events, ending, receiver) = run::channel(self.parts.config.event_buffer, cancel.signal());
        let turn = Turn::new(Arc::clone(&self.parts), session.clone(), events, cancel.clone());
        let span = telemetry::turn_span(session.id());
        let task = self.runs.spawn(turn.run(start, ending).instrument(span));
        Run::new(receiver, cancel, task)
    }

    /// Waits until every run of this agent and its clones has ended and memory has learned from it, those included whose [`Run`] was
    /// dropped.
    pub async fn settled(&self) {
        self.runs.close();
        self.runs.wait().await;
        self.runs.reopen();
    }
}

/// Puts an [`Agent`] together.
#[derive(Debug, Default)]
#[must_use]
pub struct AgentBuilder {
    model: Option<Arc<dyn ChatModel>>,
    fallbacks: Vec<Arc<dyn ChatModel>>,
    sessions: Option<Sessions>,
    state: Option<Arc<dyn StateStore>>,
    idempotency: Option<Arc<dyn IdempotencyStore>>,
    artifacts: Option<Arc<dyn ArtifactStore>>,
    tools: Option<ToolRegistry>,
    memory: Option<Memory>,
    system: Option<String>,
    counter: Option<Arc<dyn TokenCounter>>,
    clock: Option<Arc<dyn Clock>>,
    config: AgentConfig,
}

impl AgentBuilder {
    /// The model that is asked. Required.
    pub fn model(mut self, model: impl ChatModel) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// A model that is asked when those before it fail (L6).
    pub fn fallback(mut self, model: impl ChatModel) -> Self {
        self.fallbacks.push(Arc::new(model));
        self
    }

    /// One store for everything: sessions, state, idempotency keys and artifacts. This or [`sessions`](Self::sessions) is required.
    pub fn store<S>(mut self, store: S) -> Self
    where
        S: SessionStore + StateStore + IdempotencyStore + ArtifactStore + Clone,
    {
        self.state = Some(Arc::new(store.clone()));
        self.idempotency = Some(Arc::new(store.clone()));
        self.artifacts = Some(Arc::new(store.clone()));
        self.sessions = Some(Sessions::new(store));
        self
    }

    /// Sessions with settings or a store of their own; state, keys and artifacts stay where [`store`](Self::store) put them.
    pub fn sessions(mut self, sessions: Sessions) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Where small durable facts are kept, such as the ledger.
    pub fn state(mut self, state: impl StateStore) -> Self {
        self.state = Some(Arc::new(state));
        self
    }

    /// Where effects are claimed, so that they happen once (T8).
    pub fn idempotency(mut self, store: impl IdempotencyStore) -> Self {
        self.idempotency = Some(Arc::new(store));
        self
    }

    /// Where the whole of shortened outputs is kept (T10).
    pub fn artifacts(mut self, store: impl ArtifactStore) -> Self {
        self.artifacts = Some(Arc::new(store));
        self
    }

    /// The tools. What the registry has no store for yet takes the agent's.
    pub fn tools(mut self, tools: ToolRegistry) -> Self {
        self.tools = Some(tools);
        self
    }

    /// The memory.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = Some(memory);
        self
    }

    /// The instructions that every request begins with.
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// What counts tokens, for sessions and tools alike.
    pub fn counter(mut self, counter: impl TokenCounter) -> Self {
        self.counter = Some(Arc::new(counter));
        self
    }

    /// What time it is.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// The numbers of the loop.
    pub fn config(mut self, config: AgentConfig) -> Self {
        self.config = config;
        self
    }

    /// Puts the agent together.
    ///
    /// # Errors
    /// [`BuildError`] names the part that is missing.
    pub fn build(self) -> Result<Agent, BuildError> {
        let first = self.model.ok_or(BuildError { part: "a model", method: "model" })?;
        let mut sessions = self.sessions.ok_or(BuildError { part: "a session store", method: "store" })?;
        let mut tools = self.tools.unwrap_or_default();
        let erasable = Erasable { artifacts: self.artifacts.clone(), idempotency: self.idempotency.clone() };
        if let (Some(store), false) = (self.idempotency, tools.has_idempotency()) {
            tools = tools.with_idempotency(store);
        }
        if let Some(store) = self.artifacts {
            if !tools.has_artifacts() {
                tools = tools.with_artifacts(Arc::clone(&store));
            }
            // Handles that shortened outputs name must lead somewhere (S6, T10). A tool of that name that is there already stays.
            if !tools.is_empty() && tools.get("read_artifact").is_none() {
                let reader = ReadArtifact::new(&tools, store).with_log(Arc::clone(sessions.store()));
                tools
                    .add(reader)
                    .map_err(|_| BuildError { part: "a free tool name read_artifact", method: "tools" })?;
            }
        }
        // Many tools are not all sent: the model has to be able to ask for the others (T12).
        if tools.len() > tools.config().select.over_tools && tools.get("find_tools").is_none() {
            tools
                .add(FindTools::new(&tools))
                .map_err(|_| BuildError { part: "a free tool name find_tools", method: "tools" })?;
        }
        if let Some(counter) = self.counter {
            sessions = sessions.with_counter(Arc::clone(&counter));
            tools = tools.with_counter(counter);
        }
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock));
        let parts = Parts {
            models: Models { first, fallbacks: self.fallbacks },
            sessions: sessions.with_clock(Arc::clone(&clock)),
            state: self.state,
            erasable,
            tools: tools.with_clock(Arc::clone(&clock)),
            memory: self.memory,
            system: self.system,
            clock,
            holder: HolderId::generate(),
            line: Line::default(),
            config: self.config,
        };
        Ok(Agent { parts: Arc::new(parts), runs: TaskTracker::new() })
    }
}
