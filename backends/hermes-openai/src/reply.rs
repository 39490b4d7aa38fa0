//! From the body of an answer to the stream of its events.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use eventsource_stream::{Event, EventStreamError, Eventsource};
use futures_util::stream::{iter, unfold};
use futures_util::{Stream, StreamExt};
use hermes_core::{ChatEvent, ChatStream, ModelError};

use crate::client::Body;
use crate::error::Secrets;
use crate::stream::Assembler;

/// How long the end of the body is waited for once the service has said `[DONE]`. It nearly always comes with it; reading it lets
/// the connection be used again.
const DRAIN: Duration = Duration::from_millis(250);

type Events = Pin<Box<dyn Stream<Item = Result<Event, EventStreamError<ModelError>>> + Send>>;

/// The events of a body, streamed or not.
pub(crate) async fn events(body: Body, secrets: Secrets) -> Result<ChatStream, ModelError> {
    let mut assembler = Assembler::new(secrets);
    let mut out = VecDeque::new();
    if body.is_json() {
        let whole = body.read_all().await?;
        let text = std::str::from_utf8(&whole).map_err(|error| unreadable(&error))?;
        assembler.reply(text, &mut out)?;
        assembler.end(&mut out)?;
        return Ok(Box::pin(iter(out.into_iter().map(Ok))));
    }
    let events: Events = Box::pin(body.into_pieces().eventsource());
    let reading = Reading { out, source: Some(Source { events, assembler }) };
    Ok(Box::pin(unfold(reading, |mut reading| async move { Some((reading.next().await?, reading)) })))
}

/// An answer that is being read.
struct Reading {
    /// What is read and not given yet.
    out: VecDeque<ChatEvent>,
    /// What is still to be read; gone at the end, and after an error.
    source: Option<Source>,
}

struct Source {
    events: Events,
    assembler: Assembler,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<ChatEvent, ModelError>> {
        loop {
            if let Some(event) = self.out.pop_front() {
                return Some(Ok(event));
            }
            let source = self.source.as_mut()?;
            let step = source.step(&mut self.out).await;
            match step {
                Ok(true) => {}
                Ok(false) => {
                    let assembler = self.source.take()?.assembler;
                    if let Err(error) = assembler.end(&mut self.out) {
                        return Some(Err(error));
                    }
                }
                Err(error) => {
                    self.source = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl Source {
    /// Reads one event; false at the answer's end.
    async fn step(&mut self, out: &mut VecDeque<ChatEvent>) -> Result<bool, ModelError> {
        match self.events.next().await {
            None => Ok(false),
            Some(Ok(event)) => {
                self.assembler.event(&event.event, &event.data, out)?;
                if self.assembler.is_done() {
                    let _ = tokio::time::timeout(DRAIN, async {
                        while let Some(Ok(_)) = self.events.next().await {}
                    })
                    .await;
                    return Ok(false);
                }
                Ok(true)
            }
            // The answer is whole, and only its count or its mark of the end is missing.
            Some(Err(_)) if self.assembler.is_whole() => Ok(false),
            Some(Err(EventStreamError::Transport(error))) => Err(error),
            Some(Err(EventStreamError::Utf8(error))) => Err(unreadable(&error.utf8_error())),
            Some(Err(EventStreamError::Parser(_))) => {
                Err(ModelError::BadResponse { reason: "the stream is not one of events".to_owned() })
            }
        }
    }
}

fn unreadable(error: &std::str::Utf8Error) -> ModelError {
    ModelError::BadResponse { reason: format!("the answer is not UTF-8: {error}") }
}
