//! How well tools fit a text: by their words, and by meaning where there is an embedder (T12).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_core::{CounterId, Embedder, EmbedderId, Embedding, Purpose, ToolSpec};
use hermes_text::bm25::Parameters;
use hermes_text::{Bm25, rank_terms};
use serde_json::{Value, json};

use crate::registry::{Settings, Table, ToolRegistry};

/// How much meaning counts beside words, 0 to 1, where there is an embedder. This and the weights below were chosen among round numbers
/// on the even-numbered requests of the public sets in docs/benchmarks.md; the odd-numbered ones are what is reported.
const MEANING: f64 = 0.7;

/// What the best clause of a request adds to the score for the whole of it: a request for a whole job names its tools one by one.
const CLAUSE: f64 = 0.5;

/// What a group's three best tools add, on average, to each of its tools that fits at all: who needs one needs its siblings.
const GROUP: f64 = 0.3;

/// How many clauses of a request are looked at.
const CLAUSES: usize = 8;

/// The shortest clause that says something, in bytes.
const CLAUSE_BYTES: usize = 8;

/// BM25 with less discount for long documents than usual: a description that says more is no worse.
const WORDS: Parameters = Parameters { k1: 1.2, b: 0.5 };

/// A tool by its place in the index, and how well it fits, 0 to 1 within one ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) at: usize,
    pub(crate) score: f64,
}

/// The tools of one state of the registry, made ready for ranking.
#[derive(Debug)]
pub(crate) struct Index {
    generation: u64,
    counter: Option<CounterId>,
    rows: Vec<Row>,
    places: BTreeMap<String, usize>,
    words: Bm25,
}

#[derive(Debug)]
struct Row {
    spec: Arc<ToolSpec>,
    tokens: usize,
}

/// The last index and the last vectors; each is made anew when the tools have changed.
#[derive(Debug, Default)]
pub(crate) struct RankCache {
    index: Mutex<Option<Arc<Index>>>,
    vectors: Mutex<Option<Arc<Vectors>>>,
}

#[derive(Debug)]
struct Vectors {
    generation: u64,
    space: EmbedderId,
    rows: Vec<Embedding>,
}

impl Index {
    fn new(table: &Table, settings: &Settings) -> Self {
        let specs: Vec<Arc<ToolSpec>> = table.tools.values().map(|entry| Arc::clone(&entry.spec)).collect();
        let places = specs.iter().enumerate().map(|(at, spec)| (spec.name.clone(), at)).collect();
        let words = Bm25::with_parameters(specs.iter().map(|spec| rank_terms(&document(spec))), WORDS);
        let row = |spec: Arc<ToolSpec>| Row { tokens: settings.count(&sent(&spec)), spec };
        let counter = settings.counter.as_ref().map(|counter| counter.id().clone());
        Self {
            generation: table.generation,
            counter,
            rows: specs.into_iter().map(row).collect(),
            places,
            words,
        }
    }

    fn row(&self, name: &str) -> Option<&Row> {
        self.places.get(name).and_then(|&at| self.rows.get(at))
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn at(&self, at: usize) -> Option<&Arc<ToolSpec>> {
        self.rows.get(at).map(|row| &row.spec)
    }

    pub(crate) fn spec(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.row(name).map(|row| Arc::clone(&row.spec))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.spec.name.as_str())
    }

    pub(crate) fn always_on(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter(|row| row.spec.always_on).map(|row| row.spec.name.as_str())
    }

    pub(crate) fn tokens(&self, name: &str) -> usize {
        self.row(name).map_or(0, |row| row.tokens)
    }

    pub(crate) fn all_tokens(&self) -> usize {
        self.rows.iter().map(|row| row.tokens).sum()
    }
}

