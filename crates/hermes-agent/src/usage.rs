//! What a request is made of (L4).

use std::fmt;

use hermes_core::{TokenCounter, Tokens, ToolSpec};
use hermes_session::Composition;
use serde::Serialize;

/// The tokens of a request by part, as the session's counter counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RequestTokens {
    /// The system prompt.
    pub system: Tokens,
    /// The schemas of the tools that are offered.
    pub tools: Tokens,
    /// The summary of folded turns, and their sticky messages.
    pub summary: Tokens,
    /// Whole turns before the current one.
    pub history: Tokens,
    /// Recalled memories, the ledger and the like beside the current message.
    pub memory: Tokens,
    /// The current turn.
    pub current: Tokens,
    /// The answer, once it is there.
    pub answer: Tokens,
}

impl RequestTokens {
    pub(crate) fn of(parts: &Composition, tools: Tokens) -> Self {
        Self {
            system: parts.system,
            tools,
            summary: parts.summary + parts.sticky,
            history: parts.history,
            memory: parts.beside,
            current: parts.current,
            answer: Tokens::ZERO,
        }
    }

    /// All parts together.
    #[must_use]
    pub fn total(&self) -> Tokens {
        self.rows().into_iter().map(|(_, tokens)| tokens).sum()
    }

    /// Part by part.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, Tokens); 7] {
        [
            ("system", self.system),
            ("tool schemas", self.tools),
            ("summary", self.summary),
            ("history", self.history),
            ("memory", self.memory),
            ("current turn", self.current),
            ("answer", self.answer),
        ]
    }

    /// Adds another request's tokens, part by part: for a session's composition.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            system: self.system + other.system,
            tools: self.tools + other.tools,
            summary: self.summary + other.summary,
            history: self.history + other.history,
            memory: self.memory + other.memory,
            current: self.current + other.current,
            answer: self.answer + other.answer,
        }
    }
}

impl fmt::Display for RequestTokens {
    /// A table of parts, tokens and shares.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total().get();
        for (name, tokens) in self.rows() {
            let share = if total == 0 { 0.0 } else { 100.0 * f64::from(tokens.get()) / f64::from(total) };
            writeln!(f, "{name:<14}{tokens:>7}{share:>6.0} %")?;
        }
        write!(f, "{:<14}{total:>7}", "total")
    }
}

/// What a tool's schema costs in a request: name, description and schema as compact JSON.
pub(crate) fn spec_tokens(spec: &ToolSpec, counter: &dyn TokenCounter) -> Tokens {
    let schema = spec.input_schema.to_string();
    // Twelve tokens stand for the JSON around a function in OpenAI's format.
    counter.count(&spec.name) + counter.count(&spec.description) + counter.count(&schema) + Tokens::new(12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_shares_of_the_whole() {
        let tokens = RequestTokens {
            system: Tokens::new(10),
            tools: Tokens::new(22),
            summary: Tokens::new(8),
            history: Tokens::new(30),
            memory: Tokens::new(6),
            current: Tokens::new(14),
            answer: Tokens::new(10),
        };
        let table = tokens.to_string();
        assert!(table.contains("tool schemas       22    22 %"), "{table}");
        assert!(table.ends_with("total             100"), "{table}");
        assert_eq!(tokens.plus(tokens).total(), Tokens::new(200));
    }
}
