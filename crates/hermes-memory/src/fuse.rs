//! Which candidates are recalled, and in which order (R6): a pure function of what the stores found.
//!
//! A candidate passes one of three gates:
//! 1. **likeness**: its calibrated score reaches the threshold;
//! 2. **vouched**: it holds the rarest telling word of the message, and its score reaches a lower threshold;
//! 3. **words**: it holds several telling words of the message, whatever its vector says.
//!
//! What passed is ranked by a weighted mix of BM25 and cosine, each brought to 0–1 over this owner's candidates. Statistics come from
//! these candidates alone, so that no other user's memories weigh in.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use hermes_core::{AttributeKey, Calibration, MemoryId, MemoryRecord, Score};
use hermes_text::{Bm25, rank_terms};

use crate::config::RecallConfig;
use crate::recall::{Gate, Recalled};
use crate::term::telling;

/// A record with its raw cosine to the message, where both have a vector.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) record: MemoryRecord,
    pub(crate) cosine: Option<f32>,
}

/// What the message says, for ranking.
#[derive(Debug, Clone, Default)]
pub(crate) struct Question {
    /// The message, which has to be matched.
    pub(crate) text: String,
    /// The lines before it, which only weigh in the ranking.
    pub(crate) context: String,
}

/// What the lines before the message weigh beside it.
const CONTEXT_WEIGHT: f32 = 0.5;

/// Chooses and ranks.
pub(crate) fn choose(
    question: &Question,
    found: Vec<Found>,
    calibration: &Calibration,
    config: &RecallConfig,
) -> Vec<Recalled> {
    let found = current(found);
    let asked = telling(&question.text);
    let held: Vec<BTreeSet<String>> =
        found.iter().map(|f| telling(&f.record.content).intersection(&asked).cloned().collect()).collect();
    let rarest = rarest(&held);

    let lexical = words(question, &found);
    let cosines: Vec<f32> = found.iter().filter_map(|f| f.cosine).collect();
    let (low, high) = bounds(&cosines);
    let best = lexical.iter().copied().fold(0.0, f32::max);

    let mut recalled: Vec<Recalled> = found
        .into_iter()
        .zip(held)
        .zip(lexical)
        .filter_map(|((found, held), words)| {
            let score = found.cosine.map_or(Score::ZERO, |cosine| calibration.score(cosine));
            let gate = gate(score, &held, &asked, &rarest, found.cosine.is_some(), config)?;
            let lexical = if best > 0.0 { words / best } else { 0.0 };
            let dense = found.cosine.map_or(0.0, |cosine| spread(cosine, low, high));
            let rank = (config.lexical_weight * lexical + config.vector_weight * dense) * found.record.weight;
            Some(Recalled {
                record: found.record,
                score,
                cosine: found.cosine,
                lexical,
                rank,
                words: held.into_iter().collect(),
                gate,
            })
        })
        .collect();
    recalled.sort_by(|a, b| {
        b.rank
            .total_cmp(&a.rank)
            .then_with(|| b.score.get().total_cmp(&a.score.get()))
            .then_with(|| b.record.updated.cmp(&a.record.updated))
            .then_with(|| b.record.id.cmp(&a.record.id))
    });
    recalled.truncate(config.max);
    recalled
}

/// Each record once, without those whose place another one takes.
///
/// A record that is superseded is marked so a moment after its successor was written: between the two, the later statement counts.
fn current(found: Vec<Found>) -> Vec<Found> {
    let mut once: BTreeMap<MemoryId, Found> = BTreeMap::new();
    for item in found {
        let known =
            once.get(&item.record.id).is_some_and(|known| known.cosine.is_some() || item.cosine.is_none());
        if !known {
            once.insert(item.record.id, item);
        }
    }
    let replaced: HashSet<MemoryId> = once.values().filter_map(|f| f.record.supersedes).collect();
    let mut latest: BTreeMap<(String, String), (jiff::Timestamp, MemoryId)> = BTreeMap::new();
    for Found { record, .. } in once.values() {
        if let Some(key) = record.attribute.as_ref().map(pair) {
            let this = (record.valid_from, record.id);
            let entry = latest.entry(key).or_insert(this);
            *entry = (*entry).max(this);
        }
    }
    once.into_values()
        .filter(|f| !replaced.contains(&f.record.id))
        .filter(|f| {
            f.record
                .attribute
                .as_ref()
                .is_none_or(|key| latest.get(&pair(key)).is_none_or(|(_, id)| *id == f.record.id))
        })
        .collect()
}

fn pair(key: &AttributeKey) -> (String, String) {
    (key.subject.clone(), key.attribute.clone())
}

/// The words of the message that fewest candidates hold, at least one.
fn rarest(held: &[BTreeSet<String>]) -> BTreeSet<String> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for word in held.iter().flatten() {
        *counts.entry(word).or_default() += 1;
    }
    let least = counts.values().copied().min().unwrap_or_default();
    counts.into_iter().filter(|(_, count)| *count == least).map(|(word, _)| word.clone()).collect()
}

fn gate(
    score: Score,
    held: &BTreeSet<String>,
    asked: &BTreeSet<String>,
    rarest: &BTreeSet<String>,
    has_vector: bool,
    config: &RecallConfig,
) -> Option<Gate> {
    if has_vector && score.get() >= config.threshold {
        return Some(Gate::Likeness);
    }
    if has_vector && score.get() >= config.vouched_threshold && !held.is_disjoint(rarest) {
        return Some(Gate::Vouched);
    }
    let needed = config.lexical_gate.min(asked.len());
    (needed > 0 && held.len() >= needed).then_some(Gate::Words)
}

/// BM25 of each candidate for the message's telling words, and for those of its context at a lower weight.
///
/// The others are left out: since the best candidate's words count as 1, however little they are, a shared "what" would
/// outweigh likeness.
fn words(question: &Question, found: &[Found]) -> Vec<f32> {
    let index = Bm25::new(found.iter().map(|f| rank_terms(&f.record.content)));
    let terms = |text: &str| telling(text).into_iter().collect::<Vec<String>>();
    let mut scores = index.score(&terms(&question.text));
    if !question.context.is_empty() {
        for (score, context) in scores.iter_mut().zip(index.score(&terms(&question.context))) {
            *score += CONTEXT_WEIGHT * context;
        }
    }
    scores
}

fn bounds(values: &[f32]) -> (f32, f32) {
    values
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// Where a value lies between two bounds; where these are one, it lies at the upper.
fn spread(value: f32, low: f32, high: f32) -> f32 {
    if high > low { (value - low) / (high - low) } else { 1.0 }
}

#[cfg(test)]
mod tests;
