//! A run: one turn being driven, as a stream of events (decision 4).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use hermes_core::{CancelHandle, CancelSignal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::event::{AgentEvent, StopReason};

/// A turn that is being driven. It is a stream of events that ends in [`AgentEvent::Finished`], which [`AgentEvent::Learned`] may
/// follow, or in an error.
///
/// The turn goes on in a task of its own as long as events are taken: a reader that stops reading stops it once its buffer is full,
/// until its time is over or it is cancelled. Then it ends without waiting for the reader: events that find no room are lost, but never
/// the last ones.
/// Dropping the run cancels the turn; what is being written to the log is written to its end, so that the log stays valid. What memory
/// learns after [`AgentEvent::Finished`] is not cut off.
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

    /// Takes all events until the turn has ended. What memory learns from it goes on in the background (R3): to wait for that too, take
    /// the events to their end, or call [`Agent::settled`](crate::Agent::settled).
    ///
    /// # Errors
    /// The run's error, if it ends in one.
    pub async fn answer(mut self) -> Result<Answer, Error> {
        let mut answer = Answer { text: String::new(), stop: StopReason::Cancelled };
        while let Some(event) = self.next().await {
            match event? {
                AgentEvent::Answered { text } => answer.text = text,
                AgentEvent::Finished { stop, .. } => {
                    answer.stop = stop;
                    return Ok(answer);
                }
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

/// The channel of a run: where its turn puts events, the places that are kept for the last ones, and where they are taken.
pub(crate) fn channel(
    buffer: usize,
    cancel: CancelSignal,
) -> (Events, Ending, mpsc::Receiver<Result<AgentEvent, Error>>) {
    let (sender, receiver) = mpsc::channel(buffer.max(1) + ENDING);
    let [end, learned] = [(); ENDING].map(|()| sender.clone().try_reserve_owned().ok());
    (Events { sender, cancel }, Ending { end, learned }, receiver)
}

/// How many places are kept: for the end of a turn, and for what was learned from it.
const ENDING: usize = 2;

/// Where a turn puts its events.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    sender: mpsc::Sender<Result<AgentEvent, Error>>,
    cancel: CancelSignal,
}

impl Events {
    /// Tells an event, waiting while the reader is slow, but no longer than the run is wanted: a reader that has stopped must not hold the
    /// session. A reader that is gone has cancelled the run: nothing is lost but the telling.
    pub(crate) async fn tell(&self, event: AgentEvent) {
        tokio::select! {
            biased;
            place = self.sender.reserve() => {
                if let Ok(place) = place {
                    place.send(Ok(event));
                }
            }
            () = self.cancel.cancelled() => {}
        }
    }

    /// Tells an event if there is room: for progress, of which the next report says the same and more.
    pub(crate) fn tell_if_room(&self, event: AgentEvent) {
        let _ = self.sender.try_send(Ok(event));
    }
}

type Place = Option<mpsc::OwnedPermit<Result<AgentEvent, Error>>>;

/// The places in the channel for what is told last, kept from the start: a full buffer holds up no end and loses none.
#[derive(Debug)]
pub(crate) struct Ending {
    end: Place,
    learned: Place,
}

impl Ending {
    /// Tells how the turn has ended.
    pub(crate) fn end(&mut self, end: Result<AgentEvent, Error>) {
        if let Some(place) = self.end.take() {
            place.send(end);
        }
    }

    /// Tells what was learned, if somebody still reads.
    pub(crate) fn learned(&mut self, learned: AgentEvent) {
        if let Some(place) = self.learned.take() {
            place.send(Ok(learned));
        }
    }
}
