//! Spans with the names of OpenTelemetry's conventions for generative AI (L7). They hold no text of messages.

use hermes_core::{ChatReply, ModelInfo, SessionId};
use tracing::field::Empty;
use tracing::{Span, info_span};

/// One turn.
pub(crate) fn turn_span(session: SessionId) -> Span {
    info_span!(
        "invoke_agent",
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.conversation.id" = %session,
        "hermes.tokens.system" = Empty,
        "hermes.tokens.tools" = Empty,
        "hermes.tokens.summary" = Empty,
        "hermes.tokens.history" = Empty,
        "hermes.tokens.memory" = Empty,
        "hermes.tokens.current" = Empty,
    )
}

/// One model request.
pub(crate) fn chat_span(info: &ModelInfo) -> Span {
    info_span!(
        "chat",
        "gen_ai.operation.name" = "chat",
        "gen_ai.provider.name" = %info.provider,
        "gen_ai.request.model" = %info.id,
        "gen_ai.usage.input_tokens" = Empty,
        "gen_ai.usage.output_tokens" = Empty,
        "gen_ai.response.finish_reasons" = Empty,
    )
}

/// Adds to a request's span what its answer cost and why it ended.
pub(crate) fn record_reply(span: &Span, reply: &ChatReply) {
    if let Some(usage) = reply.usage {
        span.record("gen_ai.usage.input_tokens", usage.input + usage.cache_read + usage.cache_write);
        span.record("gen_ai.usage.output_tokens", usage.output + usage.reasoning);
    }
    if let Some(finish) = reply.finish {
        span.record("gen_ai.response.finish_reasons", tracing::field::debug(finish));
    }
}
