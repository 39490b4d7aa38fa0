//! Which tools are sent, when all would be too many (T12).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use hermes_core::{SessionId, Tokens, ToolSpec};
use serde::{Deserialize, Serialize};

use crate::rank::{Index, Ranked};
use crate::registry::ToolRegistry;

/// When tools are chosen, and how many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SelectConfig {
    /// More tools than this are not all sent: 20 (T12).
    pub over_tools: usize,
    /// Nor are they when their schemas take more than this share of the model's window: 0.1 (T12).
    pub over_share: f64,
    /// How many are chosen at first, always-on ones included: 20.
    pub first: usize,
    /// How many candidates a later turn may add: 3 (T12).
    pub grow: usize,
    /// How good a candidate of a later turn must be, as a share of the best tool for the message: 0.8.
    pub gate: f64,
    /// The most tokens of schemas that are chosen by score: 4,000, of which the first choice takes three quarters at most. Always-on, used and asked-for tools come on top.
    pub tokens: usize,
}

impl Default for SelectConfig {
    fn default() -> Self {
        Self { over_tools: 20, over_share: 0.1, first: 20, grow: 3, gate: 0.8, tokens: 4_000 }
    }
}

/// The tools that a session is being sent. Kept by the agent from turn to turn; it may be stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Selection {
    /// Their names, in the order in which they are sent: what is added later stands later, so that the beginning stays.
    pub sent: Vec<String>,
    /// How often the list has changed after it was first chosen.
    pub changes: u64,
}

/// Whether the step folds its history anyway: only then the list may shrink, since the prompt cache is lost in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Folding {
    /// It does not: the list may only grow.
    #[default]
    No,
    /// It does: the list is chosen anew.
    Yes,
}

/// What the choice depends on.
#[derive(Debug, Clone)]
pub struct SelectInput<'a> {
    /// The session.
    pub session: SessionId,
    /// What the user wants: the message of the turn, and what else tells (the model's last text).
    pub intent: &'a str,
    /// The tools that are called in the window.
    pub used: &'a [String],
    /// The model's context window.
    pub window: Tokens,
    /// Whether the step folds.
    pub folding: Folding,
}

/// What `find_tools` has found for each session and the next choice adds.
#[derive(Debug, Default)]
pub(crate) struct FoundTools(Mutex<BTreeMap<SessionId, Vec<String>>>);

/// How many sessions may have found tools waiting; the oldest session's are dropped beyond it.
const MAX_WAITING: usize = 1_024;

impl FoundTools {
    pub(crate) fn add(&self, session: SessionId, names: impl IntoIterator<Item = String>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.entry(session).or_default().extend(names);
        if waiting.len() > MAX_WAITING {
            waiting.pop_first();
        }
    }

    fn take(&self, session: SessionId) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&session).unwrap_or_default()
    }
}

impl ToolRegistry {
    /// The tools to send for a step, in order. Called at the beginning of each turn, and after `find_tools` was called.
    ///
    /// Few tools are all sent. Of many, the first turn chooses always-on ones, used ones and the best for the intent; later turns
    /// only add, and only a step that folds may drop (T12). As long as nothing changes, neither does the list, byte for byte.
    pub async fn select(&self, selection: &mut Selection, input: &SelectInput<'_>) -> Vec<Arc<ToolSpec>> {
        let index = self.index();
        let found = self.shared.found.take(input.session);
        let next = if self.all_fit(&index, input.window) {
            index.names().map(str::to_owned).collect()
        } else {
            let ranked = self.rank(&index, input.intent).await;
            self.choose(&index, selection, input, &found, &ranked)
        };
        if next != selection.sent {
            // The first choice is no change: nothing was cached before it.
            selection.changes += u64::from(!selection.sent.is_empty());
            selection.sent = next;
        }
        selection.sent.iter().filter_map(|name| index.spec(name)).collect()
    }

    /// The tools that fit a text best, best first.
    pub async fn find(&self, query: &str, limit: usize) -> Vec<Arc<ToolSpec>> {
        let index = self.index();
        let ranked = self.rank(&index, query).await;
        ranked.iter().take(limit).filter_map(|ranked| index.at(ranked.at).map(Arc::clone)).collect()
    }

    /// The tokens that the contracts of all tools take.
    #[must_use]
    pub fn schema_tokens(&self) -> Tokens {
        Tokens::saturating_from(self.index().all_tokens())
    }

    fn all_fit(&self, index: &Index, window: Tokens) -> bool {
        let config = &self.settings.config.select;
        let share = f64::from(window.get()) * config.over_share;
        let tokens = f64::from(Tokens::saturating_from(index.all_tokens()).get());
        index.len() <= config.over_tools && (window == Tokens::ZERO || tokens <= share)
    }

    fn choose(
        &self,
        index: &Index,
        selection: &Selection,
        input: &SelectInput<'_>,
        found: &[String],
        ranked: &[Ranked],
    ) -> Vec<String> {
        let config = &self.settings.config.select;
        let anew = selection.sent.is_empty() || input.folding == Folding::Yes;
        let mut must: Vec<String> = index.always_on().map(str::to_owned).collect();
        must.extend(input.used.iter().chain(found).filter(|name| index.spec(name).is_some()).cloned());
        let kept: Vec<String> = if anew {
            Vec::new()
        } else {
            selection.sent.iter().filter(|name| index.spec(name).is_some()).cloned().collect()
        };
        let mut taken: BTreeSet<String> = kept.iter().chain(&must).cloned().collect();

        let (most, gate) = if anew {
            (config.first.saturating_sub(taken.len()), 0.0)
        } else {
            (config.grow, ranked.first().map_or(f64::INFINITY, |best| best.score * config.gate))
        };
        // The first choice leaves room for what later turns turn out to need.
        let cap = if anew { config.tokens / 4 * 3 } else { config.tokens };
        let mut tokens: usize = kept.iter().map(|name| index.tokens(name)).sum();
        let mut added: Vec<String> = Vec::new();
        for candidate in ranked.iter().filter(|ranked| ranked.score >= gate) {
            let Some(spec) = index.at(candidate.at) else { continue };
            let cost = index.tokens(&spec.name);
            if added.len() == most {
                break;
            }
            if tokens.saturating_add(cost) > cap || !taken.insert(spec.name.clone()) {
                continue;
            }
            tokens += cost;
            added.push(spec.name.clone());
        }

        // Chosen anew, what was sent before keeps its place in front; what is new follows, by name, so that chance decides nothing.
        let wanted: BTreeSet<String> = kept.into_iter().chain(must).chain(added).collect();
        let mut list: Vec<String> =
            selection.sent.iter().filter(|name| wanted.contains(*name)).cloned().collect();
        let before: BTreeSet<&String> = list.iter().collect();
        let new: Vec<String> = wanted.iter().filter(|name| !before.contains(name)).cloned().collect();
        list.extend(new);
        list
    }
}

#[cfg(test)]
mod tests;
