//! One model request: what is sent, and what of the answer enters the log.

use std::sync::Arc;

use hermes_core::{
    Body, ChatMessage, ChatReply, ChatRequest, ContentPart, FinishReason, JsonText, Message, NewMessage,
    ProviderMetadata, StepId, Tokens, ToolCall, ToolChoice, ToolSpec,
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

/// How often the ledger is fitted into a context: five halvings of its lines leave one, and one more round shows what they let fold.
const LEDGER_TRIES: usize = 6;

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

    /// What the user has seen of an answer that was cut short stays in the log, marked as a part; its calls, which nobody has carried out,
    /// do not.
    async fn keep_partial(&self, partial: ChatReply) -> Result<(), Error> {
        if !partial.text.is_empty() {
            self.log.append(NewMessage::assistant(partial.text).with_provider(partial_mark())).await?;
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
        if let Some(first) = context.first_seq() {
            self.first_sent = Some(self.first_sent.map_or(first, |sent| sent.min(first)));
        }
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
    async fn context(&mut self, ground: &Ground, schema_tokens: Tokens) -> Result<Context, Error> {
        let mut spec = ContextSpec::new(self.budget(schema_tokens)?);
        spec.system.clone_from(&self.parts.system);
        spec = spec.with_provider(self.parts.models.info().provider.clone());
        let session = self.log.session();
        let zone = time_zone(session.record().time_zone.as_deref());
        if let Some(text) = ground.recall.text(ground.language, &zone) {
            spec = spec.with_beside(hermes_memory::BLOCK_LABEL, text);
        }
        let mut context = session.context(spec.clone()).await?;
        self.folded = context.folded();
        // Which effects have left the context is known once it is assembled; mostly none has, and it stands. Naming them may let more
        // turns give way, and those have effects of their own.
        let (mut lines, mut shown) = (self.parts.config.ledger_lines, None);
        for _ in 0..LEDGER_TRIES {
            let block = ground.ledger.block(context.first_seq(), lines, ground.language);
            let Some(text) = block.clone().filter(|_| block != shown) else { break };
            match session.context(spec.clone().with_beside("done", text)).await {
                Ok(next) => {
                    self.folded |= next.folded();
                    (context, shown) = (next, block);
                }
                // The ledger must not keep a turn from fitting that fits without it.
                Err(hermes_session::Error::Budget(_)) if lines > 1 => lines /= 2,
                Err(hermes_session::Error::Budget(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(context)
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

/// The key of our own opaque data; no provider is called so, and none gets it.
const OWN: &str = "hermes";

fn partial_mark() -> ProviderMetadata {
    let mark = JsonText::from(&serde_json::json!({ "partial": true }));
    ProviderMetadata::from([(OWN.to_owned(), mark)])
}

/// Whether a message is a part of an answer that was cut short: the turn has no answer yet (L5).
pub(crate) fn is_partial(message: &Message) -> bool {
    message.provider().contains_key(OWN)
}

/// A message as providers take it in a history. Many refuse arguments that are no JSON object and names that no tool may have, which a
/// model can write all the same; what is sent back is mended, and the log keeps what came.
fn replayable(message: Arc<ChatMessage>) -> Arc<ChatMessage> {
    match message.as_ref() {
        ChatMessage::Assistant { content, calls, provider } if !calls.iter().all(is_replayable) => {
            let mend = |call: &ToolCall| ToolCall {
                id: call.id.clone(),
                name: legal_name(&call.name),
                arguments: replayed_arguments(&call.arguments).into_owned(),
            };
            let calls = calls.iter().map(mend).collect();
            Arc::new(ChatMessage::Assistant { content: content.clone(), calls, provider: provider.clone() })
        }
        ChatMessage::Tool { call, tool, content } if legal_name(tool) != *tool => {
            Arc::new(ChatMessage::Tool {
                call: call.clone(),
                tool: legal_name(tool),
                content: content.clone(),
            })
        }
        _ => message,
    }
}

fn is_replayable(call: &ToolCall) -> bool {
    legal_name(&call.name) == call.name && replayed_arguments(&call.arguments) == call.arguments
}

/// The name with what no tool's name may hold replaced, and no longer than it may be (T2).
fn legal_name(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(legal).take(64).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_tool_may_have_are_mended_for_a_history() {
        let long = "x".repeat(70);
        for (name, legal) in [
            ("functions.x", "functions_x"),
            ("get_weather", "get_weather"),
            ("", "_"),
            ("天气", "__"),
            (&long, &long[..64]),
        ] {
            assert_eq!(legal_name(name), legal);
        }
    }
}
