//! Pair integrity: each call is followed by exactly its results (S8).
//!
//! Providers refuse a request in which a call lacks its result, a result lacks its call, or something stands between them; one such
//! message would close a session for ever. [`repair`] makes any sequence sendable, changes nothing in one that is, and gives the
//! same bytes for the same calls every time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hermes_core::{CallId, ChatMessage, ContentPart, ToolCall};

/// Something that stands for a message of a context.
pub(crate) trait Paired: Sized {
    fn chat(&self) -> &ChatMessage;

    /// The same with its calls' ids changed.
    fn with_chat(self, chat: ChatMessage) -> Self;

    /// An explanatory result for a call of this step.
    fn explained(&self, chat: ChatMessage) -> Self;
}

impl Paired for Arc<ChatMessage> {
    fn chat(&self) -> &ChatMessage {
        self
    }

    fn with_chat(self, chat: ChatMessage) -> Self {
        Self::new(chat)
    }

    fn explained(&self, chat: ChatMessage) -> Self {
        Self::new(chat)
    }
}

/// What a repair left out or put in, for the explanation.
#[derive(Debug)]
pub(crate) struct Repaired<T> {
    pub(crate) messages: Vec<T>,
    pub(crate) orphans: Vec<T>,
}

/// Makes every call be followed by exactly its results, in call order, with nothing in between.
///
/// - A result belongs to the latest step before it that has a call of its id; within the step to the first such call without a result.
///   So a provider that repeats ids does not confuse the pairing.
/// - A call without a result gets an explanatory one. Its text depends only on the call, and on whether `pending` says that the call is
///   still running.
/// - A result that answers no call, or one that is answered already, is left out.
/// - An id that an earlier call of the sequence has is made its own (`id~2`), in call and result alike, since providers want ids that differ.
///
/// Repairing twice is the same as repairing once.
#[must_use]
pub fn repair(messages: Vec<Arc<ChatMessage>>, pending: &HashSet<CallId>) -> Vec<Arc<ChatMessage>> {
    repair_all(messages, pending).messages
}

/// A step's calls, and where they are answered.
struct Step {
    at: usize,
    results: Vec<Option<usize>>,
}

pub(crate) fn repair_all<T: Paired>(messages: Vec<T>, pending: &HashSet<CallId>) -> Repaired<T> {
    if is_paired(&messages) {
        return Repaired { messages, orphans: Vec::new() };
    }
    let mut steps = match_results(&messages).into_iter().peekable();
    let mut slots: Vec<Option<T>> = messages.into_iter().map(Some).collect();
    let mut ids = Ids::default();
    let (mut out, mut orphans) = (Vec::with_capacity(slots.len()), Vec::new());
    for at in 0..slots.len() {
        let step = steps.next_if(|step| step.at == at);
        let Some(message) = take(&mut slots, at) else { continue };
        let Some(step) = step else {
            if matches!(message.chat(), ChatMessage::Tool { .. }) {
                orphans.push(message)
            } else {
                out.push(message)
            }
            continue;
        };
        let calls = message.chat().calls().to_vec();
        let sent: Vec<CallId> = calls.iter().map(|call| ids.own(&call.id)).collect();
        let mut answers = Vec::with_capacity(calls.len());
        for ((call, id), result) in calls.iter().zip(&sent).zip(step.results) {
            answers.push(match result.and_then(|at| take(&mut slots, at)) {
                Some(result) => with_result_id(result, id),
                None => message.explained(explanation(call, id.clone(), pending.contains(&call.id))),
            });
        }
        out.push(with_call_ids(message, sent));
        out.extend(answers);
    }
    Repaired { messages: out, orphans }
}

fn take<T>(slots: &mut [Option<T>], at: usize) -> Option<T> {
    slots.get_mut(at).and_then(Option::take)
}

/// Whether a sequence can be sent as it is: each step is followed by exactly its results in call order, and no call's id comes twice.
#[must_use]
pub fn paired(messages: &[Arc<ChatMessage>]) -> bool {
    is_paired(messages)
}

