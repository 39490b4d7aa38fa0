//! The trajectories: read, strung together, and with facts planted in them.

use std::collections::HashMap;
use std::path::PathBuf;

use hermes_core::{Body, CallId, CallReport, ContentPart, NewMessage, ToolCall, ToolResult};
use serde::Deserialize;
use serde_json::Value;

use crate::error::Error;

/// A log as the files have it.
#[derive(Debug, Deserialize)]
pub(crate) struct RawLog {
    id: Value,
    messages: Vec<RawMessage>,
}

#[derive(Debug, Deserialize)]
struct RawMessage {
    role: String,
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<RawCall>,
    tool_call_id: Option<String>,
    name: Option<String>,
    /// By `o200k_base`: content and calls, 4 for the message, 8 for a call.
    tokens: u32,
}

#[derive(Debug, Deserialize)]
struct RawCall {
    id: String,
    function: RawFunction,
}

#[derive(Debug, Deserialize)]
struct RawFunction {
    name: String,
    arguments: String,
}

/// A fact that is planted into long sessions.
#[derive(Debug, Deserialize)]
pub(crate) struct PlantedFact {
    pub(crate) kind: String,
    /// What the user says, and what the assistant answers.
    user: String,
    ack: String,
    /// What must still stand later on.
    pub(crate) keep: String,
}

/// A log ready to be replayed.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) id: String,
    pub(crate) system: String,
    pub(crate) system_tokens: u64,
    pub(crate) entries: Vec<Entry>,
}

/// One message of a log.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) message: NewMessage,
    pub(crate) tokens: u64,
    /// The fact that this message states.
    pub(crate) fact: Option<usize>,
}

impl Entry {
    pub(crate) fn is_user(&self) -> bool {
        matches!(self.message.body, Body::User { .. })
    }

    pub(crate) fn is_assistant(&self) -> bool {
        matches!(self.message.body, Body::Assistant { .. })
    }

    /// The same with every call id ending in `-n`, so that logs can stand behind each other.
    fn renamed(&self, n: usize) -> Self {
        let mut entry = self.clone();
        let rename = |id: &mut CallId| {
            if let Ok(renamed) = CallId::new(format!("{id}-{n}")) {
                *id = renamed;
            }
        };
        match &mut entry.message.body {
            Body::Assistant { calls, .. } => calls.iter_mut().for_each(|call| rename(&mut call.id)),
            Body::ToolResult(result) => rename(&mut result.call),
            _ => {}
        }
        entry
    }
}

impl Log {
    /// Makes messages of it.
    pub(crate) fn read(raw: RawLog) -> Result<Self, Error> {
        let id = raw.id.as_str().map_or_else(|| raw.id.to_string(), str::to_owned);
        let mut log = Self { id, system: String::new(), system_tokens: 0, entries: Vec::new() };
        let mut names = HashMap::new();
        for message in raw.messages {
            let tokens = u64::from(message.tokens);
            if message.role == "system" {
                log.system = message.content.unwrap_or_default();
                log.system_tokens = tokens;
                continue;
            }
            let message = message.into_new(&mut names).map_err(|reason| Error::Data {
                path: PathBuf::from(&log.id),
                line: log.entries.len() + 1,
                reason,
            })?;
            log.entries.push(Entry { message, tokens, fact: None });
        }
        Ok(log)
    }
}

impl RawMessage {
    /// The message as it is appended; `names` knows which tool each call asked for.
    fn into_new(self, names: &mut HashMap<String, String>) -> Result<NewMessage, String> {
        let call_id = |id: &str| CallId::new(id).map_err(|error| error.to_string());
        let text = self.content.unwrap_or_default();
        let content = if text.is_empty() { Vec::new() } else { vec![ContentPart::Text(text)] };
        Ok(NewMessage::new(match self.role.as_str() {
            "user" => Body::User { content },
            "assistant" => {
                let mut calls = Vec::with_capacity(self.tool_calls.len());
                for RawCall { id, function } in self.tool_calls {
                    names.insert(id.clone(), function.name.clone());
                    calls.push(ToolCall::new(call_id(&id)?, function.name, function.arguments));
                }
                Body::Assistant { content, calls }
            }
            "tool" => {
                let id = self.tool_call_id.unwrap_or_default();
                let tool = self.name.or_else(|| names.get(&id).cloned()).unwrap_or_default();
                let report = CallReport::default();
                Body::ToolResult(ToolResult { call: call_id(&id)?, tool, content, failure: None, report })
            }
            other => return Err(format!("nobody speaks as {other}")),
        }))
    }
}

/// Every `n` logs strung together into one session.
pub(crate) fn joined(logs: &[Log], n: usize) -> Vec<Log> {
    let strung = logs.chunks(n.max(1)).map(|chunk| {
        let entries = chunk
            .iter()
            .enumerate()
            .flat_map(|(at, log)| log.entries.iter().map(move |entry| entry.renamed(at)))
            .collect();
        together(chunk, entries)
    });
    strung.collect()
}

/// The same with facts planted: one, as a turn of its own, before each log and after the turn of every third of its user messages; the
/// facts in order, round and round.
pub(crate) fn planted(logs: &[Log], n: usize, facts: &[PlantedFact]) -> Vec<Log> {
    let mut next = (0..facts.len()).cycle();
    let strung = logs.chunks(n.max(1)).map(|chunk| {
        let mut entries = Vec::new();
        for (at, log) in chunk.iter().enumerate() {
            plant(&mut entries, facts, &mut next);
            let mut users = 0;
            for entry in &log.entries {
                if entry.is_user() {
                    if users > 0 && users % 3 == 0 {
                        plant(&mut entries, facts, &mut next);
                    }
                    users += 1;
                }
                entries.push(entry.renamed(at));
            }
            if users > 0 && users % 3 == 0 {
                plant(&mut entries, facts, &mut next);
            }
        }
        together(chunk, entries)
    });
    strung.collect()
}

fn together(chunk: &[Log], entries: Vec<Entry>) -> Log {
    let ids: Vec<&str> = chunk.iter().map(|log| log.id.as_str()).collect();
    let first = chunk.first();
    Log {
        id: ids.join("+"),
        system: first.map(|log| log.system.clone()).unwrap_or_default(),
        system_tokens: first.map_or(0, |log| log.system_tokens),
        entries,
    }
}

fn plant(entries: &mut Vec<Entry>, facts: &[PlantedFact], next: &mut impl Iterator<Item = usize>) {
    let Some((at, fact)) = next.next().and_then(|at| facts.get(at).map(|fact| (at, fact))) else { return };
    entries.push(Entry { message: NewMessage::user(fact.user.as_str()), tokens: 0, fact: Some(at) });
    entries.push(Entry { message: NewMessage::assistant(fact.ack.as_str()), tokens: 0, fact: None });
}

#[cfg(test)]
mod tests;
