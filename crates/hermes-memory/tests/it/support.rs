//! Owners, times, and stand-ins for embedders, extractors and judges.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use hermes_core::{
    BoxError, Calibration, EmbedError, Embedder, EmbedderId, EmbedderInfo, Embedding, Layer, Limit,
    MemoryFilter, MemoryRecord, MemoryStatus, Owner, PageRequest, Purpose, Seq, SessionId, async_trait,
};
use hermes_inmemory::{InMemorySemanticStore, InMemoryStore};
use hermes_memory::{
    Draft, ExtractError, ExtractionInput, Extractor, Judge, LearnReport, Memory, Relation, TurnTranscript,
};
use hermes_testkit::fake::{HashEmbedder, ManualClock};
use jiff::Timestamp;

pub(crate) fn owner(tenant: &str, user: &str) -> Owner {
    Owner::new(tenant.parse().unwrap(), user.parse().unwrap())
}

pub(crate) fn dana() -> Owner {
    owner("acme", "dana")
}

pub(crate) fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

/// A memory of words, with the clock that it reads.
pub(crate) fn memory() -> (Memory, ManualClock) {
    let clock = ManualClock::new(at("2026-12-01T12:00:00Z"));
    let memory = Memory::new(InMemoryStore::new(), InMemorySemanticStore::default(), HashEmbedder::new())
        .with_clock(clock.clone());
    (memory, clock)
}

/// A turn with one message of the user.
pub(crate) fn turn(seq: u64, text: &str, when: &str) -> TurnTranscript {
    TurnTranscript::new(dana(), SessionId::generate(), at(when)).with_user(Seq::new(seq), text)
}

/// All records of an owner with this standing.
pub(crate) async fn with_status(memory: &Memory, owner: &Owner, status: MemoryStatus) -> Vec<MemoryRecord> {
    let filter = MemoryFilter { statuses: vec![status], ..MemoryFilter::default() };
    let page = PageRequest::first(Limit::MAX);
    let mut all = memory.list(owner, Layer::Episodic, &filter, &page).await.unwrap().items;
    all.extend(memory.list(owner, Layer::Semantic, &filter, &page).await.unwrap().items);
    all
}

pub(crate) fn contents(records: &[MemoryRecord]) -> Vec<&str> {
    records.iter().map(|record| record.content.as_str()).collect()
}

/// Learns from a turn what an extractor that was told so finds in it.
pub(crate) async fn learn(
    memory: Memory,
    turn: &TurnTranscript,
    drafts: Vec<Draft>,
) -> (Memory, LearnReport) {
    let memory = memory.with_extractor(ScriptedExtractor::new([drafts]));
    let report = memory.learn(turn).await;
    (memory, report)
}

/// An extractor that gives what it was told, and keeps what it was shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScriptedExtractor {
    answers: Arc<Mutex<VecDeque<Vec<Draft>>>>,
    pub(crate) shown: Arc<Mutex<Vec<ExtractionInput>>>,
}

impl ScriptedExtractor {
    pub(crate) fn new(answers: impl IntoIterator<Item = Vec<Draft>>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), shown: Arc::default() }
    }
}

#[async_trait]
impl Extractor for ScriptedExtractor {
    async fn extract(&self, input: &ExtractionInput) -> Result<Vec<Draft>, ExtractError> {
        self.shown.lock().unwrap().push(input.clone());
        Ok(self.answers.lock().unwrap().pop_front().unwrap_or_default())
    }
}

/// A judge that finds the same relation between all memories.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptedJudge(pub(crate) Relation);

#[async_trait]
impl Judge for ScriptedJudge {
    async fn judge(&self, _new: &MemoryRecord, old: &[MemoryRecord]) -> Result<Vec<Relation>, BoxError> {
        Ok(vec![self.0; old.len()])
    }
}

/// An embedder that knows some texts, and takes all others for one and the same.
#[derive(Debug, Clone)]
pub(crate) struct FixedEmbedder {
    info: EmbedderInfo,
    known: Vec<(String, Vec<f32>)>,
    other: Vec<f32>,
}

impl FixedEmbedder {
    pub(crate) fn new(known: &[(&str, [f32; 2])], other: [f32; 2]) -> Self {
        Self {
            info: EmbedderInfo {
                id: EmbedderId::new("fixed@2").unwrap(),
                dimension: 2,
                calibration: Calibration::Identity,
            },
            known: known.iter().map(|(text, vector)| ((*text).to_owned(), vector.to_vec())).collect(),
            other: other.to_vec(),
        }
    }
}

#[async_trait]
impl Embedder for FixedEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    async fn embed(&self, texts: &[String], _: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        let vector = |text: &String| {
            let known = self.known.iter().find(|(known, _)| known == text).map(|(_, vector)| vector);
            Embedding::new(known.unwrap_or(&self.other).clone())
        };
        texts.iter().map(vector).collect()
    }
}

/// An embedder that never answers.
#[derive(Debug, Clone)]
pub(crate) struct HangingEmbedder(pub(crate) HashEmbedder);

#[async_trait]
impl Embedder for HangingEmbedder {
    fn info(&self) -> &EmbedderInfo {
        self.0.info()
    }

    async fn embed(&self, _: &[String], _: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        std::future::pending().await
    }
}

/// An embedder that always fails.
#[derive(Debug, Clone)]
pub(crate) struct FailingEmbedder(pub(crate) HashEmbedder);

#[async_trait]
impl Embedder for FailingEmbedder {
    fn info(&self) -> &EmbedderInfo {
        self.0.info()
    }

    async fn embed(&self, _: &[String], _: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        Err(EmbedError::Failed { reason: "no model".to_owned() })
    }
}
