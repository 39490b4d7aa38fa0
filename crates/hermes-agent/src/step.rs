//! One model request: what is sent, and what of the answer enters the log.

use std::sync::Arc;

use hermes_core::{
    Body, ChatMessage, ChatReply, ChatRequest, ContentPart, FinishReason, NewMessage, ProviderMetadata,
    StepId, Tokens, ToolCall, ToolChoice, ToolSpec,
};
use hermes_memory::time_zone;
use hermes_session::{Budget, Context, ContextSpec};
use hermes_tools::replayed_arguments;

use crate::error::Error;
use crate::event::AgentEvent;
use crate::fallback::Asked;
use crate::turn::{Ground, Turn};
use crate::usage::{RequestTokens, spec_tokens};

/// The answer to a step, as it stands in the log.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) step: StepId,
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) finish: Option<FinishReason>,
}

/// What a model's answer takes when the model does not say, and the share of the window that it takes at the most.
const ANSWER_SHARE: u32 = 4;

impl Turn {
    /// Asks the model for the next step and puts its answer into the log; `None` when the run was cancelled meanwhile.
    pub(crate) async fn ask(&mut self, ground: &Ground) -> Result<Option<Reply>, Error> {
        let tools = self.offer(ground).await;
        let (request, mut tokens) = self.request(ground, tools).await?;
        let asked = self.parts.models.ask(&request, &self.parts.config, &self.events, &self.cancel).await?;
        let (reply, provider) = match asked {
            Asked::Answer { reply, provider } => (reply, provider),
            Asked::Cancelled { partial } => {
                self.keep_partial(partial).await?;
                return Ok(None);
            }
        };
        tokens.answer = self.parts.sessions.counter().count(&reply.text);
        self.record(tokens);
        if let Some(usage) = reply.usage {
            self.usage = self.usage.plus(usage);
            self.events.tell(AgentEvent::Usage { step: self.steps, usage }).await;
        }
        self.enter(reply, &provider).await.map(Some)
    }

    /// What the user has seen of an answer that was cut short stays in the log; its calls, which nobody has carried out, do not.
    async fn keep_partial(&self, partial: ChatReply) -> Result<(), Error> {
        if !partial.text.is_empty() {
            self.log.append(NewMessage::assistant(partial.text)).await?;
        }
        Ok(())
    }

    /// Puts an answer into the log, before anything of it is carried out (L5).
    async fn enter(&self, reply: ChatReply, provider: &str) -> Result<Reply, Error> {
        let step = StepId::generate();
        let content =
            if reply.text.is_empty() { Vec::new() } else { vec![ContentPart::Text(reply.text.clone())] };
        let mut metadata = ProviderMetadata::new();
        if let Some(data) = reply.provider {
            metadata.insert(provider.to_owned(), data);
        }
        let body = Body::Assistant { content, calls: reply.calls.clone() };
        self.log.append(NewMessage::new(body).with_step(step).with_provider(metadata)).await?;
        Ok(Reply { step, text: reply.text, calls: reply.calls, finish: reply.finish })
    }

    /// The request, and what it is made of.
    async fn request(
        &mut self,
        ground: &Ground,
        tools: Vec<Arc<ToolSpec>>,
    ) -> Result<(ChatRequest, RequestTokens), Error> {
        let counter = Arc::clone(self.parts.sessions.counter());
        let schema_tokens: Tokens = tools.iter().map(|spec| spec_tokens(spec, counter.as_ref())).sum();
        let context = self.context(ground, schema_tokens).await?;
        self.folded = context.folded();
        let tokens = RequestTokens::of(context.parts(), schema_tokens);
        self.events
            .tell(AgentEvent::Request {
                step: self.steps,
                model: self.parts.models.info().id.clone(),
                tokens,
                tools: tools.iter().map(|spec| spec.name.clone()).collect(),
                explanation: context.explain().clone(),
            })
            .await;
        let request = ChatRequest {
            messages: context.into_messages().into_iter().map(replayable).collect(),
            tools,
            tool_choice: ToolChoice::Auto,
            options: self.parts.config.options.clone(),
        };
        Ok((request, tokens))
    }

    /// The context within what tools and answer leave, with memory and ledger beside the user's message (S13).
    async fn context(&self, ground: &Ground, schema_tokens: Tokens) -> Result<Context, Error> {
        let mut spec = ContextSpec::new(self.budget(schema_tokens)?);
        spec.system.clone_from(&self.parts.system);
        spec = spec.with_provider(self.parts.models.info().provider.clone());
        let session = self.log.session();
        let zone = time_zone(session.record().time_zone.as_deref());
        if let Some(text) = ground.recall.text(ground.language, &zone) {
            spec = spec.with_beside(hermes_memory::BLOCK_LABEL, text);
        }
        let context = session.context(spec.clone()).await?;
        // Which effects have left the context is known once it is assembled; mostly none has, and it stands.
        let lines = self.parts.config.ledger_lines;
        match ground.ledger.block(context.first_seq(), lines, ground.language) {
            Some(text) => Ok(session.context(spec.with_beside("done", text)).await?),
            None => Ok(context),
        }
    }

    fn budget(&self, schema_tokens: Tokens) -> Result<Budget, Error> {
        let (window, max_output) = self.parts.models.window();
        let whole = self.parts.config.context_tokens.unwrap_or(window);
        let wanted = self.parts.config.options.max_output.unwrap_or(max_output);
        let answer = wanted.min(Tokens::new(whole.get() / ANSWER_SHARE));
        let reserved = schema_tokens + answer;
        if reserved >= whole {
            return Err(Error::NoRoom { window: whole.get(), reserved: reserved.get() });
        }
        Ok(Budget::from(whole.saturating_sub(reserved)))
    }

    /// Puts the composition of a request into the turn's span (L4).
    fn record(&self, tokens: RequestTokens) {
        let span = tracing::Span::current();
        span.record("hermes.tokens.system", tokens.system.get());
        span.record("hermes.tokens.tools", tokens.tools.get());
        span.record("hermes.tokens.summary", tokens.summary.get());
        span.record("hermes.tokens.history", tokens.history.get());
        span.record("hermes.tokens.memory", tokens.memory.get());
        span.record("hermes.tokens.current", tokens.current.get());
    }
}

/// A message as a provider takes it: arguments that the model wrote as no JSON object are refused by many in a history, so what stands
/// there is an object that holds them.
fn replayable(message: Arc<ChatMessage>) -> Arc<ChatMessage> {
    let ChatMessage::Assistant { content, calls, provider } = message.as_ref() else { return message };
    if calls.iter().all(|call| replayed_arguments(&call.arguments) == call.arguments) {
        return message;
    }
    let calls = calls
        .iter()
        .map(|call| ToolCall { arguments: replayed_arguments(&call.arguments).into_owned(), ..call.clone() });
    Arc::new(ChatMessage::Assistant {
        content: content.clone(),
        calls: calls.collect(),
        provider: provider.clone(),
    })
}
