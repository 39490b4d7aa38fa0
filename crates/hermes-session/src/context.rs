//! A context: what is sent to the model for one step.

use std::collections::BTreeSet;
use std::sync::Arc;

use hermes_core::{ChatMessage, Seq, Tokens};

use crate::budget::{Composition, Part};
use crate::explain::Explanation;

/// What is sent to the model for one step: it fits the budget, and every call in it is followed by exactly its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    pub(crate) messages: Vec<Arc<ChatMessage>>,
    pub(crate) labels: Vec<Part>,
    pub(crate) budget: Tokens,
    pub(crate) parts: Composition,
    pub(crate) tools_used: BTreeSet<String>,
    pub(crate) window: Option<(Seq, Seq)>,
    pub(crate) explanation: Explanation,
    pub(crate) folding: FoldState,
}

/// How a context stands to folding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FoldState {
    /// How many turns had to fold that the stored summary does not cover.
    pub(crate) turns: usize,
    /// This call folded turns into the stored summary.
    pub(crate) done: bool,
}

impl Context {
    /// The messages, in order.
    #[must_use]
    pub fn messages(&self) -> &[Arc<ChatMessage>] {
        &self.messages
    }

    /// The messages with the part that each belongs to. Blocks beside the current user message are inside it.
    pub fn labelled(&self) -> impl Iterator<Item = (Part, &Arc<ChatMessage>)> {
        self.labels.iter().copied().zip(&self.messages)
    }

    /// The messages, to be put into a request.
    #[must_use]
    pub fn into_messages(self) -> Vec<Arc<ChatMessage>> {
        self.messages
    }

    /// All tokens, by the session's counter.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        self.parts.total()
    }

    /// The tokens of the budget that are left.
    #[must_use]
    pub fn remaining(&self) -> Tokens {
        self.budget.saturating_sub(self.tokens())
    }

    /// The tokens part by part (L4).
    #[must_use]
    pub fn parts(&self) -> &Composition {
        &self.parts
    }

    /// The tools whose calls are in the context, by name.
    #[must_use]
    pub fn tools_used(&self) -> &BTreeSet<String> {
        &self.tools_used
    }

    /// The first message of the log that is sent whole, as part of a turn; `None` when there is none.
    #[must_use]
    pub fn first_seq(&self) -> Option<Seq> {
        self.window.map(|(first, _)| first)
    }

    /// The last message of the log that is sent; `None` when there is none.
    #[must_use]
    pub fn last_seq(&self) -> Option<Seq> {
        self.window.map(|(_, last)| last)
    }

    /// Whether turns had to fold that the stored summary does not cover: the next context should fold and store.
    #[must_use]
    pub fn needs_folding(&self) -> bool {
        self.folding.turns > 0
    }

    /// Whether this context's making folded turns into the stored summary, so that its prefix is new in any case (T12).
    #[must_use]
    pub fn folded(&self) -> bool {
        self.folding.done
    }

    /// What was trimmed and why (S11).
    #[must_use]
    pub fn explain(&self) -> &Explanation {
        &self.explanation
    }
}
