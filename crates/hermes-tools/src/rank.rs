//! How well tools fit a text: by their words, and by meaning where there is an embedder (T12).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_core::{CounterId, Embedder, EmbedderId, Embedding, Purpose, ToolSpec};
use hermes_text::{Bm25, rank_terms};
use serde_json::{Value, json};

use crate::registry::{Settings, Table, ToolRegistry};

/// How much meaning counts beside words, 0 to 1, where there is an embedder.
const MEANING: f64 = 0.5;

/// A tool and how well it fits, 0 to 1 within one ranking.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) name: String,
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
        let words = Bm25::new(specs.iter().map(|spec| rank_terms(&document(spec))));
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
        let words = normal(index.words.score(&rank_terms(text)).into_iter().map(f64::from).collect());
        let scores = match self.meanings(index, text).await {
            Some(meanings) => words
                .iter()
                .zip(meanings)
                .map(|(word, meaning)| word * (1.0 - MEANING) + meaning * MEANING)
                .collect(),
            None => words,
        };
        let named = index.names().zip(scores).filter(|(_, score)| *score > 0.0);
        let mut ranked: Vec<Ranked> =
            named.map(|(name, score)| Ranked { name: name.to_owned(), score }).collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.name.cmp(&b.name)));
        ranked
    }

    /// How near each tool is to a text in meaning; `None` without an embedder, or when it fails: words are enough then.
    async fn meanings(&self, index: &Index, text: &str) -> Option<Vec<f64>> {
        let embedder = self.settings.embedder.as_ref()?;
        let vectors = self.vectors(embedder, index).await?;
        let query = match embedder.embed(&[text.to_owned()], Purpose::Query).await {
            Ok(vectors) => vectors.into_iter().next()?,
            Err(error) => return ignored(&error),
        };
        let raw = vectors.rows.iter().map(|row| f64::from(row.cosine(&query))).collect();
        Some(normal(raw))
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
        let texts: Vec<String> = index.rows.iter().map(|row| document(&row.spec)).collect();
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
fn normal(scores: Vec<f64>) -> Vec<f64> {
    let best = scores.iter().copied().fold(0.0, f64::max);
    if best <= 0.0 {
        return vec![0.0; scores.len()];
    }
    scores.into_iter().map(|score| (score / best).max(0.0)).collect()
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

/// About what a provider is sent of a tool.
fn sent(spec: &ToolSpec) -> String {
    json!({ "name": spec.name, "description": spec.description, "parameters": spec.input_schema }).to_string()
}
