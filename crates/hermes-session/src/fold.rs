//! Folding: what leaves the window enters the summary (S4).

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::clock::later;
use hermes_core::{
    ContextMetadata, Message, ModelError, Role, Summarizer, Summary, SummaryOrigin, SummaryRequest,
    SummarySubject, TokenCount, TokenCounter, Tokens,
};
use hermes_text::{Language, head_tail};
use jiff::Timestamp;

use crate::anchor::merge_anchors;
use crate::config::SessionConfig;
use crate::digest::{digest, transcript};

/// The summary by rule of the summary so far and of further turns; nothing when there are neither.
///
/// It asks no clock: it is as old as the last message that it covers, so that the same turns always give the same summary.
pub(crate) fn stand_in(
    previous: Option<&Summary>,
    turns: &[&[Arc<Message>]],
    config: &SessionConfig,
    counter: &dyn TokenCounter,
) -> Option<Summary> {
    let Some(last) = turns.last().and_then(|turn| turn.last()) else { return previous.cloned() };
    let text = digest(
        previous.map(|summary| summary.text.as_str()),
        turns,
        language_of(previous, turns),
        config.summary_max,
        counter,
    );
    Some(finish(text, SummaryOrigin::Digest, previous, turns, last, config, counter))
}

fn finish(
    text: String,
    origin: SummaryOrigin,
    previous: Option<&Summary>,
    turns: &[&[Arc<Message>]],
    last: &Message,
    config: &SessionConfig,
    counter: &dyn TokenCounter,
) -> Summary {
    let known = previous.map_or(&[][..], |summary| &summary.anchors);
    let folded = turns.iter().copied().flatten().map(AsRef::as_ref);
    let anchors = merge_anchors(known, folded, config.anchors_max, counter);
    let tokens = counter.count(&text) + anchors.iter().map(|anchor| counter.count(anchor)).sum();
    Summary {
        text,
        anchors,
        through: last.seq(),
        origin,
        tokens: Some(TokenCount { tokens, counter: counter.id().clone() }),
        created: last.created(),
    }
}

/// The language that the user writes in the turns that fold, or that of the summary so far.
fn language_of(previous: Option<&Summary>, turns: &[&[Arc<Message>]]) -> Language {
    let said = turns.iter().copied().flatten().filter(|message| message.role() == Role::User);
    let said: String = said.map(|message| message.text() + "\n").collect();
    if said.trim().is_empty() {
        hermes_text::lang::guess(previous.map_or("", |summary| &summary.text))
    } else {
        hermes_text::lang::guess(&said)
    }
}

/// Why a summariser's answer was not used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("the model failed")]
    Failed(#[from] ModelError),
    #[error("it said nothing")]
    Empty,
    #[error("it was longer than what it stands for")]
    LongerThanInput,
    #[error("it was more than twice as long as allowed")]
    FarTooLong,
    #[error("the turns are too long for it")]
    InputTooLong,
    #[error("it failed a short while ago")]
    CoolingDown,
}

/// Folds turns into the summary: by the model where there is one that works, by rule otherwise; and notes failures, so that a model that fails
/// is left alone for a while. Never fails itself.
pub(crate) async fn fold(
    mut context: ContextMetadata,
    turns: &[&[Arc<Message>]],
    summarizer: Option<&dyn Summarizer>,
    config: &SessionConfig,
    counter: &dyn TokenCounter,
    now: Timestamp,
) -> ContextMetadata {
    let previous = context.summary.take();
    let mut written = None;
    if let Some(summarizer) = summarizer {
        match ask(summarizer, &context, previous.as_ref(), turns, config, counter, now).await {
            Ok(text) => {
                written = Some(text);
                context.fold_failures = 0;
                context.fold_retry_at = None;
            }
            Err(why @ (Unusable::CoolingDown | Unusable::InputTooLong)) => {
                tracing::debug!(%why, "folding by digest")
            }
            Err(why) => {
                context.fold_failures = context.fold_failures.saturating_add(1);
                let (failures, cause) = (context.fold_failures, why.source().map(ToString::to_string));
                tracing::warn!(%why, cause, failures, "the summariser is of no use, folding by digest");
                context.fold_retry_at =
                    Some(later(now, cooldown(config.fold_cooldown, context.fold_failures)));
            }
        }
    }
    let last = turns.last().and_then(|turn| turn.last());
    let before = previous.as_ref().map_or(Tokens::ZERO, summary_tokens);
    context.summary = match (written, last) {
        (Some(text), Some(last)) => {
            Some(finish(text, SummaryOrigin::Model, previous.as_ref(), turns, last, config, counter))
        }
        _ => stand_in(previous.as_ref(), turns, config, counter),
    };
    if let Some(summary) = &mut context.summary {
        summary.created = now;
        let gone = turns.iter().copied().flatten().filter_map(|message| message.tokens());
        let gone: Tokens = gone.map(|count| count.tokens).sum();
        let saved = context.trimmed.unwrap_or_default() + before + gone;
        context.trimmed = Some(saved.saturating_sub(summary_tokens(summary)));
    }
    context
}

fn summary_tokens(summary: &Summary) -> Tokens {
    summary.tokens.as_ref().map_or(Tokens::ZERO, |count| count.tokens)
}

/// Doubled with each failure after the first, up to 64 times.
fn cooldown(base: Duration, failures: u32) -> Duration {
    base.saturating_mul(1 << failures.saturating_sub(1).min(6))
}

async fn ask(
    summarizer: &dyn Summarizer,
    context: &ContextMetadata,
    previous: Option<&Summary>,
    turns: &[&[Arc<Message>]],
    config: &SessionConfig,
    counter: &dyn TokenCounter,
    now: Timestamp,
) -> Result<String, Unusable> {
    if context.fold_retry_at.is_some_and(|at| now < at) {
        return Err(Unusable::CoolingDown);
    }
    let text = transcript(turns, language_of(previous, turns));
    let previous = previous.map(|summary| summary.text.clone());
    let input = counter.count(&text) + previous.as_deref().map_or(Tokens::ZERO, |text| counter.count(text));
    if input > config.summary_input_max {
        return Err(Unusable::InputTooLong);
    }
    let request =
        SummaryRequest { previous, text, subject: SummarySubject::Conversation, max: config.summary_max };
    let answer = summarizer.summarize(request).await?;
    usable(answer.trim(), input, config.summary_max, counter)
}

/// A summary that says nothing, is no shorter than what it stands for, or overruns its measure more than twice is not used; one that overruns it
/// a little is cut.
fn usable(answer: &str, input: Tokens, max: Tokens, counter: &dyn TokenCounter) -> Result<String, Unusable> {
    if answer.is_empty() {
        return Err(Unusable::Empty);
    }
    let tokens = counter.count(answer);
    if tokens > input {
        return Err(Unusable::LongerThanInput);
    }
    if tokens > max + max {
        return Err(Unusable::FarTooLong);
    }
    let limit = usize::try_from(max.get()).unwrap_or(usize::MAX);
    let measure = |text: &str| usize::try_from(counter.count(text).get()).unwrap_or(usize::MAX);
    Ok(head_tail(answer, limit, measure, |_| "\n[…]\n".to_owned()).text)
}

#[cfg(test)]
mod tests;
