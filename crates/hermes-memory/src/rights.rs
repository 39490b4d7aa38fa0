//! The user's rights over what is remembered about them (R11).

use hermes_core::{
    AttributeKey, EpisodicQuery, Layer, Limit, MemoryFilter, MemoryId, MemoryKind, MemoryRecord,
    MemorySource, MemoryStatus, Owner, Page, PageRequest, Provenance, Score, SemanticQuery, StoreError,
    clock,
};

use crate::config::RecallConfig;
use crate::error::Error;
use crate::fuse::{self, Found, Question};
use crate::memory::{Memory, is_over};
use crate::recall::{Recalled, store_terms};
use crate::write::{NewMemory, Written};

/// How many earlier versions of a memory are followed at the most.
const MAX_HISTORY: usize = 64;

/// The answer to "why do you know this".
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// The memory, with its source and provenance.
    pub record: MemoryRecord,
    /// What it took the place of, latest first.
    pub history: Vec<MemoryRecord>,
}

/// A memory that the user dictates.
#[derive(Debug, Clone, PartialEq)]
pub struct Dictated {
    /// What sort of thing it is.
    pub kind: MemoryKind,
    /// The sentence.
    pub content: String,
    /// What it is about, where the user can have only one such thing at a time.
    pub attribute: Option<AttributeKey>,
    /// The session and messages it was dictated in, if it was in one.
    pub provenance: Option<Provenance>,
}

impl Dictated {
    /// A fact.
    #[must_use]
    pub fn fact(content: impl Into<String>) -> Self {
        Self { kind: MemoryKind::Fact, content: content.into(), attribute: None, provenance: None }
    }

    /// A preference.
    #[must_use]
    pub fn preference(content: impl Into<String>) -> Self {
        Self { kind: MemoryKind::Preference, ..Self::fact(content) }
    }

    /// Sets what it is about.
    #[must_use]
    pub fn with_attribute(mut self, subject: impl Into<String>, attribute: impl Into<String>) -> Self {
        self.attribute = Some(AttributeKey { subject: subject.into(), attribute: attribute.into() });
        self
    }
}

impl Memory {
    /// A user's memories of one layer, last updated first. The filter says which; its default is all, history too.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn list(
        &self,
        owner: &Owner,
        layer: Layer,
        filter: &MemoryFilter,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, Error> {
        Ok(match layer {
            Layer::Episodic => self.episodic.list(owner, filter, page).await?,
            Layer::Semantic => self.semantic.list(owner, filter, page).await?,
        })
    }

    /// A memory, in whichever layer it is.
    ///
    /// # Errors
    /// A failure of a store.
    pub async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, Error> {
        Ok(self.find(owner, id).await?)
    }

    /// What is remembered about something, best first: as recall, but whatever its age, and with no limit on time.
    ///
    /// # Errors
    /// A failure of a store or of the embedder.
    pub async fn search(&self, owner: &Owner, text: &str, limit: Limit) -> Result<Vec<Recalled>, Error> {
        self.bind().await?;
        let now = self.clock.now();
        let filter = MemoryFilter {
            statuses: vec![MemoryStatus::Active, MemoryStatus::Demoted],
            valid_at: Some(now),
            ..MemoryFilter::default()
        };
        let terms = store_terms(text);
        let vector = self.query_vector(text).await?;
        let mut found: Vec<Found> = Vec::new();
        if !terms.is_empty() {
            let query = EpisodicQuery { terms: terms.clone(), filter: filter.clone(), limit };
            for candidate in self.episodic.query(owner, &query).await? {
                let content = self.embed_content(&candidate.record.content).await?;
                let cosine = vector.as_ref().filter(|_| !content.is_zero()).map(|v| v.cosine(&content));
                found.push(Found { record: candidate.record, cosine });
            }
        }
        if vector.is_some() || !terms.is_empty() {
            let query = SemanticQuery { vector, terms, filter, limit };
            for candidate in self.semantic.query(owner, &query).await? {
                found.push(Found { record: candidate.record, cosine: candidate.cosine });
            }
        }
        found.retain(|found| !is_over(&found.record, now));
        let config = RecallConfig {
            max: limit.get(),
            // One word is enough for who searches.
            lexical_gate: 1,
            ..self.config.recall.clone()
        };
        let question = Question { text: text.to_owned(), context: String::new() };
        Ok(fuse::choose(&question, found, &self.embedder.info().calibration, &config))
    }

    /// Remembers what the user dictates. It is compared with what is known like any other memory.
    ///
    /// # Errors
    /// [`Error::Secret`] and [`Error::Unusable`] for what is not kept, or a failure of a store or of the embedder.
    pub async fn add(&self, owner: &Owner, dictated: Dictated) -> Result<Written, Error> {
        let now = self.clock.now();
        let new = NewMemory {
            layer: Layer::Semantic,
            kind: dictated.kind,
            content: self.clean_content(&dictated.content)?,
            attribute: dictated.attribute,
            confidence: Score::ONE,
            source: MemorySource::UserCommand,
            provenance: dictated.provenance.into_iter().collect(),
            said_at: now,
            keep_until: None,
        };
        self.settle(self.record(owner, new, now)).await
    }

