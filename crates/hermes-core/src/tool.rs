//! Tools: contracts, calls and what becomes of them (T1–T9).

use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cancel::CancelSignal;
use crate::error::BoxError;
use crate::id::{ArtifactId, CallId, IdempotencyKey, MemoryId, Owner, Seq, SessionId, StepId};
use crate::json::JsonText;
use crate::message::{ContentPart, FileRef, ToolResult};

/// What running a tool does to the world (T8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing: it only looks.
    ReadOnly,
    /// Something, but twice is the same as once.
    Idempotent,
    /// Something that must not happen twice. The default, since an unknown tool may do anything.
    SideEffect,
}

/// Whether a call whose outcome is unknown may be run again (T7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replay {
    /// A tool with side effects is never run again.
    #[default]
    Never,
    /// The tool passes its idempotency key on, and what is behind it honours it: running again under the same key is safe.
    UnderKey,
}

/// How far an idempotency key reaches (T8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyScope {
    /// One turn: a repeat in the turn is caught, a wish repeated in a later turn is not.
    #[default]
    Turn,
    /// One call: nothing is merged with it. It is for tools of which nobody knows whether they only look; after a crash such a call
    /// is still not run twice.
    Call,
    /// One session.
    Session,
    /// All sessions of a user, for things such as an order's number.
    User,
}

/// How the idempotency key of a call is made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyRule {
    /// How far it reaches.
    pub scope: KeyScope,
    /// The arguments that count, as JSON pointers; `None` takes them all.
    pub arguments: Option<Vec<String>>,
}

/// What a schema that is silent on `additionalProperties` means (T3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownFields {
    /// It forbids fields that it does not name: the rule for tools registered here.
    #[default]
    Forbid,
    /// It means what JSON Schema says: the rule for the tools of an MCP server.
    AsSchema,
}

/// How often a tool is tried again after a transient failure (T7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// How many times more, after the first; at most 2 by default.
    pub retries: u8,
    /// The wait before the first retry; it doubles, with jitter.
    pub base: Duration,
    /// The longest wait, and the longest `Retry-After` that is honoured.
    pub max: Duration,
}

impl Default for RetryPolicy {
    /// Two retries, from 200 ms, at most 10 s (T7).
    fn default() -> Self {
        Self { retries: 2, base: Duration::from_millis(200), max: Duration::from_secs(10) }
    }
}

/// A tool's contract: the one truth about what it is called, takes and does (T1).
///
/// A field of the input schema may carry the hint `"x-hermes-fill": "<words>"`: when the call leaves the field out, a recalled
/// memory that matches the words may supply it (L2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model calls it by: 1 to 64 of `A–Z a–z 0–9 _ -`, checked on registration.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// What it takes: a JSON Schema with an object at the top.
    pub input_schema: Value,
    /// What it gives, where it says so.
    pub output_schema: Option<Value>,
    /// What it does to the world.
    pub effect: Effect,
    /// How long one attempt may take; `None` takes the caller's default (10 s, or 60 s for MCP tools).
    pub timeout: Option<Duration>,
    /// How often it is tried again.
    pub retry: RetryPolicy,
    /// How its idempotency key is made. A tool with side effects has the default rule when this is `None`; others have no key.
    pub key: Option<KeyRule>,
    /// Whether a call whose outcome is unknown may be run again.
    pub replay: Replay,
    /// What a silent schema says about unknown fields.
    pub unknown_fields: UnknownFields,
    /// The groups it belongs to, for choosing what is sent (T12).
    pub groups: Vec<String>,
    /// Whether it is always sent (T12).
    pub always_on: bool,
    /// Example arguments.
    pub examples: Vec<Value>,
    /// The name that its supplier knows it by, where that is another (M4).
    pub origin: Option<ToolOrigin>,
}

/// Where a tool of a [`ToolSource`] comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOrigin {
    /// The source, such as an MCP server's prefix.
    pub source: String,
    /// The tool's name there.
    pub name: String,
}

