//! One attempt: a task of its own, a limit, a signal, and no way for a tool to take the loop down with it (T6).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use hermes_core::{CallContext, CancelHandle, JsonText, Tool, ToolError, ToolOutput};
use tokio::task::{JoinError, JoinHandle};
use tracing::Instrument as _;

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum Attempt {
    Output(ToolOutput),
    Error(ToolError),
    TimedOut,
    /// The call was no longer wanted; whether the tool had begun is not known.
    Cancelled,
    Panicked,
}

/// Runs a tool once, at most for `limit`.
///
/// It runs as a task of its own, so that a panic is this attempt's and a tool that blocks its thread delays nobody on a runtime with
/// several. Past the limit, or when the call is cancelled, its signal is raised; after `grace` its future is dropped, and if even
/// that does not end it, it is abandoned and counted.
pub(crate) async fn attempt(
    tool: Arc<dyn Tool>,
    arguments: JsonText,
    context: CallContext,
    limit: Duration,
    grace: Duration,
    abandon: &(dyn Fn() + Sync),
) -> Attempt {
    let wanted = context.cancel.clone();
    let stop = CancelHandle::new();
    let inner = context.with_cancel(stop.signal());
    let work = async move { tool.call(arguments, inner).await }.instrument(tracing::Span::current());
    let mut task = AbortOnDrop(tokio::spawn(work));
    let ended = match tokio::time::timeout(limit, select(&mut task.0, wanted.cancelled())).await {
        Ok(Either::Left((joined, _))) => return ended(joined),
        Ok(Either::Right(((), _))) => Attempt::Cancelled,
        Err(_) => Attempt::TimedOut,
    };
    stop.cancel();
    if let Ok(joined) = tokio::time::timeout(grace, &mut task.0).await {
        // Past its time a result is late and discarded. After a cancellation it is the truth about an effect.
        return match (ended, joined) {
            (Attempt::Cancelled, Ok(Ok(output))) => Attempt::Output(output),
            (ended, _) => ended,
        };
    }
    task.0.abort();
    if tokio::time::timeout(grace, &mut task.0).await.is_err() {
        abandon();
        tracing::warn!("a tool that blocks its thread is abandoned");
    }
    ended
}

fn ended(joined: Result<Result<ToolOutput, ToolError>, JoinError>) -> Attempt {
    match joined {
        Ok(Ok(output)) => Attempt::Output(output),
        Ok(Err(ToolError::Cancelled)) => Attempt::Cancelled,
        Ok(Err(error)) => Attempt::Error(error),
        Err(error) if error.is_panic() => {
            let panic = error.into_panic();
            tracing::error!(panic = panic_text(&*panic), "a tool panicked");
            Attempt::Panicked
        }
        // The runtime is shutting down.
        Err(_) => Attempt::Cancelled,
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// Ends the task when the attempt's own future is dropped.
struct AbortOnDrop(JoinHandle<Result<ToolOutput, ToolError>>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
