//! The ledger: side effects that were carried out in a session, for when their messages have left the context (L3).
//!
//! It is derived from the log and can be made anew at any time; the state store keeps how far it was read, so that a turn
//! reads only what came since.

use std::collections::{HashMap, VecDeque};

use hermes_core::{
    Body, CallId, Effect, Expected, IdempotencyKey, Limit, LogQuery, Message, NewState, Seq, StateKey,
    StateStore, StoreError,
};
use hermes_session::Session;
use hermes_text::Language;
use hermes_tools::ToolRegistry;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Error;

const NAMESPACE: &str = "hermes.ledger";
/// The most characters of arguments that a line keeps.
const ARGUMENT_CHARS: usize = 160;
/// The most entries that are kept; older ones are those of a session that has done more than anyone will ask about.
const ENTRIES: usize = 500;

/// The side effects of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    through: Seq,
    entries: Vec<LedgerEntry>,
    /// Journal entries of the last step whose result has not been seen: some models give one id to several calls.
    open: HashMap<CallId, VecDeque<Begun>>,
}

/// A call that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Begun {
    tool: String,
    arguments: String,
    key: Option<IdempotencyKey>,
}

/// One effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LedgerEntry {
    /// Where its result stands.
    seq: Seq,
    tool: String,
    arguments: String,
    /// What makes a repeat of it the same effect.
    key: Option<IdempotencyKey>,
    /// Whether it is known to have happened.
    known: bool,
}

impl Ledger {
    /// The ledger up to the last message of the log.
    pub(crate) async fn load(
        session: &Session,
        tools: &ToolRegistry,
        state: Option<&dyn StateStore>,
        at: Timestamp,
    ) -> Result<Self, Error> {
        let key = StateKey::new(NAMESPACE, session.id().to_string());
        // An entry that cannot be read is made anew from the log.
        let stored = match state {
            Some(state) => state.get(session.owner(), &key).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the ledger could not be read, and is made anew");
                None
            }),
            None => None,
        };
        let mut ledger: Self = stored.and_then(|entry| entry.value.read().ok()).unwrap_or_default();
        let before = ledger.through;
        loop {
            let page = session.history(&LogQuery::forward(ledger.through.next(), Limit::MAX)).await?;
            for message in &page.messages {
                ledger.take(message, tools);
            }
            if !page.more {
                break;
            }
        }
        if let (Some(state), true) = (state, ledger.through > before)
            && let Err(error) = ledger.store(session, state, &key, at).await
        {
            tracing::warn!(%error, "the ledger could not be stored; the next turn reads as far again");
        }
        Ok(ledger)
    }

    async fn store(
        &self,
        session: &Session,
        state: &dyn StateStore,
        key: &StateKey,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let Ok(value) = hermes_core::JsonText::of(self) else { return Ok(()) };
        let new = NewState { value, session: Some(session.id()), at, expires: None };
        state.put(session.owner(), key, &new, Expected::Any).await.map(|_| ())
    }

    fn take(&mut self, message: &Message, tools: &ToolRegistry) {
        self.through = message.seq();
        match message.body() {
            // Ids are told apart within a step only.
            Body::Assistant { .. } => self.open.clear(),
            Body::CallStarted(started) if has_effect(tools, &started.tool) => {
                let arguments = hermes_text::mask_secrets(started.arguments.as_str()).into_owned();
                let arguments = hermes_text::truncate_chars(&arguments, ARGUMENT_CHARS).into_owned();
                let (tool, key) = (started.tool.clone(), started.key.clone());
                let begun = Begun { tool, arguments, key };
                self.open.entry(started.call.clone()).or_default().push_back(begun);
            }
            Body::ToolResult(result) => {
                let begun = self.open.get_mut(&result.call).and_then(VecDeque::pop_front);
                let Some(Begun { tool, arguments, key }) = begun else { return };
                let known = match result.failure {
                    None => true,
                    Some(hermes_core::FailureKind::OutcomeUnknown) => false,
                    Some(_) => return,
                };
                // A repeat that the record answered is the effect that is there already.
                if result.report.from_record
                    && key.is_some()
                    && self.entries.iter().any(|entry| entry.key == key)
                {
                    return;
                }
                self.entries.push(LedgerEntry { seq: message.seq(), tool, arguments, key, known });
                let surplus = self.entries.len().saturating_sub(ENTRIES);
                self.entries.drain(..surplus);
            }
            _ => {}
        }
    }

    /// The text for a context whose first whole message is `first`: effects whose messages it does not hold, at most `lines`, newest last.
    pub(crate) fn block(&self, first: Option<Seq>, lines: usize, language: Language) -> Option<String> {
        let trimmed: Vec<_> =
            self.entries.iter().filter(|entry| first.is_none_or(|first| entry.seq < first)).collect();
        if trimmed.is_empty() || lines == 0 {
            return None;
        }
        let mut text = match language {
            Language::English => {
                "Already done earlier in this session; do not do it again unless the user asks for it anew:"
                    .to_owned()
            }
            Language::Chinese => "本次会话中已完成的操作；除非用户再次要求，否则不要重复执行：".to_owned(),
        };
        let skipped = trimmed.len().saturating_sub(lines);
        for entry in trimmed.into_iter().skip(skipped) {
            let state = match (entry.known, language) {
                (true, _) => "ok",
                (false, Language::English) => "outcome unknown",
                (false, Language::Chinese) => "结果未知",
            };
            text.push_str(&format!("\n- {}({}): {state}", entry.tool, entry.arguments));
        }
        Some(text)
    }
}

/// A tool that is gone counts as one that had effects.
fn has_effect(tools: &ToolRegistry, name: &str) -> bool {
    tools.spec(name).is_none_or(|spec| spec.effect == Effect::SideEffect)
}