impl ToolSpec {
    /// A tool that takes nothing and may do anything; say more with the other methods.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema: serde_json::json!({ "type": "object", "properties": {} }),
            output_schema: None,
            effect: Effect::SideEffect,
            timeout: None,
            retry: RetryPolicy::default(),
            key: None,
            replay: Replay::Never,
            unknown_fields: UnknownFields::Forbid,
            groups: Vec::new(),
            always_on: false,
            examples: Vec::new(),
            origin: None,
        }
    }

    /// Says what it takes.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input_schema = schema;
        self
    }

    /// Says what it gives.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Says what it does to the world.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Says how long one attempt may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Says how often it is tried again.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Says how its idempotency key is made.
    #[must_use]
    pub fn key(mut self, rule: KeyRule) -> Self {
        self.key = Some(rule);
        self
    }

    /// Says whether a call whose outcome is unknown may be run again.
    #[must_use]
    pub fn replay(mut self, replay: Replay) -> Self {
        self.replay = replay;
        self
    }

    /// Says what a silent schema means for unknown fields.
    #[must_use]
    pub fn unknown_fields(mut self, unknown: UnknownFields) -> Self {
        self.unknown_fields = unknown;
        self
    }

    /// Adds it to a group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// Says that it is always sent.
    #[must_use]
    pub fn always_on(mut self) -> Self {
        self.always_on = true;
        self
    }

    /// Adds example arguments.
    #[must_use]
    pub fn example(mut self, arguments: Value) -> Self {
        self.examples.push(arguments);
        self
    }

    /// Whether a call that may have run already can be run again without harm: the one replay predicate (T7).
    #[must_use]
    pub fn is_replayable(&self) -> bool {
        match self.effect {
            Effect::ReadOnly | Effect::Idempotent => true,
            Effect::SideEffect => self.replay == Replay::UnderKey,
        }
    }

    /// The rule by which its calls get a key, or `None` when they have none (T8).
    #[must_use]
    pub fn key_rule(&self) -> Option<KeyRule> {
        match (&self.key, self.effect) {
            (Some(rule), _) => Some(rule.clone()),
            (None, Effect::SideEffect) => Some(KeyRule::default()),
            (None, _) => None,
        }
    }
}

/// A call, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call.
    pub id: CallId,
    /// The tool that is asked for. It may not exist.
    pub name: String,
    /// The arguments, as the text that came. It may not be JSON.
    pub arguments: String,
}

impl ToolCall {
    /// Joins the three.
    #[must_use]
    pub fn new(id: CallId, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id, name: name.into(), arguments: arguments.into() }
    }
}

impl fmt::Display for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.arguments)
    }
}

/// What a tool gives when it succeeds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// The output, for the model.
    pub value: Value,
    /// Images and files beside it.
    pub files: Vec<FileRef>,
    /// The whole of it, where `value` is already a shortened or cleaned form; it is kept as an artifact (M5).
    pub raw: Option<String>,
}

impl ToolOutput {
    /// An output that is one JSON value.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self { value, ..Self::default() }
    }

    /// An output that is text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::json(Value::String(text.into()))
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<Value> for ToolOutput {
    fn from(value: Value) -> Self {
        Self::json(value)
    }
}

/// Why a tool did not give an output. The text of each reaches the model: no secrets, no back traces.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The arguments fit the schema and still make no sense to the tool; the model can correct them.
    #[error("{message}")]
    InvalidArguments {
        /// What is wrong and what would be right.
        message: String,
    },
    /// The tool ran and could not do it; trying the same again will not help.
    #[error("{message}")]
    Failed {
        /// What happened.
        message: String,
        /// The cause, for logs only.
        #[source]
        source: Option<BoxError>,
    },
    /// The network, a 5xx, a rate limit: the same call may succeed later. The tool did nothing.
    #[error("{message}")]
    Transient {
        /// What happened.
        message: String,
        /// How long to wait, where the other side said so.
        retry_after: Option<Duration>,
        /// The cause, for logs only.
        #[source]
        source: Option<BoxError>,
    },
    /// The answer was lost after the call was sent: it may or may not have happened.
    #[error("{message}")]
    Unknown {
        /// What happened.
        message: String,
        /// The cause, for logs only.
        #[source]
        source: Option<BoxError>,
    },
    /// The tool stopped because the call was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
}

impl ToolError {
    /// A plain failure.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), source: None }
    }

    /// A transient failure.
    #[must_use]
    pub fn transient(message: impl Into<String>) -> Self {
        Self::Transient { message: message.into(), retry_after: None, source: None }
    }

    /// Whether the same call may succeed later, nothing having happened.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }
}

/// Why a call has no output, as the log keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// There is no such tool.
    UnknownTool,
    /// The arguments break the contract: correct and try again. This spends the correction budget.
    InvalidArguments,
    /// The tool ran and failed.
    Failed,
    /// The tool took too long and did nothing that matters.
    TimedOut,
    /// It may or may not have happened, and is not repeated (T7).
    OutcomeUnknown,
    /// It was not allowed.
    Denied,
    /// It was cancelled before it ran.
    Cancelled,
    /// The same call is running elsewhere.
    InProgress,
    /// The call was blocked because it went in circles (L6).
    Blocked,
}

