//! Long outputs: head and tail go into the context, the whole becomes an artifact (T10).

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use hermes_core::{ArtifactHandle, ArtifactId, CallContext, NewArtifact, Seq, SessionId, ToolOutput};
use serde_json::Value;

use crate::config::ToolConfig;
use crate::feedback::Wording;
use crate::registry::Settings;

/// What outputs of a turn have taken so far, so that many calls together cannot flood the context where each keeps its limit.
#[derive(Debug, Default)]
pub(crate) struct TurnOutputs(Mutex<VecDeque<TurnOutput>>);

#[derive(Debug)]
struct TurnOutput {
    session: SessionId,
    turn: Seq,
    tokens: usize,
}

/// How many turns are remembered at once; the oldest is forgotten beyond it.
const TURNS: usize = 1_024;

/// What an output gets however much came before it in its turn: enough for a preview and the handle of the whole.
const AT_LEAST: usize = 200;

/// How many bytes count as one token here: the sum needs no exact count, see the registry's own estimate.
const BYTES_A_TOKEN: usize = 3;

impl TurnOutputs {
    /// How many tokens the next output of a turn may have.
    pub(crate) fn limit(&self, context: &CallContext, config: &ToolConfig) -> usize {
        let each = usize::try_from(config.result_tokens).unwrap_or(usize::MAX);
        let total = usize::try_from(config.turn_tokens).unwrap_or(usize::MAX);
        let turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = turns.iter().find(|turn| turn.is(context)).map_or(0, |turn| turn.tokens);
        each.min(total.saturating_sub(used).max(AT_LEAST))
    }

    /// Counts an output.
    pub(crate) fn add(&self, context: &CallContext, output: &Value) {
        let bytes = match output {
            Value::String(text) => text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => return,
            other => other.to_string().len(),
        };
        let tokens = bytes.div_ceil(BYTES_A_TOKEN);
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A new turn of the session ends the one before.
        turns.retain(|turn| turn.session != context.session || turn.turn == context.turn);
        match turns.iter_mut().find(|turn| turn.is(context)) {
            Some(turn) => turn.tokens = turn.tokens.saturating_add(tokens),
            None => turns.push_back(TurnOutput { session: context.session, turn: context.turn, tokens }),
        }
        if turns.len() > TURNS {
            turns.pop_front();
        }
    }
}

impl TurnOutput {
    fn is(&self, context: &CallContext) -> bool {
        self.session == context.session && self.turn == context.turn
    }
}

/// An output as it enters the context.
#[derive(Debug)]
pub(crate) struct Shortened {
    pub(crate) value: Value,
    pub(crate) truncated: bool,
    pub(crate) artifact: Option<ArtifactId>,
}

/// Shortens an output to `limit` tokens. The whole is kept where there is a store for it; where keeping it fails, the
/// preview says that it was not kept, and the call still succeeds.
pub(crate) async fn shorten(
    settings: &Settings,
    wording: Wording,
    tool: &str,
    context: &CallContext,
    output: &ToolOutput,
    limit: usize,
) -> Shortened {
    let measure = |text: &str| settings.count(&in_result(text));
    // A text stands in the result with its quotes escaped; other JSON stands there as it is, until it is cut and becomes a text.
    let (text, exceeds) = match &output.value {
        Value::String(text) => (text.clone(), exceeds(text, limit, &measure)),
        other => {
            let text = other.to_string();
            let exceeds = exceeds(&text, limit, &|text| settings.count(text));
            (text, exceeds)
        }
    };
    if !exceeds {
        return keep_raw(settings, wording, tool, context, output, &text, limit).await;
    }
    let artifact = store(settings, tool, context, output.raw.as_deref().unwrap_or(&text)).await;
    let handle = artifact.map(|id| ArtifactHandle::Artifact(id).to_string());
    let of = text.chars().count();
    let cut =
        hermes_text::head_tail(&text, limit, measure, |omitted| wording.cut(omitted, of, handle.as_deref()));
    Shortened { value: Value::String(cut.text), truncated: true, artifact }
}

/// An output that fits and says that it is a shorter form of something: that something is kept. The model is told where it would not
/// have fitted itself.
async fn keep_raw(
    settings: &Settings,
    wording: Wording,
    tool: &str,
    context: &CallContext,
    output: &ToolOutput,
    text: &str,
    limit: usize,
) -> Shortened {
    let fitting = |value, truncated, artifact| Shortened { value, truncated, artifact };
    let Some(raw) = &output.raw else { return fitting(output.value.clone(), false, None) };
    let artifact = store(settings, tool, context, raw).await;
    match artifact {
        Some(id) if exceeds(raw, limit, &|text| settings.count(text)) => {
            let line = wording.kept(&ArtifactHandle::Artifact(id).to_string());
            fitting(Value::String(format!("{text}{line}")), true, artifact)
        }
        _ => fitting(output.value.clone(), false, artifact),
    }
}

/// The text of a failure, held to the length of feedback.
pub(crate) fn shorten_error(settings: &Settings, text: &str) -> String {
    let limit = usize::try_from(settings.config.feedback_tokens).unwrap_or(usize::MAX);
    hermes_text::head_tail(text, limit, |text| settings.count(text), |omitted| format!(" [… {omitted} …] "))
        .text
}

async fn store(settings: &Settings, tool: &str, context: &CallContext, whole: &str) -> Option<ArtifactId> {
    let artifacts = settings.artifacts.as_ref()?;
    let kept = hermes_text::truncate_bytes(whole, settings.config.artifact_bytes);
    if kept.len() < whole.len() {
        tracing::warn!(
            tool,
            bytes = whole.len(),
            kept = kept.len(),
            "an output is too long to be kept whole"
        );
    }
    let artifact = NewArtifact {
        media_type: "text/plain; charset=utf-8".to_owned(),
        name: format!("output of {tool}"),
        bytes: kept.as_bytes().to_vec(),
        created: settings.clock.now(),
        expires: None,
    };
    match artifacts.put(&context.owner, context.session, artifact).await {
        Ok(record) => Some(record.id),
        Err(error) => {
            tracing::warn!(tool, %error, "the whole of an output could not be kept");
            None
        }
    }
}

/// Whether a text measures more than `limit`, without measuring all of a very long one: few tokens have more than eight bytes.
fn exceeds(text: &str, limit: usize, measure: &dyn Fn(&str) -> usize) -> bool {
    let head = hermes_text::truncate_bytes(text, limit.saturating_mul(8));
    (head.len() < text.len() && measure(head) > limit) || measure(text) > limit
}

/// A text as it stands inside a result's JSON: what is counted is what is sent.
fn in_result(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
