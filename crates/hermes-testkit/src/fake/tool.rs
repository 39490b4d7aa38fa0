//! A tool that remembers its calls.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use hermes_core::{CallContext, JsonText, Tool, ToolError, ToolOutput, ToolSpec, async_trait};
use tokio::sync::{Semaphore, watch};

/// A call that a [`RecordingTool`] got.
#[derive(Debug, Clone)]
pub struct RecordedCall {
    /// The arguments that it was run with.
    pub arguments: JsonText,
    /// What it was told about the call.
    pub context: CallContext,
}

type Run = dyn Fn(JsonText, CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync;

/// A tool that remembers its calls and answers as it was told. Clones are one tool.
///
/// An answer is, in this order: the next one queued by [`RecordingTool::then`], what the function of
/// [`RecordingTool::running`] gives, or `"ok"`.
#[derive(Clone)]
pub struct RecordingTool {
    spec: Arc<ToolSpec>,
    answers: Arc<Mutex<VecDeque<Result<ToolOutput, ToolError>>>>,
    run: Option<Arc<Run>>,
    calls: Arc<Mutex<Vec<RecordedCall>>>,
    started: watch::Sender<usize>,
    finished: watch::Sender<usize>,
    gate: Option<Arc<Semaphore>>,
}

impl RecordingTool {
    /// A tool with this contract.
    #[must_use]
    pub fn new(spec: ToolSpec) -> Self {
        Self {
            spec: Arc::new(spec),
            answers: Arc::default(),
            run: None,
            calls: Arc::default(),
            started: watch::Sender::new(0),
            finished: watch::Sender::new(0),
            gate: None,
        }
    }

    /// A tool with this contract, carried out by a function.
    #[must_use]
    pub fn running<F>(
        spec: ToolSpec,
        run: impl Fn(JsonText, CallContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        let run: Arc<Run> = Arc::new(move |arguments, context| Box::pin(run(arguments, context)));
        Self { run: Some(run), ..Self::new(spec) }
    }

    /// Queues an answer for one call.
    #[must_use]
    pub fn then(self, answer: Result<impl Into<ToolOutput>, ToolError>) -> Self {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push_back(answer.map(Into::into));
        self
    }

    /// Lets no call end before [`RecordingTool::release`]: for calls that overlap, time out or are cancelled.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.gate = Some(Arc::new(Semaphore::new(0)));
        self
    }

    /// Lets `n` held calls end.
    pub fn release(&self, n: usize) {
        if let Some(gate) = &self.gate {
            gate.add_permits(n);
        }
    }

    /// The calls so far, in the order in which they began.
    #[must_use]
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many calls have begun.
    #[must_use]
    pub fn started(&self) -> usize {
        *self.started.borrow()
    }

    /// How many calls have run to their end; a dropped one does not.
    #[must_use]
    pub fn finished(&self) -> usize {
        *self.finished.borrow()
    }

    /// Waits until `n` calls have begun.
    ///
    /// # Panics
    /// Never: the tool itself holds the sender.
    pub async fn until_started(&self, n: usize) {
        self.started.subscribe().wait_for(|count| *count >= n).await.expect("the sender is held");
    }
}

impl fmt::Debug for RecordingTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingTool")
            .field("name", &self.spec.name)
            .field("started", &self.started())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Tool for RecordingTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn call(&self, arguments: JsonText, context: CallContext) -> Result<ToolOutput, ToolError> {
        let call = RecordedCall { arguments: arguments.clone(), context: context.clone() };
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        self.started.send_modify(|count| *count += 1);
        if let Some(gate) = &self.gate {
            gate.acquire().await.expect("the gate is never closed").forget();
        }
        let queued = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let answer = match (queued, &self.run) {
            (Some(answer), _) => answer,
            (None, Some(run)) => run(arguments, context).await,
            (None, None) => Ok(ToolOutput::text("ok")),
        };
        self.finished.send_modify(|count| *count += 1);
        answer
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample;

    #[tokio::test]
    async fn it_answers_as_told_and_remembers() {
        let tool = RecordingTool::running(ToolSpec::new("t", "T"), |arguments, _| async move {
            Ok(ToolOutput::text(arguments.as_str()))
        })
        .then(Err::<ToolOutput, _>(ToolError::failed("no")))
        .then(Ok(json!(1)));
        let call = || tool.call(sample::json("{ }"), sample::call_context());
        assert!(call().await.is_err());
        assert_eq!(call().await.unwrap().value, json!(1));
        assert_eq!(call().await.unwrap().value, json!("{ }"));
        assert_eq!((tool.started(), tool.finished(), tool.calls().len()), (3, 3, 3));
    }

    #[tokio::test]
    async fn a_held_call_begins_and_ends_when_it_is_let_go() {
        let tool = RecordingTool::new(ToolSpec::new("t", "T")).held();
        let running = tokio::spawn({
            let tool = tool.clone();
            async move { tool.call(sample::json("{}"), sample::call_context()).await }
        });
        tool.until_started(1).await;
        assert_eq!(tool.finished(), 0);
        tool.release(1);
        assert_eq!(running.await.unwrap().unwrap(), ToolOutput::text("ok"));
        assert_eq!(tool.finished(), 1);
    }
}
