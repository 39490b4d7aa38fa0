//! The demo's trace: each link of the task as it happens.

use hermes::agent::{AgentEvent, RequestTokens};
use hermes::core::{ChatMessage, ChatRequest, TokenCounter, ToolResult, text_of};
use hermes::tiktoken::TiktokenCounter;
use serde_json::{Value, json};

use crate::error::Error;
use crate::output::Output;

/// Shows the events of one turn.
pub(crate) struct Trace {
    out: Output,
    whole: bool,
    in_text: bool,
    requests: usize,
    /// What the turn's requests were made of, each with its answer (L4).
    tokens: RequestTokens,
}

impl Trace {
    pub(crate) fn new(out: Output, whole: bool) -> Self {
        Self { out, whole, in_text: false, requests: 0, tokens: RequestTokens::default() }
    }

    pub(crate) fn said(&self, text: &str) -> Result<(), Error> {
        self.out.event(&json!({ "event": "said", "text": text }))?;
        if self.whole { self.out.line(&format!("   user: {text}")) } else { Ok(()) }
    }

    pub(crate) fn event(&mut self, event: &AgentEvent) -> Result<(), Error> {
        self.out.event(event)?;
        match event {
            AgentEvent::Request { tokens, .. } => self.tokens = self.tokens.plus(*tokens),
            AgentEvent::Answered { text } => {
                self.tokens.answer = self.tokens.answer + TiktokenCounter::o200k().count(text)
            }
            _ => {}
        }
        if !self.whole || self.out == Output::Json {
            return Ok(());
        }
        if self.in_text && !matches!(event, AgentEvent::Text { .. }) {
            self.in_text = false;
            self.out.piece("\n")?;
        }
        self.story(event)
    }

    fn story(&mut self, event: &AgentEvent) -> Result<(), Error> {
        let out = self.out;
        match event {
            AgentEvent::Recalled { items, trouble, elapsed_us } => {
                if items.is_empty() && trouble.is_none() {
                    out.aside("   memory: nothing to recall")?;
                }
                for item in items {
                    let kind = format!("{:?}", item.kind).to_lowercase();
                    out.line(&format!("   memory: {} [{kind}]", item.content))?;
                    out.aside(&format!(
                        "           score {:.2}, passed by {}, {elapsed_us} µs, record {}",
                        item.score, item.why, item.id
                    ))?;
                }
                match trouble {
                    Some(trouble) => out.line(&format!("   memory: {trouble}")),
                    None => Ok(()),
                }
            }
            AgentEvent::Request { step, tokens, tools, explanation, .. } => {
                out.line(&format!("   request {step}, tools offered: {}", tools.join(", ")))?;
                if *step == 1 {
                    indent(out, &explanation.to_string())?;
                }
                out.aside(&format!("     with the tools' schemas: {} tokens", tokens.total()))
            }
            AgentEvent::Text { delta } => {
                if !self.in_text {
                    self.in_text = true;
                    out.piece("   assistant: ")?;
                }
                out.piece(delta)
            }
            AgentEvent::ToolCall { call } => {
                out.line(&format!("   the model calls {}({})", call.name, call.arguments))
            }
            AgentEvent::CallStarted { tool, arguments, filled, repaired, .. } => {
                for filled in filled {
                    out.line(&format!(
                        "     checked: {} was missing; memory {} supplied {}",
                        filled.pointer, filled.memory, filled.value
                    ))?;
                }
                if filled.is_empty() {
                    out.aside("     checked: the arguments fit the contract")?;
                }
                for repair in repaired {
                    out.line(&format!("     repaired: {repair}"))?;
                }
                out.aside(&format!("     written to the log, then run: {tool}({arguments})"))
            }
            AgentEvent::ToolResult { result } => out.line(&format!("     → {}", summary(result))),
            AgentEvent::Learned { written, trouble } => {
                for line in written {
                    out.line(&format!("   learned: {line}"))?;
                }
                match trouble {
                    Some(trouble) => out.line(&format!("   learning: {trouble}")),
                    None => Ok(()),
                }
            }
            AgentEvent::Notice { text } => out.line(&format!("   notice: {text}")),
            _ => Ok(()),
        }
    }

    /// Shows a request as the model got it, once.
    pub(crate) fn sent(&mut self, request: Option<ChatRequest>) -> Result<(), Error> {
        let Some(request) = request else { return Ok(()) };
        let messages: Vec<Value> = request
            .messages
            .iter()
            .map(|message| serde_json::to_value(message.as_ref()).unwrap_or_default())
            .collect();
        if messages.len() == self.requests {
            return Ok(());
        }
        self.requests = messages.len();
        self.out.event(&json!({ "event": "sent", "messages": messages }))?;
        if !self.whole {
            return Ok(());
        }
        beside(&request).into_iter().try_for_each(|block| {
            self.out.aside("   beside the user's message stands:")?;
            indent(self.out, &block)
        })
    }

    /// Shows what the turn's requests were made of, and gives it.
    pub(crate) fn end(self) -> Result<RequestTokens, Error> {
        if self.whole {
            self.out.aside("   the tokens of this turn's requests and its answer:")?;
            indent(self.out, &self.tokens.to_string())?;
        }
        Ok(self.tokens)
    }
}

fn summary(result: &ToolResult) -> String {
    let text = text_of(&result.content);
    let took = format!(
        "{:.1} ms",
        std::time::Duration::from_micros(result.report.duration_us).as_secs_f64() * 1_000.0
    );
    let attempts = result.report.attempts;
    format!("{} ({took}, attempts: {attempts})", text.chars().take(300).collect::<String>())
}

/// What stands beside the user's message: recalled memories, the ledger.
fn beside(request: &ChatRequest) -> Vec<String> {
    let Some(ChatMessage::User { content }) = request.messages.last().map(AsRef::as_ref) else {
        return Vec::new();
    };
    let texts: Vec<&str> = content.iter().filter_map(|part| part.as_text()).collect();
    texts
        .split_last()
        .map(|(_said, blocks)| blocks.iter().map(|block| (*block).to_owned()).collect())
        .unwrap_or_default()
}

pub(crate) fn indent(out: Output, text: &str) -> Result<(), Error> {
    text.lines().try_for_each(|line| out.aside(&format!("     {line}")))
}