impl ToolRegistry {
    /// The index of the tools as they are now.
    pub(crate) fn index(&self) -> Arc<Index> {
        let table = self.shared.table();
        let counter = self.settings.counter.as_ref().map(|counter| counter.id());
        let cache = &self.shared.ranks.index;
        let known = cache.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(index) =
            known.filter(|index| index.generation == table.generation && index.counter.as_ref() == counter)
        {
            return index;
        }
        let index = Arc::new(Index::new(&table, &self.settings));
        *cache.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&index));
        index
    }

    /// The tools that have anything to do with a text, best first; equals stand by name.
    pub(crate) async fn rank(&self, index: &Index, text: &str) -> Vec<Ranked> {
        let mut parts = vec![text.to_owned()];
        parts.extend(clauses(text));
        let words: Vec<Vec<f64>> = parts
            .iter()
            .map(|part| of_best(index.words.score(&rank_terms(part)).into_iter().map(f64::from).collect()))
            .collect();
        let scores = match self.meanings(index, &parts).await {
            Some(meanings) => joined(&words, &meanings),
            None => with_clauses(words),
        };
        let scores = of_best(with_groups(index, scores));
        let mut ranked: Vec<Ranked> = scores
            .into_iter()
            .enumerate()
            .filter(|(_, score)| *score > 0.0)
            .map(|(at, score)| Ranked { at, score })
            .collect();
        // The index stands by name.
        ranked.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.at.cmp(&b.at)));
        ranked
    }

    /// How near each tool is to each text in meaning, as raw cosines; `None` without an embedder, or when it fails: words are enough
    /// then.
    async fn meanings(&self, index: &Index, texts: &[String]) -> Option<Vec<Vec<f64>>> {
        let embedder = self.settings.embedder.as_ref()?;
        let vectors = self.vectors(embedder, index).await?;
        let queries = match embedder.embed(texts, Purpose::Query).await {
            Ok(queries) => queries,
            Err(error) => return ignored(&error),
        };
        // Tool by tool: each vector is fetched once for all texts.
        let mut near = vec![Vec::with_capacity(vectors.rows.len()); queries.len()];
        for row in &vectors.rows {
            for (query, near) in queries.iter().zip(&mut near) {
                near.push(f64::from(row.cosine(query)));
            }
        }
        Some(near)
    }

    async fn vectors(&self, embedder: &Arc<dyn Embedder>, index: &Index) -> Option<Arc<Vectors>> {
        let space = &embedder.info().id;
        let cache = &self.shared.ranks.vectors;
        let known = cache.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(vectors) =
            known.filter(|known| known.generation == index.generation && known.space == *space)
        {
            return Some(vectors);
        }
        let texts: Vec<String> = index.rows.iter().map(|row| passage(&row.spec)).collect();
        let rows = match embedder.embed(&texts, Purpose::Passage).await {
            Ok(rows) => rows,
            Err(error) => return ignored(&error),
        };
        let vectors = Arc::new(Vectors { generation: index.generation, space: space.clone(), rows });
        *cache.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&vectors));
        Some(vectors)
    }
}

fn ignored<T>(error: &hermes_core::EmbedError) -> Option<T> {
    tracing::warn!(error = error as &dyn std::error::Error, "tools are ranked by words alone");
    None
}

/// Scores as shares of the best; nothing below zero.
fn of_best(mut scores: Vec<f64>) -> Vec<f64> {
    let best = scores.iter().copied().fold(0.0, f64::max);
    for score in &mut scores {
        *score = if best > 0.0 { (*score / best).max(0.0) } else { 0.0 };
    }
    scores
}

/// Scores between the least and the best: cosines of one model fill a narrow band of their own.
fn between(scores: &[f64]) -> impl Iterator<Item = f64> {
    let (least, best) = scores.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, best), &score| {
        (least.min(score), best.max(score))
    });
    let width = if best > least { best - least } else { f64::INFINITY };
    scores.iter().map(move |score| (score - least) / width)
}

/// The scores of the whole text, the best cosine of any part counting as its meaning, plus a share of the best clause's own score.
fn joined(words: &[Vec<f64>], meanings: &[Vec<f64>]) -> Vec<f64> {
    let mix = |words: &[f64], meaning: &[f64]| -> Vec<f64> {
        words
            .iter()
            .zip(between(meaning))
            .map(|(word, meaning)| word * (1.0 - MEANING) + meaning * MEANING)
            .collect()
    };
    let Some((whole, nearest)) = words.first().zip(best_of(meanings.to_vec())) else { return Vec::new() };
    let mut rows = vec![mix(whole, &nearest)];
    rows.extend(words.iter().zip(meanings).skip(1).map(|(words, meaning)| mix(words, meaning)));
    with_clauses(rows)
}

