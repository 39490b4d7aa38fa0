//! [`Memory`]: the stores, the embedder and the settings, put together once and used by every part.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use hermes_core::{
    Clock, Embedder, Embedding, EpisodicStore, Expected, Limit, MemoryRecord, Owner, PageRequest, Purpose,
    SemanticStore, SessionId, StateStore, StoreError, SystemClock,
};
use tokio::sync::OnceCell;

use crate::config::MemoryConfig;
use crate::conflict::Judge;
use crate::error::Error;
use crate::extract::Extractor;
use crate::implicit::{HABIT_NAMESPACE, HabitRecognizer};
use crate::janitor::JANITOR_NAMESPACE;

/// How many vectors of short-lived memories are kept at hand, so that they are not embedded anew for each message.
const VECTORS_AT_HAND: usize = 2_048;

/// What is remembered about users: written from their turns, recalled for their messages, and theirs to see and remove.
///
/// All methods take the owner; there is no way to reach a record without one.
#[derive(Debug)]
pub struct Memory {
    pub(crate) episodic: Arc<dyn EpisodicStore>,
    pub(crate) semantic: Arc<dyn SemanticStore>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) state: Option<Arc<dyn StateStore>>,
    pub(crate) extractor: Option<Arc<dyn Extractor>>,
    pub(crate) judge: Option<Arc<dyn Judge>>,
    pub(crate) recognizers: Vec<Arc<dyn HabitRecognizer>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: MemoryConfig,
    bound: OnceCell<()>,
    vectors: Mutex<VectorCache>,
}

impl Memory {
    /// A memory on these stores, without an extractor: it recalls and obeys its user, and learns nothing by itself.
    #[must_use]
    pub fn new(episodic: impl EpisodicStore, semantic: impl SemanticStore, embedder: impl Embedder) -> Self {
        Self::from_parts(Arc::new(episodic), Arc::new(semantic), Arc::new(embedder))
    }

    /// The same from shared parts.
    #[must_use]
    pub fn from_parts(
        episodic: Arc<dyn EpisodicStore>,
        semantic: Arc<dyn SemanticStore>,
        embedder: Arc<dyn Embedder>,
    ) -> Self {
        Self {
            episodic,
            semantic,
            embedder,
            state: None,
            extractor: None,
            judge: None,
            recognizers: Vec::new(),
            clock: Arc::new(SystemClock),
            config: MemoryConfig::default(),
            bound: OnceCell::new(),
            vectors: Mutex::new(VectorCache::default()),
        }
    }

    /// Sets where habits are counted (R4).
    #[must_use]
    pub fn with_state(mut self, state: impl StateStore) -> Self {
        self.state = Some(Arc::new(state));
        self
    }

    /// Sets what finds memories in a turn (R3).
    #[must_use]
    pub fn with_extractor(mut self, extractor: impl Extractor) -> Self {
        self.extractor = Some(Arc::new(extractor));
        self
    }

    /// Sets what decides whether two memories contradict each other where their attributes do not tell (R9).
    #[must_use]
    pub fn with_judge(mut self, judge: impl Judge) -> Self {
        self.judge = Some(Arc::new(judge));
        self
    }

    /// Adds what recognises patterns of behaviour (R4); they count once the implicit path is switched on.
    #[must_use]
    pub fn with_recognizer(mut self, recognizer: impl HabitRecognizer) -> Self {
        self.recognizers.push(Arc::new(recognizer));
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the settings.
    #[must_use]
    pub fn with_config(mut self, config: MemoryConfig) -> Self {
        self.config = config;
        self
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &MemoryConfig {
        &self.config
    }

    /// Binds the semantic store to the embedder's space, once.
    pub(crate) async fn bind(&self) -> Result<(), StoreError> {
        let info = self.embedder.info();
        self.bound.get_or_try_init(|| self.semantic.bind(&info.id, info.dimension)).await?;
        Ok(())
    }

    /// The vectors of texts, in order.
    pub(crate) async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Embedding>, Error> {
        let vectors = self.embedder.embed(texts, purpose).await?;
        if vectors.len() != texts.len() {
            return Err(Error::VectorCount { expected: texts.len(), actual: vectors.len() });
        }
        Ok(vectors)
    }

    /// The vector of a record's content.
    pub(crate) async fn embed_content(&self, content: &str) -> Result<Embedding, Error> {
        if let Some(vector) = self.cached(content) {
            return Ok(vector);
        }
        let vector = self.embed(&[content.to_owned()], Purpose::Passage).await?;
        let vector = vector.into_iter().next().ok_or(Error::VectorCount { expected: 1, actual: 0 })?;
        self.cache(content, &vector);
        Ok(vector)
    }

    pub(crate) fn cached(&self, content: &str) -> Option<Embedding> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).get(content)
    }

