//! A run: one turn being driven, as a stream of events (decision 4).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use hermes_core::CancelHandle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::event::{AgentEvent, StopReason};

/// A turn that is being driven. It is a stream of events that ends after [`AgentEvent::Finished`], or after an error.
///
/// The turn goes on in a task of its own as long as events are taken: a reader that stops reading stops it once its buffer is full.
/// Dropping the run cancels the turn; what is being written to the log is written to its end, so that the log stays valid.
#[derive(Debug)]
pub struct Run {
    events: mpsc::Receiver<Result<AgentEvent, Error>>,
    cancel: CancelHandle,
    task: Option<JoinHandle<()>>,
    failed: Option<Error>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The answer's text; empty when there is none.
    pub text: String,
    /// Why the run ended.
    pub stop: StopReason,
}

impl Run {
    pub(crate) fn new(
        events: mpsc::Receiver<Result<AgentEvent, Error>>,
        cancel: CancelHandle,
        task: JoinHandle<()>,
    ) -> Self {
        Self { events, cancel, task: Some(task), failed: None }
    }

    /// Waits for the next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<AgentEvent, Error>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Asks the turn to end as soon as it can. Its events go on until it has.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// A handle that cancels the turn from elsewhere.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Takes all events to the end of the run.
    ///
    /// # Errors
    /// The run's error, if it ends in one.
    pub async fn answer(mut self) -> Result<Answer, Error> {
        let mut answer = Answer { text: String::new(), stop: StopReason::Cancelled };
        while let Some(event) = self.next().await {
            match event? {
                AgentEvent::Answered { text } => answer.text = text,
                AgentEvent::Finished { stop, .. } => answer.stop = stop,
                _ => {}
            }
        }
        Ok(answer)
    }
}

impl Stream for Run {
    type Item = Result<AgentEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Poll::Ready(Some(event)) = this.events.poll_recv(cx) {
            return Poll::Ready(Some(event));
        }
        // The run ends with its task, not with the last sender: a tool may keep its context, and what progress it tells then is late.
        let Some(task) = &mut this.task else { return Poll::Ready(this.failed.take().map(Err)) };
        match Pin::new(task).poll(cx) {
            Poll::Pending => return Poll::Pending,
            // A panic must not pass for an end.
            Poll::Ready(ended) => {
                this.failed = ended.err().map(|error| Error::Task { reason: error.to_string() })
            }
        }
        this.task = None;
        this.events.close();
        // What was told between the two looks.
        match this.events.poll_recv(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
            _ => Poll::Ready(this.failed.take().map(Err)),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Where a turn puts its events.
#[derive(Debug, Clone)]
pub(crate) struct Events(pub(crate) mpsc::Sender<Result<AgentEvent, Error>>);

impl Events {
    /// Tells an event, waiting while the reader is slow. A reader that is gone has cancelled the run: nothing is lost but the telling.
    pub(crate) async fn tell(&self, event: AgentEvent) {
        let _ = self.0.send(Ok(event)).await;
    }

    /// Tells an event if there is room: for progress, of which the next report says the same and more.
    pub(crate) fn tell_if_room(&self, event: AgentEvent) {
        let _ = self.0.try_send(Ok(event));
    }

    pub(crate) async fn fail(&self, error: Error) {
        let _ = self.0.send(Err(error)).await;
    }
}