/// The scores of the whole, the first row, with a share of those of the best clause, the other rows.
fn with_clauses(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let clauses = rows.split_off(rows.len().min(1));
    let whole = rows.pop().unwrap_or_default();
    match best_of(clauses) {
        Some(clause) => plus(whole, &clause, CLAUSE),
        None => whole,
    }
}

/// The best of each column.
fn best_of(rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    rows.into_iter().reduce(|mut best, row| {
        best.iter_mut().zip(row).for_each(|(best, score)| *best = best.max(score));
        best
    })
}

fn plus(mut scores: Vec<f64>, more: &[f64], weight: f64) -> Vec<f64> {
    scores.iter_mut().zip(more).for_each(|(score, more)| *score += more * weight);
    scores
}

/// Adds what a tool's group says for it.
fn with_groups(index: &Index, mut scores: Vec<f64>) -> Vec<f64> {
    let mut groups: BTreeMap<&str, [f64; 3]> = BTreeMap::new();
    for (row, score) in index.rows.iter().zip(&scores) {
        for group in &row.spec.groups {
            let best = groups.entry(group).or_default();
            // Keeps the three best in order.
            best.iter_mut().fold(
                *score,
                |left, place| if left > *place { std::mem::replace(place, left) } else { left },
            );
        }
    }
    for (row, score) in index.rows.iter().zip(&mut scores) {
        let of_group = |group: &String| groups.get(group.as_str()).map(|best| best.iter().sum::<f64>() / 3.0);
        let support = row.spec.groups.iter().filter_map(of_group).fold(0.0, f64::max);
        if *score > 0.0 {
            *score += support * GROUP;
        }
    }
    scores
}

/// The clauses of a request, where there are several.
fn clauses(text: &str) -> Vec<String> {
    let text = hermes_text::truncate_bytes(text, 4_096);
    // A point or comma inside a number or a file's name ends nothing.
    let marks =
        [". ", ", ", "? ", "! ", ": ", " and ", " then ", ";", "\n", "，", "。", "；", "、", "？", "！"];
    let marked = marks.iter().fold(text.to_owned(), |text, mark| text.replace(mark, "\u{1}"));
    let found: Vec<String> = marked
        .split('\u{1}')
        .map(str::trim)
        .filter(|clause| clause.len() > CLAUSE_BYTES)
        .take(CLAUSES)
        .map(str::to_owned)
        .collect();
    if found.len() > 1 { found } else { Vec::new() }
}

/// What a tool is found by: its name twice, since it says most, its description, groups and the names and descriptions of its fields.
fn document(spec: &ToolSpec) -> String {
    let mut parts = vec![spec.name.as_str(), spec.name.as_str(), spec.description.as_str()];
    parts.extend(spec.groups.iter().map(String::as_str));
    for (name, field) in spec.input_schema.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        parts.push(name);
        parts.extend(field.get("description").and_then(Value::as_str));
    }
    parts.join("\n")
}

/// What a tool's meaning is taken from: its groups and name in words, its description, and its fields' names; their descriptions
/// drown the rest.
fn passage(spec: &ToolSpec) -> String {
    let mut parts: Vec<String> = spec.groups.iter().map(|group| in_words(group)).collect();
    parts.push(in_words(&spec.name));
    parts.push(spec.description.clone());
    let fields = spec.input_schema.get("properties").and_then(Value::as_object);
    parts.extend(fields.into_iter().flatten().map(|(name, _)| in_words(name)));
    parts.join(". ")
}

/// An identifier as the words that it is made of.
fn in_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit()) {
            words.push(' ');
        }
        words.push(if matches!(letter, '_' | '-' | '.' | '/') { ' ' } else { letter });
        before = letter;
    }
    words
}

/// About what a provider is sent of a tool.
fn sent(spec: &ToolSpec) -> String {
    json!({ "name": spec.name, "description": spec.description, "parameters": spec.input_schema }).to_string()
}
