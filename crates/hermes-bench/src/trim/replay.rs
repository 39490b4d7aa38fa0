//! One log, replayed through a session as an agent would have had it.

use std::sync::Arc;

use hermes_core::{ChatMessage, Owner, Tokens, text_of};
use hermes_session::{Budget, Context, ContextSpec, Error as SessionError, Sessions};

use crate::error::Error;
use crate::trim::check::{Counted, orphans};
use crate::trim::log::Log;

/// What one request was like.
#[derive(Debug)]
pub(crate) struct Request {
    /// The turn it belongs to, from 0.
    pub(crate) turn: usize,
    /// The tokens of everything before it.
    pub(crate) full: u64,
    /// The tokens that were sent.
    pub(crate) tokens: u64,
    /// Calls without their result and results without their call.
    pub(crate) orphans: usize,
    /// More tokens than the budget, or no context at all.
    pub(crate) over_budget: bool,
    /// Turns were folded for it.
    pub(crate) folded: bool,
    /// Which share of the previous request's bytes it begins with; `None` for the first one.
    pub(crate) prefix: Option<f64>,
    /// All texts that were sent.
    pub(crate) text: String,
}

/// Replays a log in a session of its own and gives what each of its requests was like.
pub(crate) async fn replay(
    sessions: &Sessions,
    owner: &Owner,
    log: &Log,
    budget: Tokens,
) -> Result<Vec<Request>, Error> {
    let session = sessions.create(owner, "trim").await?;
    let spec = ContextSpec::new(Budget::from(budget)).with_system(log.system.as_str());
    let mut counted = Counted::default();
    let mut requests = Vec::new();
    let mut before: Option<String> = None;
    let (mut full, mut turns) = (log.system_tokens, 0_usize);
    let mut waiting = Vec::new();
    for (at, entry) in log.entries.iter().enumerate() {
        if entry.is_assistant() && at > 0 {
            session.append_all(std::mem::take(&mut waiting)).await?;
            let turn = turns.saturating_sub(1);
            requests.push(match session.context(&spec).await {
                Ok(context) => {
                    let bytes = bytes_of(context.messages())?;
                    let prefix = before.as_ref().map(|old| shared(old, &bytes));
                    before = Some(bytes);
                    look(&context, &mut counted, turn, full, budget, prefix)
                }
                Err(SessionError::Budget(_)) => Request {
                    turn,
                    full,
                    tokens: full,
                    orphans: 0,
                    over_budget: true,
                    folded: false,
                    prefix: None,
                    text: String::new(),
                },
                Err(error) => return Err(error.into()),
            });
        }
        turns += usize::from(entry.is_user());
        full += entry.tokens;
        waiting.push(entry.message.clone());
    }
    Ok(requests)
}

fn look(
    context: &Context,
    counted: &mut Counted,
    turn: usize,
    full: u64,
    budget: Tokens,
    prefix: Option<f64>,
) -> Request {
    let messages = context.messages();
    let tokens = messages.iter().map(|message| counted.message(message)).sum();
    Request {
        turn,
        full,
        tokens,
        orphans: orphans(messages),
        over_budget: tokens > u64::from(budget.get()),
        folded: context.folded(),
        prefix,
        text: messages.iter().map(|message| said(message)).collect::<Vec<_>>().join("\n"),
    }
}

/// What a message says, the arguments of its calls included.
fn said(message: &ChatMessage) -> String {
    let mut text = text_of(message.content());
    if let ChatMessage::Assistant { calls, .. } = message {
        for call in calls {
            text.push('\n');
            text.push_str(&call.arguments);
        }
    }
    text
}

/// The bytes of a request.
fn bytes_of(messages: &[Arc<ChatMessage>]) -> Result<String, Error> {
    let lines: Vec<String> =
        messages.iter().map(|message| serde_json::to_string(message.as_ref())).collect::<Result<_, _>>()?;
    Ok(lines.join("\n"))
}

/// The share of the old request's bytes that the new one begins with.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more than a float holds")]
fn shared(old: &str, new: &str) -> f64 {
    let same = old.bytes().zip(new.bytes()).take_while(|(one, other)| one == other).count();
    same as f64 / old.len().max(1) as f64
}
