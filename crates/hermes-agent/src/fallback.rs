//! Asking a model, again after transient failures, and then the next one (L6).

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use futures_util::StreamExt;
use hermes_core::{
    CancelSignal, ChatEvent, ChatMessage, ChatModel, ChatReply, ChatRequest, ModelError, ModelInfo, Tokens,
};
use tracing::Instrument;

use crate::config::AgentConfig;
use crate::error::Error;
use crate::event::AgentEvent;
use crate::run::Events;
use crate::telemetry;

/// The models of an agent, the first one preferred.
#[derive(Debug, Clone)]
pub(crate) struct Models {
    pub(crate) first: Arc<dyn ChatModel>,
    pub(crate) fallbacks: Vec<Arc<dyn ChatModel>>,
}

/// A whole answer, or the run was cancelled before it came.
#[derive(Debug)]
pub(crate) enum Asked {
    Answer { reply: ChatReply, provider: String },
    Cancelled { partial: ChatReply },
}

enum Attempt {
    Answer(ChatReply),
    Cancelled(ChatReply),
}

impl Models {
    pub(crate) fn info(&self) -> &ModelInfo {
        self.first.info()
    }

    /// The window that fits every model, and the room its answer takes.
    pub(crate) fn window(&self) -> (Tokens, Tokens) {
        let infos = || self.all().map(|model| model.info());
        let window = infos().map(|info| info.context_window).min().unwrap_or_default();
        let output = infos().map(|info| info.max_output).min().unwrap_or_default();
        (window, output)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<dyn ChatModel>> {
        std::iter::once(&self.first).chain(&self.fallbacks)
    }

    /// Asks each model in turn until one answers; the pieces of the answer are told as they come.
    pub(crate) async fn ask(
        &self,
        request: &ChatRequest,
        config: &AgentConfig,
        events: &Events,
        cancel: &CancelSignal,
    ) -> Result<Asked, Error> {
        let mut models = self.all().peekable();
        loop {
            let Some(model) = models.next() else {
                // There is always a first model, and the last one returns below.
                return Err(Error::Task { reason: "an agent without a model".to_owned() });
            };
            let mut delays = ExponentialBuilder::default()
                .with_min_delay(config.model_backoff)
                .with_max_times(config.model_retries)
                .with_jitter()
                .build();
            let failure = loop {
                let span = telemetry::chat_span(model.info());
                let request = for_provider(request, &model.info().provider);
                let error = match attempt(model.as_ref(), request, events, cancel).instrument(span).await {
                    Ok(Attempt::Answer(reply)) => {
                        return Ok(Asked::Answer { reply, provider: model.info().provider.clone() });
                    }
                    Ok(Attempt::Cancelled(partial)) => return Ok(Asked::Cancelled { partial }),
                    Err(error) => error,
                };
                tracing::warn!(model = %model.info().id, %error, "the model did not answer");
                let delay = delays.next().filter(|_| error.is_transient()).map(|delay| pause(&error, delay));
                match delay.filter(|delay| *delay <= config.max_model_wait) {
                    Some(delay) => {
                        restarted(events, &error, &model.info().id).await;
                        if !wait(delay, cancel).await {
                            return Ok(Asked::Cancelled { partial: ChatReply::default() });
                        }
                    }
                    None => break error,
                }
            };
            match models.peek() {
                Some(next) => restarted(events, &failure, &next.info().id).await,
                None => return Err(Error::Model { model: model.info().id.clone(), source: failure }),
            }
        }
    }
}

/// The request without opaque data of other providers (S7): the context was made for the first model's.
fn for_provider(request: &ChatRequest, provider: &str) -> ChatRequest {
    let mut request = request.clone();
    for message in &mut request.messages {
        if matches!(message.as_ref(), ChatMessage::Assistant { provider: data, .. } if data.keys().any(|name| name != provider))
            && let ChatMessage::Assistant { provider: data, .. } = Arc::make_mut(message)
        {
            data.retain(|name, _| name == provider);
        }
    }
    request
}

/// The service's own wait where it names one, else ours.
fn pause(error: &ModelError, delay: Duration) -> Duration {
    error.retry_after().map_or(delay, |asked| asked.max(delay))
}

async fn restarted(events: &Events, error: &ModelError, model: &str) {
    events.tell(AgentEvent::Restarted { reason: error.to_string(), model: model.to_owned() }).await;
}

/// Waits; `false` when the run was cancelled meanwhile.
async fn wait(delay: Duration, cancel: &CancelSignal) -> bool {
    tokio::select! {
        biased;
        () = cancel.cancelled() => false,
        () = tokio::time::sleep(delay) => true,
    }
}

/// One request, from its sending to the end of its answer.
async fn attempt(
    model: &dyn ChatModel,
    request: ChatRequest,
    events: &Events,
    cancel: &CancelSignal,
) -> Result<Attempt, ModelError> {
    let mut reply = ChatReply::default();
    let mut stream = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(Attempt::Cancelled(reply)),
        stream = model.stream(request) => stream?,
    };
    loop {
        let event = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Attempt::Cancelled(reply)),
            event = stream.next() => event,
        };
        match event {
            Some(event) => {
                let event = event?;
                match &event {
                    ChatEvent::Text(delta) => events.tell(AgentEvent::Text { delta: delta.clone() }).await,
                    ChatEvent::Reasoning(delta) => {
                        events.tell(AgentEvent::Reasoning { delta: delta.clone() }).await
                    }
                    _ => {}
                }
                reply.push(event);
            }
            None if reply.finish.is_some() => {
                telemetry::record_reply(&tracing::Span::current(), &reply);
                return Ok(Attempt::Answer(reply));
            }
            None => return Err(ModelError::Interrupted { source: None }),
        }
    }
}
