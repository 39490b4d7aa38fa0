//! Writing a memory: to the right layer, once, and in the right order beside those that are there (R3, R9).

use hermes_core::{
    AttributeKey, EpisodicQuery, Layer, Limit, MemoryFilter, MemoryId, MemoryKind, MemoryRecord,
    MemorySource, MemoryStatus, Owner, PageRequest, Provenance, Purpose, Score, SemanticQuery, StoreError,
    Version, clock,
};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::conflict::{Plan, Relation, plan};
use crate::error::Error;
use crate::memory::Memory;
use crate::recall::store_terms;
use crate::term::folded;

/// How often a write is decided anew when others write at the same time.
const TRIES: usize = 8;
/// How many related memories of each kind are looked at.
const RELATED: usize = 20;
/// How many memories a judge is asked about at the most.
const JUDGED: usize = 8;

/// A memory that is to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewMemory {
    pub(crate) layer: Layer,
    pub(crate) kind: MemoryKind,
    pub(crate) content: String,
    pub(crate) attribute: Option<AttributeKey>,
    pub(crate) confidence: Score,
    pub(crate) source: MemorySource,
    pub(crate) provenance: Vec<Provenance>,
    pub(crate) said_at: Timestamp,
    /// Until when a short-lived memory is kept at least, such as the day after an event.
    pub(crate) keep_until: Option<Timestamp>,
}

/// What became of a memory that was to be written.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Written {
    /// It was new.
    Added(Box<MemoryRecord>),
    /// It was known, and is surer now; what was short-lived is lasting from now on.
    Reinforced(Box<MemoryRecord>),
    /// It took the place of others, which are kept as history.
    Superseded {
        /// The new memory.
        record: Box<MemoryRecord>,
        /// The ones that it replaced.
        replaced: Vec<MemoryId>,
    },
    /// Something that was said later has taken its place already: it was written as history.
    Preceded {
        /// The memory, which does not count.
        record: Box<MemoryRecord>,
        /// The one that counts.
        by: MemoryId,
    },
    /// It had been learned from the same words before: nothing was written.
    Known(MemoryId),
}

impl Written {
    /// The record that was written, if one was.
    #[must_use]
    pub fn record(&self) -> Option<&MemoryRecord> {
        match self {
            Self::Added(record) | Self::Reinforced(record) => Some(record),
            Self::Superseded { record, .. } | Self::Preceded { record, .. } => Some(record),
            Self::Known(_) => None,
        }
    }
}

