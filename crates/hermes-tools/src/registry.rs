//! The registry: which tools there are, and what running them needs.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};

use hermes_core::{
    Approver, ArtifactStore, CallContext, Clock, Embedder, HolderId, IdempotencyStore, JsonText, SystemClock,
    TokenCounter, Tool, ToolCall, ToolError, ToolHost, ToolOutcome, ToolOutput, ToolSource, ToolSpec,
    async_trait,
};
use hermes_text::Language;
use serde::de::DeserializeOwned;

use crate::config::ToolConfig;
use crate::contract::{self, Entry};
use crate::error::{AttachError, ContractError, RegisterError};
use crate::feedback::Wording;
use crate::func::{self, BlockingTool, FnTool};
use crate::options::{ExecuteOptions, Executed};
use crate::rank::RankCache;
use crate::select::FoundTools;
use crate::source::{self, Attached, Refreshed};
use crate::stats::Stats;
use crate::truncate::TurnOutputs;

/// Tools with their contracts, and everything that running a call needs.
///
/// A clone is cheap and shares the tools and counters; the `with_…` settings belong to each clone. Tools can be added, attached and
/// refreshed while calls run: a call goes on with the tool it found.
///
/// A tool with side effects needs an [`IdempotencyStore`], since nothing else can say after a crash whether it has run (T8). Without
/// one its calls are refused with a sentence that says so; `Agent::builder` supplies the one of its store.
#[derive(Debug, Clone)]
pub struct ToolRegistry {
    pub(crate) settings: Arc<Settings>,
    pub(crate) shared: Arc<Shared>,
}

/// What a clone of the registry has of its own.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) config: ToolConfig,
    pub(crate) idempotency: Option<Arc<dyn IdempotencyStore>>,
    pub(crate) artifacts: Option<Arc<dyn ArtifactStore>>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) counter: Option<Arc<dyn TokenCounter>>,
    pub(crate) language: Option<Language>,
    pub(crate) holder: HolderId,
}

/// What all clones of the registry have in common.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    table: RwLock<Arc<Table>>,
    pub(crate) stats: Stats,
    pub(crate) found: FoundTools,
    pub(crate) ranks: RankCache,
    pub(crate) outputs: TurnOutputs,
}

/// The tools there are at one time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// Grows with each change.
    pub(crate) generation: u64,
    pub(crate) tools: BTreeMap<String, Arc<Entry>>,
    pub(crate) sources: BTreeMap<String, Attached>,
}

/// How many bytes count as one token where no counter is set. With `o200k_base` English has 4.8 bytes a token, Chinese 4.2 and
/// compact JSON 3.3: three is on the safe side of all.
const BYTES_A_TOKEN: usize = 3;

impl Settings {
    /// The tokens of a text, counted or estimated.
    pub(crate) fn count(&self, text: &str) -> usize {
        match &self.counter {
            Some(counter) => usize::try_from(counter.count(text).get()).unwrap_or(usize::MAX),
            None => text.len().div_ceil(BYTES_A_TOKEN),
        }
    }
}

impl Shared {
    /// The tools there are now.
    pub(crate) fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the table; readers keep the one they have.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let table = Arc::make_mut(&mut table);
        table.generation = table.generation.wrapping_add(1);
        change(table)
    }
}

impl Table {
    /// Who has a name, for messages.
    pub(crate) fn holder_of(&self, name: &str) -> Option<String> {
        self.tools.get(name).map(|entry| match &entry.source {
            Some(source) => format!("source {source:?}"),
            None => "this registry".to_owned(),
        })
    }
}

