//! Finding the memories that belong to a message, within a time budget and without ever failing (R6).

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join;
use hermes_core::{
    Candidate, EmbedderId, Embedding, EpisodicQuery, Layer, Limit, MemoryFilter, MemoryId, MemoryKind,
    MemoryRecord, MemoryStatus, Owner, PageRequest, Purpose, Score, SemanticQuery, StoreError,
};
use hermes_text::query_terms;
use jiff::{SignedDuration, Timestamp};

use crate::error::Error;
use crate::fuse::{self, Found, Question};
use crate::memory::{Memory, is_over};
use crate::term::telling;

/// What to recall for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecallRequest {
    /// The user's message.
    pub text: String,
    /// What the user said just before, oldest first; two or three lines are enough. They weigh in the ranking, and stand in for a message
    /// that says little by itself.
    pub recent_user_lines: Vec<String>,
    /// Names of those who speak. They are left out of what is looked for: a name is seldom what a memory is about.
    pub speaker_names: Vec<String>,
}

impl RecallRequest {
    /// Recalls for a message alone.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Adds the lines before it, oldest first.
    #[must_use]
    pub fn with_recent_lines(mut self, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.recent_user_lines = lines.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the names to leave out.
    #[must_use]
    pub fn with_speaker_names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.speaker_names = names.into_iter().map(Into::into).collect();
        self
    }
}

/// What was recalled.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recall {
    /// The memories, best first.
    pub items: Vec<Recalled>,
    /// What went wrong, if something did. The items are what could be found nevertheless.
    pub trouble: Option<RecallTrouble>,
    /// How long it took.
    pub elapsed: Duration,
}

impl Recall {
    /// The memories' ids, best first.
    #[must_use]
    pub fn ids(&self) -> Vec<MemoryId> {
        self.items.iter().map(|item| item.record.id).collect()
    }

    /// Whether nothing was recalled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// A memory that was recalled, with what spoke for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// The memory.
    pub record: MemoryRecord,
    /// Its calibrated likeness to the message; 0 where there is no vector.
    pub score: Score,
    /// The raw cosine, where there are vectors.
    pub cosine: Option<f32>,
    /// What its words speak for it, as a share of the best candidate's BM25: 0 to 1.
    pub lexical: f32,
    /// What it was ranked by.
    pub rank: f32,
    /// The telling words of the message that it holds.
    pub words: Vec<String>,
    /// Why it passed.
    pub gate: Gate,
}

/// Why a memory was recalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Gate {
    /// It is like the message.
    Likeness,
    /// It is somewhat like the message and holds its rarest word.
    Vouched,
    /// It holds several telling words of the message.
    Words,
}

/// What went wrong with a recall. The turn goes on without the memories that were not found, and says so in its trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecallTrouble {
    /// The time was over.
    #[error("recall took longer than {budget:?}")]
    TimedOut {
        /// The time it had.
        budget: Duration,
    },
    /// The embedder failed; memories were looked for by their words alone.
    #[error("the message could not be embedded: {reason}")]
    Embedder {
        /// What it said.
        reason: String,
    },
    /// The store holds vectors of another embedder: [`Memory::reembed`] is due. Memories were looked for by their words alone.
    #[error("the memories hold vectors of {stored}, not of {given}: embed them anew")]
    SpaceMismatch {
        /// The space of what is stored.
        stored: EmbedderId,
        /// The space of the embedder.
        given: EmbedderId,
    },
    /// A layer's store failed.
    #[error("the {layer:?} memories could not be read: {reason}")]
    Store {
        /// The layer.
        layer: Layer,
        /// What the store said.
        reason: String,
    },
}

/// What has been found so far, for when the time is over.
#[derive(Debug, Default)]
struct Gathered {
    found: Vec<Found>,
    trouble: Option<RecallTrouble>,
}

/// A [`Gathered`] that several futures fill.
#[derive(Debug, Default)]
struct Basket(Mutex<Gathered>);