    pub(crate) fn cache(&self, content: &str, vector: &Embedding) {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).put(content, vector);
    }

    /// Empties the cache, so that nothing of what was removed stays in it.
    pub(crate) fn drop_cached(&self) {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Embeds all memories anew after the embedder was changed (R13): drops the old vectors where the store holds those of another
    /// space, then goes on until every memory has one. It can be called again after a failure, and takes up where it stopped.
    ///
    /// This touches the memories of all owners: it is for who runs the program, not for its users.
    ///
    /// # Errors
    /// A failure of the store or of the embedder.
    pub async fn reembed(&self) -> Result<u64, Error> {
        let info = self.embedder.info();
        match self.semantic.bind(&info.id, info.dimension).await {
            Err(StoreError::SpaceMismatch { .. }) => self.semantic.reset(&info.id, info.dimension).await?,
            other => other?,
        }
        let mut done = 0;
        loop {
            let records = self.semantic.unembedded(Limit::default()).await?;
            if records.is_empty() {
                return Ok(done);
            }
            let before = done;
            let texts: Vec<String> = records.iter().map(|record| record.content.clone()).collect();
            for (record, vector) in records.iter().zip(self.embed(&texts, Purpose::Passage).await?) {
                match self.semantic.update(record, Some(&vector)).await {
                    Ok(_) => done += 1,
                    // Changed or removed meanwhile: the next round sees what became of it.
                    Err(StoreError::VersionMismatch { .. } | StoreError::NotFound { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            if done == before {
                return Err(Error::Contended { what: "memories to embed" });
            }
        }
    }

    /// Removes everything about a user: both layers with their vectors, and the habit counters (S10).
    ///
    /// # Errors
    /// A failure of a store; what was removed until then stays removed.
    pub async fn erase_user(&self, owner: &Owner) -> Result<u64, Error> {
        let mut erased = self.episodic.erase_user(owner).await?;
        erased += self.semantic.erase_user(owner).await?;
        self.drop_cached();
        for namespace in [HABIT_NAMESPACE, JANITOR_NAMESPACE] {
            erased += self.erase_state(owner, namespace).await?;
        }
        Ok(erased)
    }

    async fn erase_state(&self, owner: &Owner, namespace: &str) -> Result<u64, Error> {
        let Some(state) = &self.state else { return Ok(0) };
        let mut erased = 0;
        loop {
            let page = state.list(owner, namespace, &PageRequest::first(Limit::default())).await?;
            if page.items.is_empty() {
                return Ok(erased);
            }
            for entry in page.items {
                erased += u64::from(state.delete(owner, &entry.key, Expected::Any).await?);
            }
        }
    }

    /// Removes what only this session proves, in both layers (S10).
    ///
    /// # Errors
    /// A failure of a store; what was removed until then stays removed.
    pub async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, Error> {
        let erased = self.episodic.erase_session(owner, session).await?
            + self.semantic.erase_session(owner, session).await?;
        self.drop_cached();
        Ok(erased)
    }
}

/// Whether a record has outlived its time in the store, collected or not.
pub(crate) fn is_over(record: &MemoryRecord, now: jiff::Timestamp) -> bool {
    record.expires.is_some_and(|expires| expires <= now)
}

/// Vectors by text, the oldest out first.
#[derive(Debug, Default)]
struct VectorCache {
    vectors: HashMap<String, Embedding>,
    order: VecDeque<String>,
}

impl VectorCache {
    fn get(&self, text: &str) -> Option<Embedding> {
        self.vectors.get(text).cloned()
    }

    fn put(&mut self, text: &str, vector: &Embedding) {
        if self.vectors.insert(text.to_owned(), vector.clone()).is_none() {
            self.order.push_back(text.to_owned());
        }
        while self.order.len() > VECTORS_AT_HAND {
            if let Some(oldest) = self.order.pop_front() {
                self.vectors.remove(&oldest);
            }
        }
    }

    fn clear(&mut self) {
        self.vectors.clear();
        self.order.clear();
    }
}