impl Default for ToolRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolRegistry {
    /// An empty registry with the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::with_config(ToolConfig::default())
    }

    /// An empty registry with other settings.
    #[must_use]
    pub fn with_config(config: ToolConfig) -> Self {
        let settings = Settings {
            config,
            idempotency: None,
            artifacts: None,
            approver: None,
            embedder: None,
            clock: Arc::new(SystemClock),
            counter: None,
            language: None,
            holder: HolderId::generate(),
        };
        Self { settings: Arc::new(settings), shared: Arc::default() }
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Sets where keys are claimed and outcomes recorded (T8).
    #[must_use]
    pub fn with_idempotency(self, store: impl IdempotencyStore) -> Self {
        self.set(|settings| settings.idempotency = Some(Arc::new(store)))
    }

    /// Sets where the whole of a shortened output is kept (T10).
    #[must_use]
    pub fn with_artifacts(self, store: impl ArtifactStore) -> Self {
        self.set(|settings| settings.artifacts = Some(Arc::new(store)))
    }

    /// Sets who decides whether calls may run (T13). Without one every call may, but for an effect on the world whose arguments
    /// memory supplied: that one asks (L2).
    #[must_use]
    pub fn with_approver(self, approver: impl Approver) -> Self {
        self.set(|settings| settings.approver = Some(Arc::new(approver)))
    }

    /// Sets the embedder that helps to choose tools (T12). Without one they are chosen by their words.
    #[must_use]
    pub fn with_embedder(self, embedder: impl Embedder) -> Self {
        self.set(|settings| settings.embedder = Some(Arc::new(embedder)))
    }

    /// Sets the clock. The default is the system's.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock) -> Self {
        self.set(|settings| settings.clock = Arc::new(clock))
    }

    /// Sets what counts tokens. The default is an estimate on the high side: one token for three bytes.
    #[must_use]
    pub fn with_counter(self, counter: impl TokenCounter) -> Self {
        self.set(|settings| settings.counter = Some(Arc::new(counter)))
    }

    /// Sets the language of feedback. Without one it is that of [`ExecuteOptions::language`], or of the call's arguments.
    #[must_use]
    pub fn with_language(self, language: Language) -> Self {
        self.set(|settings| settings.language = Some(language))
    }

    /// Sets the name under which keys are claimed. The default is a new one for each registry.
    #[must_use]
    pub fn with_holder(self, holder: HolderId) -> Self {
        self.set(|settings| settings.holder = holder)
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &ToolConfig {
        &self.settings.config
    }

    /// Whether a store for keys is set.
    #[must_use]
    pub fn has_idempotency(&self) -> bool {
        self.settings.idempotency.is_some()
    }

    /// Whether a store for artifacts is set.
    #[must_use]
    pub fn has_artifacts(&self) -> bool {
        self.settings.artifacts.is_some()
    }

    /// Whether an approver is set.
    #[must_use]
    pub fn has_approver(&self) -> bool {
        self.settings.approver.is_some()
    }

    /// Registers an async closure under a contract. Its argument type must accept what the schema allows; that it accepts the
    /// contract's examples is checked.
    ///
    /// # Errors
    /// [`RegisterError`] with the tool and what is wrong with its contract (T2).
    pub fn register<A, O, F, Fut>(&self, spec: ToolSpec, run: F) -> Result<(), RegisterError>
    where
        A: DeserializeOwned + Send + 'static,
        O: Into<ToolOutput> + 'static,
        F: Fn(A, CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        examples_fit::<A>(&spec)?;
        self.add(FnTool::new(spec, run))
    }

    /// Registers a closure that blocks its thread. It runs on the blocking pool and is abandoned past its time (T6).
    ///
    /// # Errors
    /// [`RegisterError`] with the tool and what is wrong with its contract (T2).
    pub fn register_blocking<A, O, F>(&self, spec: ToolSpec, run: F) -> Result<(), RegisterError>
    where
        A: DeserializeOwned + Send + 'static,
        O: Into<ToolOutput> + 'static,
        F: Fn(A, CallContext) -> Result<O, ToolError> + Send + Sync + 'static,
    {
        examples_fit::<A>(&spec)?;
        let counter = self.shared.stats.abandoned_of(&spec.name);
        self.add(BlockingTool::new(spec, run).counting_in(counter))
    }

    /// Registers a tool of one's own.
    ///
    /// # Errors
    /// [`RegisterError`] with the tool and what is wrong with its contract (T2).
    pub fn add(&self, tool: impl Tool) -> Result<(), RegisterError> {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        let name = tool.spec().name.clone();
        let fault = |problem| RegisterError { tool: name.clone(), problem };
        let entry = Arc::new(contract::compile(tool, None).map_err(fault)?);
        self.shared.change(|table| match table.holder_of(&name) {
            Some(holder) => Err(fault(ContractError::Duplicate { holder })),
            None => {
                table.tools.insert(name.clone(), entry);
                Ok(())
            }
        })
    }

    /// Takes a tool out; says whether there was one. Running calls of it go on.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn remove(&self, name: &str) -> bool {
        self.shared.change(|table| table.tools.remove(name).is_some())
    }

    /// Attaches a source: its tools appear here, and [`refresh`](Self::refresh) follows its changes.
    ///
    /// A tool whose contract cannot be used is skipped with a reason, and the others stay (M2, M7).
    ///
    /// # Errors
    /// [`AttachError`] when the source is attached already or one of its names is taken (M4); nothing is taken then.
    pub fn attach(&self, source: impl ToolSource) -> Result<Refreshed, AttachError> {
        source::attach(&self.shared, Arc::new(source))
    }

    /// Takes a source and its tools out; says whether it was attached.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn detach(&self, source: &str) -> bool {
        source::detach(&self.shared, source)
    }

    /// Looks at one source again and takes over its tools if they are newer than those here (M7). It touches no tool of anybody
    /// else: a new tool whose name is taken is skipped with a reason. `None` when no such source is attached.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn refresh(&self, source: &str) -> Option<Refreshed> {
        source::refresh(&self.shared, source)
    }

    /// [`Refreshes`](Self::refresh) all sources; gives those that changed. Cheap when none did: an agent does it before each turn.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn refresh_all(&self) -> Vec<Refreshed> {
        source::refresh_all(&self.shared)
    }

    /// The attached sources, by name.
    #[must_use]
    pub fn sources(&self) -> Vec<Arc<dyn ToolSource>> {
        self.shared.table().sources.values().map(|attached| Arc::clone(&attached.source)).collect()
    }

    /// A tool by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.shared.table().tools.get(name).map(|entry| Arc::clone(&entry.tool))
    }

    /// A tool's contract by its name.
    #[must_use]
    pub fn spec(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.shared.table().tools.get(name).map(|entry| Arc::clone(&entry.spec))
    }

    /// The contracts of all tools, by name.
    #[must_use]
    pub fn specs(&self) -> Vec<Arc<ToolSpec>> {
        self.shared.table().tools.values().map(|entry| Arc::clone(&entry.spec)).collect()
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.table().tools.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counters of first-try success, repair, correction and the rest (T5).
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.shared.stats
    }
}

/// Schema and type are two statements about the same arguments: each example must satisfy both (T1).
fn examples_fit<A: DeserializeOwned>(spec: &ToolSpec) -> Result<(), RegisterError> {
    for (at, example) in spec.examples.iter().enumerate() {
        if let Err(error) = func::read_arguments::<A>(&JsonText::from(example)) {
            let reason = format!("the function's argument type refuses it: {error}");
            return Err(RegisterError {
                tool: spec.name.clone(),
                problem: ContractError::Example { number: at + 1, reason },
            });
        }
    }
    Ok(())
}

#[async_trait]
impl ToolHost for ToolRegistry {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        Self::specs(self)
    }

    /// Runs one call without a journal. A call that would have to wait for a person is denied here, since nobody can be asked.
    async fn call(&self, call: &ToolCall, context: CallContext) -> ToolOutcome {
        let options = ExecuteOptions::default();
        match self.execute(call, context, &options).await {
            Ok(Executed::Done(outcome)) => outcome,
            Ok(Executed::Suspended(suspended)) => {
                self.wording(call, &options).denied(&call.name, &suspended.reason)
            }
            Err(error) => Wording::new(Language::English).not_started(&call.name, &error),
        }
    }
}