/// What the framework knows about a call beyond its result (T9).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CallReport {
    /// How long all attempts took, in microseconds.
    pub duration_us: u64,
    /// How many attempts were made; 0 when the tool never ran.
    pub attempts: u8,
    /// What was repaired in the arguments' syntax, in words.
    pub repaired: Vec<String>,
    /// The memory records that supplied missing arguments.
    pub filled: Vec<MemoryId>,
    /// Whether the result was recorded by an earlier run under the same key.
    pub from_record: bool,
    /// Whether the output was cut for the context.
    pub truncated: bool,
    /// Where the whole output is kept.
    pub artifact: Option<ArtifactId>,
}

/// What became of a call: one shape for every outcome (T9).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// The output, or why there is none.
    pub result: Outcome,
    /// What the framework knows about the run.
    pub report: CallReport,
}

/// The output of a call, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It worked.
    Success {
        /// The output.
        output: Value,
        /// Images and files beside it.
        files: Vec<FileRef>,
    },
    /// It did not.
    Failure {
        /// The sort of failure.
        kind: FailureKind,
        /// What the model is told.
        error: String,
    },
}

impl ToolOutcome {
    /// A success.
    #[must_use]
    pub fn success(output: Value) -> Self {
        Self { result: Outcome::Success { output, files: Vec::new() }, report: CallReport::default() }
    }

    /// A failure.
    #[must_use]
    pub fn failure(kind: FailureKind, error: impl Into<String>) -> Self {
        Self { result: Outcome::Failure { kind, error: error.into() }, report: CallReport::default() }
    }

    /// Adds what is known about the run.
    #[must_use]
    pub fn with_report(mut self, report: CallReport) -> Self {
        self.report = report;
        self
    }

    /// Whether it worked.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.result, Outcome::Success { .. })
    }

    /// Why it failed; `None` for a success.
    #[must_use]
    pub const fn failure_kind(&self) -> Option<FailureKind> {
        match &self.result {
            Outcome::Success { .. } => None,
            Outcome::Failure { kind, .. } => Some(*kind),
        }
    }

    /// The text that the model reads: `{"success":true,"output":…}` or `{"success":false,"error":…}`, compact. An output that was
    /// recorded by an earlier run says so with `"from_record":true` (T8).
    #[must_use]
    pub fn to_model_text(&self) -> String {
        match &self.result {
            Outcome::Success { output, .. } if self.report.from_record => {
                format!(r#"{{"success":true,"output":{output},"from_record":true}}"#)
            }
            Outcome::Success { output, .. } => format!(r#"{{"success":true,"output":{output}}}"#),
            Outcome::Failure { error, .. } => {
                format!(r#"{{"success":false,"error":{}}}"#, Value::from(error.as_str()))
            }
        }
    }

    /// The result as it enters the log.
    #[must_use]
    pub fn into_result(self, call: CallId, tool: impl Into<String>) -> ToolResult {
        let mut content = vec![ContentPart::Text(self.to_model_text())];
        let failure = self.failure_kind();
        if let Outcome::Success { files, .. } = self.result {
            content.extend(files.into_iter().map(|file| {
                if file.media_type.starts_with("image/") {
                    ContentPart::Image(file)
                } else {
                    ContentPart::File(file)
                }
            }));
        }
        ToolResult { call, tool: tool.into(), content, failure, report: self.report }
    }
}

/// How far a running call has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The call.
    pub call: CallId,
    /// How much is done.
    pub done: f64,
    /// How much there is, where that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// Takes the progress of running calls. It must not block: a full receiver drops.
pub trait ProgressSink: Debug + Send + Sync + 'static {
    /// Takes a report.
    fn report(&self, progress: Progress);
}

/// What a tool is told about the call it runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallContext {
    /// Whose session it is.
    pub owner: Owner,
    /// The session.
    pub session: SessionId,
    /// The first message of the turn.
    pub turn: Seq,
    /// The model's step.
    pub step: StepId,
    /// The call.
    pub call: CallId,
    /// The key of the effect, to be passed on to whoever carries it out (T8).
    pub key: Option<IdempotencyKey>,
    /// When the attempt is given up.
    pub deadline: Option<Timestamp>,
    /// Tells when the work is no longer wanted.
    pub cancel: CancelSignal,
    /// Takes progress.
    pub progress: Option<Arc<dyn ProgressSink>>,
}

