//! Showing a turn while it goes on.

use hermes::agent::{AgentEvent, StopReason};
use hermes::core::text_of;

use crate::error::Error;
use crate::output::Output;

/// How much of a result is shown.
const RESULT_CHARS: usize = 200;

pub(crate) struct Show {
    out: Output,
    in_text: bool,
}

impl Show {
    pub(crate) fn new(out: Output) -> Self {
        Self { out, in_text: false }
    }

    pub(crate) fn event(&mut self, event: &AgentEvent) -> Result<(), Error> {
        self.out.event(event)?;
        match event {
            AgentEvent::Text { delta } => {
                self.in_text = true;
                self.out.piece(delta)
            }
            AgentEvent::ToolCall { call } => self.beside(&format!("→ {}({})", call.name, call.arguments)),
            AgentEvent::ToolResult { result } => {
                let text: String = text_of(&result.content).chars().take(RESULT_CHARS).collect();
                self.beside(&format!("← {text}"))
            }
            AgentEvent::Recalled { items, trouble, .. } => {
                for item in items {
                    self.beside(&format!("remembered: {}", item.content))?;
                }
                trouble.as_ref().map_or(Ok(()), |trouble| self.beside(trouble))
            }
            AgentEvent::Learned { written, trouble } => {
                for line in written {
                    self.beside(&format!("memory, {line}"))?;
                }
                trouble.as_ref().map_or(Ok(()), |trouble| self.beside(&format!("memory: {trouble}")))
            }
            AgentEvent::Restarted { reason, model } => {
                self.beside(&format!("{reason}; asking {model} again"))
            }
            AgentEvent::Notice { text } => self.beside(text),
            AgentEvent::ApprovalNeeded { tool, arguments, reason, .. } => {
                self.beside(&format!("waits for approval: {tool}({arguments}): {reason}"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn end(&mut self, stop: StopReason) -> Result<(), Error> {
        self.break_line()?;
        let why = match stop {
            StopReason::Answered => return Ok(()),
            StopReason::Length => "the answer reached its most tokens",
            StopReason::ContentFilter => "the service held the answer back",
            StopReason::MaxSteps => "stopped after the most steps of a turn",
            StopReason::MaxTime => "stopped after the most time of a turn",
            StopReason::Loop => "stopped: the model kept making the same call",
            StopReason::Suspended => "the turn waits for approval",
            StopReason::Cancelled => "stopped",
            _ => "the turn has ended",
        };
        self.out.aside(&format!("({why})"))
    }

    /// The turn has failed: what has been shown of the answer gets its line end.
    pub(crate) fn broken_off(&mut self) -> Result<(), Error> {
        self.break_line()
    }

    /// A line that stands beside the answer.
    fn beside(&mut self, text: &str) -> Result<(), Error> {
        self.break_line()?;
        self.out.aside(text)
    }

    fn break_line(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.in_text) { self.out.piece("\n") } else { Ok(()) }
    }
}