/// What makes two memories the same: kind, and content without case, spaces and punctuation.
pub(crate) fn fingerprint(kind: MemoryKind, content: &str) -> String {
    let digest = Sha256::digest(format!("{}\n{}", kind.as_str(), folded(content)).as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Memory {
    /// The record of a new memory.
    pub(crate) fn record(&self, owner: &Owner, new: NewMemory, now: Timestamp) -> MemoryRecord {
        let weight = match new.source {
            MemorySource::Implicit => self.config.implicit.weight,
            MemorySource::Explicit | MemorySource::UserCommand => self.config.explicit.weight,
        };
        MemoryRecord {
            id: MemoryId::generate(),
            owner: owner.clone(),
            layer: new.layer,
            kind: new.kind,
            fingerprint: fingerprint(new.kind, &new.content),
            content: new.content,
            attribute: new.attribute,
            confidence: new.confidence,
            weight,
            source: new.source,
            provenance: new.provenance,
            created: now,
            updated: now,
            recalled: None,
            recall_count: 0,
            valid_from: new.said_at,
            valid_until: None,
            status: MemoryStatus::Active,
            supersedes: None,
            expires: match new.layer {
                Layer::Episodic => Some(clock::later(now, self.config.episodic_life)).max(new.keep_until),
                Layer::Semantic => None,
            },
            version: Version::FIRST,
        }
    }

    /// Stores a new record in its layer.
    pub(crate) async fn create(&self, record: &MemoryRecord) -> Result<MemoryRecord, Error> {
        match record.layer {
            Layer::Episodic => Ok(self.episodic.create(record).await?),
            Layer::Semantic => {
                self.bind().await?;
                let vector = self.embed_content(&record.content).await?;
                Ok(self.semantic.create(record, &vector).await?)
            }
        }
    }

    /// Stores a new record, or gives the active one that says the same.
    pub(crate) async fn create_once(&self, record: MemoryRecord) -> Result<MemoryRecord, Error> {
        match self.create(&record).await {
            Err(Error::Store(StoreError::Exists { what, id })) => {
                let there = match id.parse::<MemoryId>() {
                    Ok(id) => self.find(&record.owner, id).await?,
                    Err(_) => None,
                };
                there.ok_or(Error::Store(StoreError::Exists { what, id }))
            }
            other => other,
        }
    }

    /// Changes a record in its layer.
    pub(crate) async fn change(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError> {
        match record.layer {
            Layer::Episodic => self.episodic.update(record).await,
            Layer::Semantic => self.semantic.update(record, None).await,
        }
    }

    /// A record, in whichever layer it is.
    pub(crate) async fn find(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError> {
        match self.semantic.get(owner, id).await? {
            Some(record) => Ok(Some(record)),
            None => self.episodic.get(owner, id).await,
        }
    }

    /// Writes a memory beside those that are there: adds, reinforces, supersedes, puts before, or leaves it (R9).
    ///
    /// A successor is written before what it replaces is marked, so that there is no moment at which neither counts; while both are there,
    /// recall counts the later one. Of two who write the same, the store lets one win, and the other reinforces it.
    pub(crate) async fn settle(&self, new: MemoryRecord) -> Result<Written, Error> {
        for _ in 0..TRIES {
            let there = self.related(&new).await?;
            let outcome = match plan(&new, &there) {
                Plan::Drop(known) => {
                    // What a crash left half done is done now.
                    let replaced: Vec<MemoryRecord> = there
                        .into_iter()
                        .map(|(old, _)| old)
                        .filter(|old| known.supersedes == Some(old.id) && old.status == MemoryStatus::Active)
                        .collect();
                    self.retire(&replaced, &known).await?;
                    Ok(Written::Known(known.id))
                }
                Plan::Add => self.create(&new).await.map(|record| Written::Added(Box::new(record))),
                Plan::Reinforce(old) => {
                    self.reinforce(*old, &new).await.map(|record| Written::Reinforced(Box::new(record)))
                }
                Plan::Supersede(old) => self.supersede(new.clone(), &old).await,
                Plan::Precede(later) => self.precede(new.clone(), &later).await,
            };
            match outcome {
                Err(Error::Store(
                    StoreError::Exists { .. }
                    | StoreError::VersionMismatch { .. }
                    | StoreError::NotFound { .. },
                )) => {}
                other => return other,
            }
        }
        Err(Error::Contended { what: "memory" })
    }

    /// Notes that a memory was said again. A short-lived one becomes lasting: it was confirmed (R3).
    async fn reinforce(&self, old: MemoryRecord, new: &MemoryRecord) -> Result<MemoryRecord, Error> {
        let mut record = old.clone();
        for proof in &new.provenance {
            if !record.provenance.contains(proof) {
                record.provenance.push(proof.clone());
            }
        }
        if new.confidence > record.confidence {
            record.confidence = new.confidence;
        }
        if record.attribute.is_none() {
            record.attribute.clone_from(&new.attribute);
        }
        if new.source == MemorySource::UserCommand {
            record.source = MemorySource::UserCommand;
        }
        record.updated = self.clock.now();
        if record.layer == Layer::Semantic {
            return Ok(self.change(&record).await?);
        }
        self.promote(record).await
    }

    /// Makes a short-lived memory lasting, under its id: it is written to its new layer before it leaves the old one.
    ///
    /// Where the new layer has another record that says the same, that one stays, and this is [`StoreError::Exists`].
    pub(crate) async fn promote(&self, record: MemoryRecord) -> Result<MemoryRecord, Error> {
        let lasting = MemoryRecord { layer: Layer::Semantic, expires: None, ..record };
        let promoted = self.create(&lasting).await;
        if matches!(&promoted, Ok(_) | Err(Error::Store(StoreError::Exists { .. }))) {
            self.episodic.delete(&lasting.owner, lasting.id).await?;
        }
        promoted
    }

    pub(crate) async fn supersede(
        &self,
        mut new: MemoryRecord,
        old: &[MemoryRecord],
    ) -> Result<Written, Error> {
        new.supersedes = old.first().map(|old| old.id);
        let record = self.create(&new).await?;
        self.retire(old, &record).await?;
        Ok(Written::Superseded { record: Box::new(record), replaced: old.iter().map(|old| old.id).collect() })
    }

    /// Marks records as replaced: they end when their successor begins, and are kept as history for a while.
    pub(crate) async fn retire(&self, old: &[MemoryRecord], by: &MemoryRecord) -> Result<(), Error> {
        for old in old {
            let mut present = Some(old.clone());
            for _ in 0..TRIES {
                let Some(mut record) = present.take().filter(|r| r.status == MemoryStatus::Active) else {
                    break;
                };
                record.status = MemoryStatus::Expired;
                record.valid_until = Some(by.valid_from);
                record.updated = self.clock.now();
                record.expires = Some(clock::later(record.updated, self.config.history_life));
                match self.change(&record).await {
                    Ok(_) | Err(StoreError::NotFound { .. }) => break,
                    Err(StoreError::VersionMismatch { .. }) => {
                        present = self.find(&old.owner, old.id).await?
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    async fn precede(&self, mut new: MemoryRecord, later: &MemoryRecord) -> Result<Written, Error> {
        new.status = MemoryStatus::Expired;
        new.valid_until = Some(later.valid_from);
        new.expires = Some(clock::later(new.updated, self.config.history_life));
        let record = self.create(&new).await?;
        let mut present = Some(later.clone());
        for _ in 0..TRIES {
            // A record names one predecessor; what was said between the two keeps its own.
            let Some(mut successor) = present.take().filter(|r| r.supersedes.is_none()) else { break };
            successor.supersedes = Some(record.id);
            match self.change(&successor).await {
                Ok(_) | Err(StoreError::NotFound { .. }) => break,
                Err(StoreError::VersionMismatch { .. }) => {
                    present = self.find(&later.owner, later.id).await?
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Written::Preceded { record: Box::new(record), by: later.id })
    }

    /// The memories that a new one has to be compared with, with the judge's verdict where it is needed.
    async fn related(&self, new: &MemoryRecord) -> Result<Vec<(MemoryRecord, Option<Relation>)>, Error> {
        self.bind().await?;
        let owner = &new.owner;
        let limit = Limit::new(RELATED);
        let filter = MemoryFilter {
            statuses: vec![MemoryStatus::Active, MemoryStatus::Expired],
            ..MemoryFilter::default()
        };
        let mut there: Vec<MemoryRecord> = Vec::new();
        if new.attribute.is_some() {
            let keyed = MemoryFilter { attribute: new.attribute.clone(), ..filter.clone() };
            let page = PageRequest::first(limit);
            there.extend(self.episodic.list(owner, &keyed, &page).await?.items);
            there.extend(self.semantic.list(owner, &keyed, &page).await?.items);
        }
        let terms = store_terms(&new.content);
        let vector = self.embed_content(&new.content).await?;
        let query = EpisodicQuery { terms: terms.clone(), filter: filter.clone(), limit };
        if !terms.is_empty() {
            there.extend(self.episodic.query(owner, &query).await?.into_iter().map(|c| c.record));
        }
        let vector = Some(vector).filter(|vector| !vector.is_zero());
        let query = SemanticQuery { vector: vector.clone(), terms, filter, limit };
        if query.vector.is_some() || !query.terms.is_empty() {
            there.extend(self.semantic.query(owner, &query).await?.into_iter().map(|c| c.record));
        }
        if self.judge.is_some() {
            let active = MemoryFilter { statuses: vec![MemoryStatus::Active], ..MemoryFilter::default() };
            there.extend(self.episodic.list(owner, &active, &PageRequest::first(limit)).await?.items);
        }
        let mut once: Vec<MemoryRecord> = Vec::new();
        for record in there {
            if once.iter().all(|known| known.id != record.id) {
                once.push(record);
            }
        }
        self.judged(new, once, vector).await
    }

    async fn judged(
        &self,
        new: &MemoryRecord,
        there: Vec<MemoryRecord>,
        vector: Option<hermes_core::Embedding>,
    ) -> Result<Vec<(MemoryRecord, Option<Relation>)>, Error> {
        let known =
            there.iter().any(|old| old.status == MemoryStatus::Active && old.fingerprint == new.fingerprint);
        let Some(judge) = self.judge.as_ref().filter(|_| !known) else {
            return Ok(there.into_iter().map(|record| (record, None)).collect());
        };
        let mut asked: Vec<(f32, MemoryRecord)> = Vec::new();
        for record in there.iter().filter(|record| record.status == MemoryStatus::Active) {
            let likeness = match &vector {
                Some(vector) => vector.cosine(&self.embed_content(&record.content).await?),
                None => 0.0,
            };
            asked.push((likeness, record.clone()));
        }
        asked.sort_by(|a, b| b.0.total_cmp(&a.0));
        asked.truncate(JUDGED);
        let asked: Vec<MemoryRecord> = asked.into_iter().map(|(_, record)| record).collect();
        let verdicts = if asked.is_empty() {
            Vec::new()
        } else {
            judge.judge(new, &asked).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "no verdict: the new memory is judged by its attribute alone");
                Vec::new()
            })
        };
        Ok(there
            .into_iter()
            .map(|record| {
                let place = asked.iter().position(|asked| asked.id == record.id);
                let verdict = place.and_then(|place| verdicts.get(place).copied());
                (record, verdict)
            })
            .collect())
    }

    /// The vector of a text that is looked for; `None` where it says nothing to the embedder.
    pub(crate) async fn query_vector(&self, text: &str) -> Result<Option<hermes_core::Embedding>, Error> {
        let vectors = self.embed(&[text.to_owned()], Purpose::Query).await?;
        Ok(vectors.into_iter().next().filter(|vector| !vector.is_zero()))
    }
}