impl Basket {
    fn add(&self, found: impl IntoIterator<Item = Found>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).found.extend(found);
    }

    /// Keeps the first trouble and tells the log of all.
    fn trouble(&self, trouble: RecallTrouble) {
        tracing::warn!(%trouble, "recall goes on without");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).trouble.get_or_insert(trouble);
    }

    fn take(&self) -> Gathered {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Memory {
    /// The memories that belong to a message: at most five that are like it or share its telling words, that count and are valid
    /// now, and that were updated within 30 days unless they are facts (the numbers are [`crate::RecallConfig`]'s).
    ///
    /// It never fails and takes no longer than its budget, on the runtime's clock: what was not found by then is left out, and
    /// [`Recall::trouble`] says why. It needs a tokio runtime with time. Recalling changes nothing: call [`Memory::mark_recalled`]
    /// when the reply is out.
    pub async fn recall(&self, owner: &Owner, request: &RecallRequest) -> Recall {
        let started = self.clock.now();
        let budget = self.config.recall.budget;
        let question = question(request, self.config.recall.short_message);
        let mut recall = Recall::default();
        if !question.text.trim().is_empty() {
            let basket = Basket::default();
            if tokio::time::timeout(budget, self.gather(owner, &question, started, &basket)).await.is_err() {
                basket.trouble(RecallTrouble::TimedOut { budget });
            }
            let gathered = basket.take();
            let found = gathered.found.into_iter().filter(|found| !is_over(&found.record, started)).collect();
            recall.items =
                fuse::choose(&question, found, &self.embedder.info().calibration, &self.config.recall);
            recall.trouble = gathered.trouble;
        }
        let elapsed = self.clock.now().duration_since(started);
        recall.elapsed = Duration::try_from(elapsed).unwrap_or_default();
        tracing::debug!(recalled = recall.items.len(), elapsed = ?recall.elapsed, "recalled");
        recall
    }

    /// Counts a recall at the records it gave, which keeps them from being forgotten as unused (R2). To be awaited off the reply's
    /// critical path, such as beside [`Memory::learn`].
    ///
    /// # Errors
    /// A failure of a store.
    pub async fn mark_recalled(&self, owner: &Owner, recall: &Recall) -> Result<(), Error> {
        let of = |layer| -> Vec<MemoryId> {
            recall.items.iter().filter(|i| i.record.layer == layer).map(|i| i.record.id).collect()
        };
        let (episodic, semantic) = (of(Layer::Episodic), of(Layer::Semantic));
        let now = self.clock.now();
        if !episodic.is_empty() {
            self.episodic.touch(owner, &episodic, now).await?;
        }
        if !semantic.is_empty() {
            self.semantic.touch(owner, &semantic, now).await?;
        }
        Ok(())
    }

    /// Asks both layers, and puts what comes into the basket as it comes.
    async fn gather(&self, owner: &Owner, question: &Question, now: Timestamp, basket: &Basket) {
        let filter = self.recallable(now);
        let terms = store_terms(&question.text);
        let limit = Limit::new(self.config.recall.candidates);
        let (vector, short_lived) = join(
            self.question_vector(&question.text, basket),
            self.short_lived(owner, &filter, &terms, limit, basket),
        )
        .await;
        let long_lived = async {
            let query = SemanticQuery { vector: vector.clone(), terms, filter, limit };
            match self.semantic.query(owner, &query).await {
                Ok(candidates) => basket.add(candidates.into_iter().map(found)),
                Err(error) => basket.trouble(store_trouble(Layer::Semantic, &error)),
            }
        };
        let likened = async {
            if let Some(vector) = &vector {
                basket.add(self.liken(short_lived, vector).await);
            }
        };
        join(long_lived, likened).await;
    }

    /// Which records recall may give at all.
    fn recallable(&self, now: Timestamp) -> MemoryFilter {
        let age = SignedDuration::try_from(self.config.recall.max_age).unwrap_or(SignedDuration::MAX);
        MemoryFilter {
            statuses: vec![MemoryStatus::Active],
            updated_since: now.checked_sub(age).ok(),
            ageless: vec![MemoryKind::Fact],
            valid_at: Some(now),
            ..MemoryFilter::default()
        }
    }

    /// The message's vector, within part of the budget, so that a slow embedder leaves time to look for words.
    async fn question_vector(&self, text: &str, basket: &Basket) -> Option<Embedding> {
        let budget = self.config.recall.budget.mul_f32(EMBEDDER_SHARE);
        let embedded = async {
            self.bind().await?;
            self.embed(&[text.to_owned()], Purpose::Query).await
        };
        match tokio::time::timeout(budget, embedded).await {
            Ok(Ok(vectors)) => vectors.into_iter().next().filter(|vector| !vector.is_zero()),
            Ok(Err(error)) => {
                basket.trouble(vector_trouble(&error));
                None
            }
            Err(_) => {
                basket.trouble(RecallTrouble::Embedder { reason: format!("nothing came within {budget:?}") });
                None
            }
        }
    }

    /// Records of the episodic layer: those that hold a word of the message, and the newest, which may be like it without sharing a word.
    /// The layer is small, since what is in it lives for days.
    async fn short_lived(
        &self,
        owner: &Owner,
        filter: &MemoryFilter,
        terms: &[String],
        limit: Limit,
        basket: &Basket,
    ) -> Vec<MemoryRecord> {
        let query = EpisodicQuery { terms: terms.to_vec(), filter: filter.clone(), limit };
        let page = PageRequest::first(limit);
        let by_words = unless_empty(terms, self.episodic.query(owner, &query));
        let (by_words, newest) = join(by_words, self.episodic.list(owner, filter, &page)).await;
        let mut records = Vec::new();
        match by_words {
            Ok(candidates) => records.extend(candidates.into_iter().map(|candidate| candidate.record)),
            Err(error) => basket.trouble(store_trouble(Layer::Episodic, &error)),
        }
        match newest {
            Ok(page) => {
                for record in page.items {
                    if records.iter().all(|known| known.id != record.id) {
                        records.push(record);
                    }
                }
            }
            Err(error) => basket.trouble(store_trouble(Layer::Episodic, &error)),
        }
        basket.add(records.iter().map(|record| Found { record: record.clone(), cosine: None }));
        records
    }

    /// Likens records without stored vectors to the message. Their vectors stay at hand for the next one.
    async fn liken(&self, records: Vec<MemoryRecord>, vector: &Embedding) -> Vec<Found> {
        let mut unknown: Vec<String> = Vec::new();
        for record in &records {
            if self.cached(&record.content).is_none() {
                unknown.push(record.content.clone());
            }
        }
        if !unknown.is_empty() {
            match self.embed(&unknown, Purpose::Passage).await {
                Ok(vectors) => {
                    for (content, vector) in unknown.iter().zip(&vectors) {
                        self.cache(content, vector);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "short-lived memories are looked for by their words alone")
                }
            }
        }
        records
            .into_iter()
            .map(|record| {
                let cosine = self.cached(&record.content).filter(|v| !v.is_zero()).map(|v| v.cosine(vector));
                Found { record, cosine }
            })
            .collect()
    }
}

/// The share of the budget that the embedder has.
const EMBEDDER_SHARE: f32 = 0.6;

async fn unless_empty(
    terms: &[String],
    query: impl Future<Output = Result<Vec<Candidate>, StoreError>>,
) -> Result<Vec<Candidate>, StoreError> {
    if terms.is_empty() { Ok(Vec::new()) } else { query.await }
}

fn found(candidate: Candidate) -> Found {
    // A zero vector says nothing, and its cosine is no evidence.
    Found { cosine: candidate.cosine, record: candidate.record }
}

fn store_trouble(layer: Layer, error: &StoreError) -> RecallTrouble {
    RecallTrouble::Store { layer, reason: error.to_string() }
}

fn vector_trouble(error: &Error) -> RecallTrouble {
    match error {
        Error::Store(StoreError::SpaceMismatch { stored, given }) => {
            RecallTrouble::SpaceMismatch { stored: stored.clone(), given: given.clone() }
        }
        Error::Store(error) => store_trouble(Layer::Semantic, error),
        Error::Embed(error) => RecallTrouble::Embedder { reason: error.to_string() },
        other => RecallTrouble::Embedder { reason: other.to_string() },
    }
}

/// The terms that stores look for: those that tell something, or all where none does.
pub(crate) fn store_terms(text: &str) -> Vec<String> {
    let all = query_terms(text);
    let some: Vec<String> = all.iter().filter(|term| !telling(term).is_empty()).cloned().collect();
    if some.is_empty() { all } else { some }
}

/// What the message asks, without the speakers' names; a message that says little is taken with the lines before it.
fn question(request: &RecallRequest, short: usize) -> Question {
    let text = without_names(&request.text, &request.speaker_names);
    let context = request.recent_user_lines.join("\n");
    if !context.is_empty() && telling(&text).len() < short {
        return Question { text: format!("{context}\n{text}"), context: String::new() };
    }
    Question { text, context }
}

/// A text without names; as it was where nothing else is left.
fn without_names(text: &str, names: &[String]) -> String {
    let mut rest = text.to_owned();
    for name in names.iter().filter(|name| !name.trim().is_empty()) {
        let edge =
            |letter: Option<char>| if letter.is_some_and(|l| l.is_ascii_alphanumeric()) { r"\b" } else { "" };
        let pattern =
            format!("(?i){}{}{}", edge(name.chars().next()), regex::escape(name), edge(name.chars().last()));
        if let Ok(pattern) = regex::Regex::new(&pattern) {
            rest = pattern.replace_all(&rest, " ").into_owned();
        }
    }
    if rest.chars().any(char::is_alphanumeric) { rest } else { text.to_owned() }
}