    /// Changes a memory's sentence: a new version takes its place, and the old one is kept as history.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Secret`], [`Error::Unusable`], or a failure of a store or of the embedder.
    pub async fn edit(&self, owner: &Owner, id: MemoryId, content: &str) -> Result<MemoryRecord, Error> {
        let content = self.clean_content(content)?;
        let old = self.find(owner, id).await?.ok_or(Error::NotFound { id })?;
        if old.status == MemoryStatus::Expired {
            return Err(Error::Unusable { reason: "the memory is history, which is not edited" });
        }
        let now = self.clock.now();
        let new = NewMemory {
            layer: Layer::Semantic,
            kind: old.kind,
            content,
            attribute: old.attribute.clone(),
            confidence: Score::ONE,
            source: MemorySource::UserCommand,
            provenance: old.provenance.clone(),
            said_at: now,
            keep_until: None,
        };
        let new = self.record(owner, new, now);
        if new.fingerprint == old.fingerprint && old.status == MemoryStatus::Active {
            // Only spacing or punctuation changes: that is no new version.
            let record = MemoryRecord { content: new.content, updated: now, ..old };
            return Ok(self.change(&record).await?);
        }
        match self.supersede(new, std::slice::from_ref(&old)).await? {
            Written::Superseded { record, .. } => Ok(*record),
            _ => Err(Error::Contended { what: "memory" }),
        }
    }

    /// Undoes that a memory took another's place: the earlier one counts again, the later one does not (R9).
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NothingToUndo`], or a failure of a store.
    pub async fn undo(&self, owner: &Owner, id: MemoryId) -> Result<MemoryRecord, Error> {
        let record = self.find(owner, id).await?.ok_or(Error::NotFound { id })?;
        let earlier = record.supersedes.ok_or(Error::NothingToUndo { id })?;
        let mut earlier = self.find(owner, earlier).await?.ok_or(Error::NothingToUndo { id })?;
        let now = self.clock.now();
        // The earlier one first: between the two changes both are there, and at no time neither.
        earlier.status = MemoryStatus::Active;
        earlier.valid_until = None;
        earlier.updated = now;
        earlier.expires = match earlier.layer {
            Layer::Episodic => Some(clock::later(now, self.config.episodic_life)),
            Layer::Semantic => None,
        };
        let restored = self.change(&earlier).await?;
        let undone = MemoryRecord {
            status: MemoryStatus::Expired,
            valid_until: Some(now.max(record.valid_from)),
            supersedes: None,
            updated: now,
            expires: Some(clock::later(now, self.config.history_life)),
            ..record
        };
        self.change(&undone).await?;
        Ok(restored)
    }

    /// Forgets a memory for good, with its vector and with the earlier versions whose place it took; says how many records went.
    /// 0 means that the user has no such memory.
    ///
    /// # Errors
    /// A failure of a store; what was removed until then stays removed.
    pub async fn forget(&self, owner: &Owner, id: MemoryId) -> Result<u64, Error> {
        let mut ids = vec![id];
        ids.extend(self.history(owner, id).await?.into_iter().map(|record| record.id));
        let mut gone = 0;
        // The oldest first: when this is cut off, what is left can still be found from the one that was named.
        for id in ids.into_iter().rev() {
            let semantic = self.semantic.delete(owner, id).await?;
            let episodic = self.episodic.delete(owner, id).await?;
            gone += u64::from(semantic || episodic);
        }
        self.drop_cached();
        Ok(gone)
    }

    /// Everything that is remembered about a user, history too: of both layers, oldest first. Records are plain data and serialise.
    ///
    /// # Errors
    /// A failure of a store.
    pub async fn export(&self, owner: &Owner) -> Result<Vec<MemoryRecord>, Error> {
        let mut all: Vec<MemoryRecord> = Vec::new();
        for layer in [Layer::Episodic, Layer::Semantic] {
            let mut page = PageRequest::first(Limit::MAX);
            loop {
                let part = self.list(owner, layer, &MemoryFilter::default(), &page).await?;
                all.extend(part.items);
                match part.next {
                    Some(next) => page.cursor = Some(next),
                    None => break,
                }
            }
        }
        all.sort_by_key(|record| (record.created, record.id));
        Ok(all)
    }

    /// Why a memory is known: its source, the messages that prove it, and what it took the place of.
    ///
    /// # Errors
    /// A failure of a store.
    pub async fn why(&self, owner: &Owner, id: MemoryId) -> Result<Option<Why>, Error> {
        let Some(record) = self.find(owner, id).await? else { return Ok(None) };
        Ok(Some(Why { history: self.history(owner, id).await?, record }))
    }

    /// The chain of what a memory took the place of, latest first.
    async fn history(&self, owner: &Owner, id: MemoryId) -> Result<Vec<MemoryRecord>, StoreError> {
        let mut chain: Vec<MemoryRecord> = Vec::new();
        let mut next = self.find(owner, id).await?.and_then(|record| record.supersedes);
        while let Some(id) = next.filter(|id| chain.len() < MAX_HISTORY && chain.iter().all(|r| r.id != *id))
        {
            let Some(record) = self.find(owner, id).await? else { break };
            next = record.supersedes;
            chain.push(record);
        }
        Ok(chain)
    }
}
