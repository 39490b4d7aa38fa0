//! The figures of a set.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::trim::log::{Log, PlantedFact};
use crate::trim::replay::Request;

/// After how many turns a planted fact is looked for.
const LATER: usize = 20;

/// The figures of a set, taken over all its logs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) requests: usize,
    pub(crate) full: u64,
    pub(crate) sent: u64,
    /// Requests with a broken pair, those of the replay with planted facts included.
    pub(crate) invalid: usize,
    /// Requests over the budget, likewise.
    pub(crate) over_budget: usize,
    pub(crate) folds: usize,
    prefixes: Vec<f64>,
    /// By kind: planted facts with a request that much later, and those found in it.
    kinds: BTreeMap<String, (usize, usize)>,
    /// Planted facts with fewer turns after them: how many, and how many are found in the last request.
    pub(crate) at_end: (usize, usize),
}

impl Tally {
    /// Takes in a log as it is.
    pub(crate) fn see_plain(&mut self, requests: &[Request]) {
        self.requests += requests.len();
        self.see_faults(requests);
        for request in requests {
            self.full += request.full;
            self.sent += request.tokens;
            self.folds += usize::from(request.folded);
            if !request.folded {
                self.prefixes.extend(request.prefix);
            }
        }
    }

    /// Takes in a log with planted facts: its faults, and what became of the facts.
    pub(crate) fn see_planted(&mut self, log: &Log, facts: &[PlantedFact], requests: &[Request]) {
        self.see_faults(requests);
        for (turn, entry) in log.entries.iter().filter(|entry| entry.is_user()).enumerate() {
            if let Some(fact) = entry.fact.and_then(|at| facts.get(at)) {
                let later = requests.iter().find(|request| request.turn >= turn + LATER);
                let place = match later {
                    Some(_) => self.kinds.entry(fact.kind.clone()).or_default(),
                    None => &mut self.at_end,
                };
                place.0 += 1;
                let stands =
                    later.or(requests.last()).is_some_and(|request| request.text.contains(&fact.keep));
                place.1 += usize::from(stands);
            }
        }
    }

    fn see_faults(&mut self, requests: &[Request]) {
        self.invalid += requests.iter().filter(|request| request.orphans > 0).count();
        self.over_budget += requests.iter().filter(|request| request.over_budget).count();
    }

    /// Tokens sent of all tokens.
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than a float holds")]
    pub(crate) fn share(&self) -> Option<f64> {
        (self.full > 0).then(|| self.sent as f64 / self.full as f64)
    }

    /// The mean share of the previous request that a request without a fold begins with.
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than a float holds")]
    pub(crate) fn prefix_share(&self) -> Option<f64> {
        (!self.prefixes.is_empty()).then(|| self.prefixes.iter().sum::<f64>() / self.prefixes.len() as f64)
    }

    /// Planted facts that count, and those kept.
    pub(crate) fn counted(&self) -> (usize, usize) {
        self.kinds.values().fold((0, 0), |(planted, kept), (more, found)| (planted + more, kept + found))
    }

    pub(crate) fn json(&self) -> Value {
        let (planted, kept) = self.counted();
        let kinds: BTreeMap<_, _> = self
            .kinds
            .iter()
            .map(|(kind, (planted, kept))| (kind, json!({ "planted": planted, "planted_kept": kept })))
            .collect();
        json!({
            "requests": self.requests,
            "tokens_full": self.full,
            "tokens_sent": self.sent,
            "share": self.share(),
            "invalid": self.invalid,
            "over_budget": self.over_budget,
            // There is no model in this measure; one would be asked at most once a fold.
            "summariser_calls": 0,
            "folds": self.folds,
            "prefix_share": self.prefix_share(),
            "planted": planted,
            "planted_kept": kept,
            "planted_by_kind": kinds,
            "planted_near_end": self.at_end.0,
            "planted_near_end_kept": self.at_end.1,
        })
    }
}