impl CallContext {
    /// A context without key, deadline and progress, and with a signal that nobody raises.
    #[must_use]
    pub fn new(owner: Owner, session: SessionId, turn: Seq, step: StepId, call: CallId) -> Self {
        Self {
            owner,
            session,
            turn,
            step,
            call,
            key: None,
            deadline: None,
            cancel: CancelSignal::never(),
            progress: None,
        }
    }

    /// Sets the signal.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelSignal) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets the key.
    #[must_use]
    pub fn with_key(mut self, key: Option<IdempotencyKey>) -> Self {
        self.key = key;
        self
    }

    /// Sets the deadline.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Timestamp) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets where progress goes.
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn ProgressSink>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Reports progress, where somebody listens.
    pub fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        if let Some(sink) = &self.progress {
            sink.report(Progress { call: self.call.clone(), done, total, message });
        }
    }
}

/// One tool: a contract and what carries it out.
///
/// # Contract
/// - **TL1** [`Tool::spec`] always gives an equal contract.
/// - **TL2** [`Tool::call`] gets arguments that fit the contract's input schema; it need not check them again.
/// - **TL3** Dropping the future of [`Tool::call`] ends the work; the context's signal is raised before.
/// - **TL4** [`ToolError::Transient`] means that nothing has happened; where that is not known, the error is [`ToolError::Unknown`].
#[async_trait]
pub trait Tool: Debug + Send + Sync + 'static {
    /// The contract.
    fn spec(&self) -> Arc<ToolSpec>;

    /// Runs it once.
    ///
    /// # Errors
    /// [`ToolError`], whose text reaches the model.
    async fn call(&self, arguments: JsonText, context: CallContext) -> Result<ToolOutput, ToolError>;
}

/// Something that has tools and runs calls by name, checks and all: a registry, for whoever serves it (M11).
///
/// # Contract
/// - **TH1** [`ToolHost::specs`] lists no name twice, in a stable order.
/// - **TH2** [`ToolHost::call`] never fails: a wrong name, wrong arguments and a failing tool are outcomes.
#[async_trait]
pub trait ToolHost: Debug + Send + Sync + 'static {
    /// The contracts of all tools.
    fn specs(&self) -> Vec<Arc<ToolSpec>>;

    /// Runs one call: check, claim, run, record.
    async fn call(&self, call: &ToolCall, context: CallContext) -> ToolOutcome;
}

/// The tools that a source has at one time.
#[derive(Debug, Clone, Default)]
pub struct SourceTools {
    /// Grows with each change, so that a late snapshot cannot undo a newer one (M7).
    pub generation: u64,
    /// The tools. Their names carry the source's prefix already.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What the source offers and cannot be used, with the reason (M2).
    pub skipped: Vec<SkippedTool>,
}

/// A tool that a source offers and that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTool {
    /// Its name at the source.
    pub name: String,
    /// Why not.
    pub reason: String,
}

/// A supplier of tools whose set may change while it is attached (M7).
///
/// # Contract
/// - **TS1** [`ToolSource::tools`] never waits for the network: it gives what is known now.
/// - **TS2** A generation is never given with two different sets of tools.
/// - **TS3** [`ToolSource::changed`] ends once the generation is past `after`, and may be dropped at any time.
#[async_trait]
pub trait ToolSource: Debug + Send + Sync + 'static {
    /// The source's name: the prefix of its tools.
    fn name(&self) -> &str;

    /// The tools it has now.
    fn tools(&self) -> SourceTools;

    /// Waits until the tools are newer than generation `after`.
    async fn changed(&self, after: u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_predicate_decides_about_replay() {
        let spec = ToolSpec::new("pay", "Pays");
        assert!(!spec.clone().is_replayable());
        assert!(spec.clone().replay(Replay::UnderKey).is_replayable());
        assert!(spec.clone().effect(Effect::ReadOnly).is_replayable());
        assert_eq!(spec.key_rule(), Some(KeyRule::default()));
        assert_eq!(spec.effect(Effect::Idempotent).key_rule(), None);
    }

    #[test]
    fn outcomes_have_one_shape() {
        let good = ToolOutcome::success(serde_json::json!({ "n": 1 }));
        assert_eq!(good.to_model_text(), r#"{"success":true,"output":{"n":1}}"#);
        let mut again = good;
        again.report.from_record = true;
        assert_eq!(again.to_model_text(), r#"{"success":true,"output":{"n":1},"from_record":true}"#);
        let bad = ToolOutcome::failure(FailureKind::Denied, "no \"way\"");
        assert_eq!(bad.to_model_text(), r#"{"success":false,"error":"no \"way\""}"#);
        assert_eq!(bad.failure_kind(), Some(FailureKind::Denied));
    }
}