fn is_paired<T: Paired>(messages: &[T]) -> bool {
    let mut seen = HashSet::new();
    let mut due = [].iter();
    for message in messages {
        let chat = message.chat();
        match (due.next(), chat) {
            (Some(call), ChatMessage::Tool { call: answered, .. }) if call_id(call) == answered => continue,
            (None, ChatMessage::Tool { .. }) | (Some(_), _) => return false,
            (None, _) => {}
        }
        due = chat.calls().iter();
        if !chat.calls().iter().all(|call| seen.insert(&call.id)) {
            return false;
        }
    }
    due.next().is_none()
}

const fn call_id(call: &ToolCall) -> &CallId {
    &call.id
}

/// Which result answers which call, by position.
fn match_results<T: Paired>(messages: &[T]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    // By id, the latest step that has such a call.
    let mut latest: HashMap<&CallId, usize> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        let calls = message.chat().calls();
        if !calls.is_empty() {
            latest.extend(calls.iter().map(|call| (&call.id, steps.len())));
            steps.push(Step { at, results: vec![None; calls.len()] });
        }
        let ChatMessage::Tool { call, .. } = message.chat() else { continue };
        let Some(step) = latest.get(call).and_then(|&step| steps.get_mut(step)) else { continue };
        let calls = messages.get(step.at).map_or(&[][..], |step| step.chat().calls());
        let free =
            calls.iter().zip(&mut step.results).find(|(asked, result)| &asked.id == call && result.is_none());
        if let Some((_, result)) = free {
            *result = Some(at);
        }
    }
    steps
}

/// Gives every call an id that no other call of the context has.
#[derive(Default)]
struct Ids(HashSet<CallId>);

impl Ids {
    fn own(&mut self, id: &CallId) -> CallId {
        let mut own = id.clone();
        let mut n = 2_u64;
        while !self.0.insert(own.clone()) {
            // An id that is too long to be lengthened gives up its end.
            let head = hermes_text::truncate_bytes(id.as_str(), 200);
            own = CallId::new(format!("{head}~{n}")).unwrap_or_else(|_| own.clone());
            n += 1;
        }
        own
    }
}

fn with_result_id<T: Paired>(result: T, id: &CallId) -> T {
    let renamed = match result.chat() {
        ChatMessage::Tool { call, tool, content } if call != id => {
            ChatMessage::Tool { call: id.clone(), tool: tool.clone(), content: content.clone() }
        }
        _ => return result,
    };
    result.with_chat(renamed)
}

fn with_call_ids<T: Paired>(step: T, ids: Vec<CallId>) -> T {
    let renamed = match step.chat() {
        ChatMessage::Assistant { content, calls, provider } if calls.iter().map(call_id).ne(&ids) => {
            ChatMessage::Assistant {
                content: content.clone(),
                calls: calls.iter().zip(ids).map(|(call, id)| ToolCall { id, ..call.clone() }).collect(),
                provider: provider.clone(),
            }
        }
        _ => return step,
    };
    step.with_chat(renamed)
}

/// The result that stands for one that is missing. It says no more than is known, and its bytes depend only on the call.
fn explanation(call: &ToolCall, id: CallId, pending: bool) -> ChatMessage {
    let text = if pending {
        r#"{"success":false,"error":"this call is still running; its result is not known yet, do not repeat it"}"#
    } else {
        r#"{"success":false,"error":"this call was interrupted and its outcome is unknown: it may or may not have taken effect; check before repeating it"}"#
    };
    ChatMessage::Tool { call: id, tool: call.name.clone(), content: vec![ContentPart::Text(text.to_owned())] }
}

/// The calls of a message, if it is a step with calls.
trait Calls {
    fn calls(&self) -> &[ToolCall];
}

impl Calls for ChatMessage {
    fn calls(&self) -> &[ToolCall] {
        match self {
            Self::Assistant { calls, .. } => calls,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests;
