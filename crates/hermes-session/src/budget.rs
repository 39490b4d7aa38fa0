//! The token budget of a context, and what happens when nothing more can give way (S6).

use std::collections::HashSet;
use std::fmt;

use hermes_core::{CallId, ModelInfo, Tokens};
use serde::{Deserialize, Serialize};

/// How many tokens the messages of one request may have: the model's window less the tools' schemas and the room for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    tokens: Tokens,
}

impl Budget {
    /// A budget of so many tokens.
    #[must_use]
    pub fn new(tokens: u32) -> Self {
        Self { tokens: Tokens::new(tokens) }
    }

    /// What a model's window leaves when `reserved` tokens go to tool schemas and the answer.
    #[must_use]
    pub fn of_model(model: &ModelInfo, reserved: Tokens) -> Self {
        Self { tokens: model.context_window.saturating_sub(reserved) }
    }

    /// The tokens.
    #[must_use]
    pub fn tokens(self) -> Tokens {
        self.tokens
    }
}

impl From<Tokens> for Budget {
    fn from(tokens: Tokens) -> Self {
        Self { tokens }
    }
}

/// A block that changes from turn to turn, such as recalled memories, a task ledger or the clock: it is fenced and put before
/// the text of the current user message, so that what stands earlier stays the same, byte for byte (S13, R7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// The name of its fence, such as `memory`: letters, digits, `_` and `-`.
    pub label: String,
    /// What it says.
    pub text: String,
}

impl Beside {
    /// Joins the two.
    #[must_use]
    pub fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), text: text.into() }
    }
}

/// Whether assembling a context may fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Folding {
    /// Turns that are due fold into the stored summary (S4).
    #[default]
    Stored,
    /// Nothing is stored and no model is asked; a digest inside the context stands for what is due. For looking only.
    Inline,
}

/// What a context is assembled for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSpec {
    /// The most tokens of all messages together.
    pub budget: Budget,
    /// The system prompt, which comes first.
    pub system: Option<String>,
    /// The provider that the context goes to: opaque data of others is left out (S7). `None` leaves all of it out.
    pub provider: Option<String>,
    /// Blocks that change from turn to turn, in order.
    pub beside: Vec<Beside>,
    /// Calls that are still running: they are neither orphans nor trimmed (S8).
    pub pending: HashSet<CallId>,
    /// Whether turns may fold into the stored summary.
    pub folding: Folding,
}

impl ContextSpec {
    /// A context of messages only.
    #[must_use]
    pub fn new(budget: impl Into<Budget>) -> Self {
        Self {
            budget: budget.into(),
            system: None,
            provider: None,
            beside: Vec::new(),
            pending: HashSet::new(),
            folding: Folding::default(),
        }
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn with_system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Says which provider the context goes to.
    #[must_use]
    pub fn with_provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// Adds a block beside the current user message; one without text is left out.
    #[must_use]
    pub fn with_beside(mut self, label: impl Into<String>, text: impl Into<String>) -> Self {
        self.beside.push(Beside::new(label, text));
        self
    }

    /// Says which calls are still running.
    #[must_use]
    pub fn with_pending(mut self, calls: impl IntoIterator<Item = CallId>) -> Self {
        self.pending.extend(calls);
        self
    }

    /// Stores nothing and asks no model.
    #[must_use]
    pub fn looking_only(mut self) -> Self {
        self.folding = Folding::Inline;
        self
    }
}

impl From<Budget> for ContextSpec {
    fn from(budget: Budget) -> Self {
        Self::new(budget)
    }
}

impl From<&Self> for ContextSpec {
    fn from(spec: &Self) -> Self {
        spec.clone()
    }
}

/// A part of a context, in the order in which the parts are sent (S13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The system prompt.
    System,
    /// The summary of folded turns, with its anchors.
    Summary,
    /// Sticky messages of folded turns.
    Sticky,
    /// Whole turns before the current one.
    History,
    /// Blocks that change from turn to turn.
    Beside,
    /// The current turn.
    Current,
}

impl Part {
    /// The part's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Summary => "summary",
            Self::Sticky => "sticky",
            Self::History => "history",
            Self::Beside => "beside",
            Self::Current => "current",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How many tokens each part of a context has (S11, L4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Composition {
    /// The system prompt.
    pub system: Tokens,
    /// The summary with its anchors.
    pub summary: Tokens,
    /// Sticky messages of folded turns.
    pub sticky: Tokens,
    /// Whole turns before the current one.
    pub history: Tokens,
    /// Blocks that change from turn to turn.
    pub beside: Tokens,
    /// The current turn.
    pub current: Tokens,
}

impl Composition {
    /// All parts together.
    #[must_use]
    pub fn total(&self) -> Tokens {
        self.iter().map(|(_, tokens)| tokens).sum()
    }

    /// Part by part, in the order in which they are sent.
    pub fn iter(&self) -> impl Iterator<Item = (Part, Tokens)> {
        [
            (Part::System, self.system),
            (Part::Summary, self.summary),
            (Part::Sticky, self.sticky),
            (Part::History, self.history),
            (Part::Beside, self.beside),
            (Part::Current, self.current),
        ]
        .into_iter()
    }

    pub(crate) fn add(&mut self, part: Part, tokens: Tokens) {
        let slot = match part {
            Part::System => &mut self.system,
            Part::Summary => &mut self.summary,
            Part::Sticky => &mut self.sticky,
            Part::History => &mut self.history,
            Part::Beside => &mut self.beside,
            Part::Current => &mut self.current,
        };
        *slot = *slot + tokens;
    }
}

/// What cannot give way is more than the budget (S6): the log is whole, but no context fits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the current turn does not fit: {needed} tokens are needed and {budget} allowed ({})",
    breakdown(parts)
)]
pub struct BudgetExceeded {
    /// The most tokens that were allowed.
    pub budget: Tokens,
    /// How many are needed after everything gave way.
    pub needed: Tokens,
    /// What needs them.
    pub parts: Composition,
}

fn breakdown(parts: &Composition) -> String {
    let parts: Vec<_> = parts
        .iter()
        .filter(|(_, tokens)| *tokens > Tokens::ZERO)
        .map(|(part, tokens)| format!("{part} {tokens}"))
        .collect();
    parts.join(", ")
}
