//! Memories: records, and the contracts of the stores that keep them (R1, R2, R6, R13).

use std::fmt::Debug;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::embed::{Embedding, Score};
use crate::error::StoreError;
use crate::id::{EmbedderId, MemoryId, Owner, Seq, SessionId};
use crate::page::{Limit, Page, PageRequest};
use crate::state::Version;

/// What sort of thing is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// What the user likes or wants.
    Preference,
    /// What is so, without an end in sight. Facts do not age out of recall.
    Fact,
    /// What happened or will happen.
    Event,
    /// What the user does again and again.
    Habit,
}

impl MemoryKind {
    /// The kind as stores spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preference => "preference",
            Self::Fact => "fact",
            Self::Event => "event",
            Self::Habit => "habit",
        }
    }
}

/// Which of the lasting layers keeps a record. The working layer is the session itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Hours to days.
    Episodic,
    /// Weeks to for ever.
    Semantic,
}

/// How a record came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySource {
    /// It was extracted from what the user said.
    Explicit,
    /// It was counted from what the user does.
    Implicit,
    /// The user asked for it.
    UserCommand,
}

/// Whether a record counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryStatus {
    /// It counts.
    Active,
    /// It was superseded, or its time is over; kept as history.
    Expired,
    /// It went unused for long and is on its way out.
    Demoted,
}

impl MemoryStatus {
    /// The status as stores spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Demoted => "demoted",
        }
    }
}

/// Why it is known: the answer to "why do you know this" (R11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The session it comes from.
    pub session: SessionId,
    /// The messages that prove it.
    pub messages: Vec<Seq>,
    /// The words that prove it, as they stand in one of the messages.
    pub quote: Option<String>,
}

/// What a record is about, where that can be keyed: two records with one key and different content contradict each other (R9).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttributeKey {
    /// Whom or what it is about, such as `user`.
    pub subject: String,
    /// Which side of it, such as `home_city`.
    pub attribute: String,
}

/// Something remembered about a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryRecord {
    /// Its id.
    pub id: MemoryId,
    /// Whose it is, and about whom.
    pub owner: Owner,
    /// Where it is kept.
    pub layer: Layer,
    /// What sort of thing it is.
    pub kind: MemoryKind,
    /// The sentence, in the user's language.
    pub content: String,
    /// What it is about, where that can be keyed.
    pub attribute: Option<AttributeKey>,
    /// How sure its maker was.
    pub confidence: Score,
    /// How much its path counts; 1 is usual (R5).
    pub weight: f32,
    /// How it came to be.
    pub source: MemorySource,
    /// Why it is known; merged records have several.
    pub provenance: Vec<Provenance>,
    /// When it was first written.
    pub created: Timestamp,
    /// When its content or standing last changed.
    pub updated: Timestamp,
    /// When it was last recalled.
    pub recalled: Option<Timestamp>,
    /// How often it was recalled.
    pub recall_count: u32,
    /// From when on it is so.
    pub valid_from: Timestamp,
    /// Until when it is so; `None` while no end is known.
    pub valid_until: Option<Timestamp>,
    /// Whether it counts.
    pub status: MemoryStatus,
    /// The record that it took the place of.
    pub supersedes: Option<MemoryId>,
    /// When the store may remove it; `None` keeps it.
    pub expires: Option<Timestamp>,
    /// What makes two records the same: equal for equal kind and content, as the memory layer normalises them.
    pub fingerprint: String,
    /// How often it was changed; a store sets it.
    pub version: Version,
}

/// Which records count for a listing or query. The default is all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryFilter {
    /// Of one of these kinds; none means all.
    pub kinds: Vec<MemoryKind>,
    /// Of one of these standings; none means all.
    pub statuses: Vec<MemoryStatus>,
    /// Updated at this time or later …
    pub updated_since: Option<Timestamp>,
    /// … unless of one of these kinds, which do not age.
    pub ageless: Vec<MemoryKind>,
    /// Valid at this time: begun, and not ended.
    pub valid_at: Option<Timestamp>,
    /// Proved by this session.
    pub session: Option<SessionId>,
    /// About this.
    pub attribute: Option<AttributeKey>,
}

impl MemoryFilter {
    /// Whether a record counts: the meaning that every store's query has to have.
    #[must_use]
    pub fn matches(&self, record: &MemoryRecord) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&record.kind))
            && (self.statuses.is_empty() || self.statuses.contains(&record.status))
            && self
                .updated_since
                .is_none_or(|since| record.updated >= since || self.ageless.contains(&record.kind))
            && self
                .valid_at
                .is_none_or(|at| record.valid_from <= at && record.valid_until.is_none_or(|until| at < until))
            && self.session.is_none_or(|session| record.provenance.iter().any(|p| p.session == session))
            && self.attribute.as_ref().is_none_or(|key| record.attribute.as_ref() == Some(key))
    }
}

/// A record that a query found, with the evidence for it. What the evidence is worth is the memory layer's to say (decision 8).
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The record.
    pub record: MemoryRecord,
    /// The raw cosine of its vector to the query's; `None` where one of them is missing.
    pub cosine: Option<f32>,
    /// How many different query terms it holds.
    pub term_hits: u32,
}

/// What to look for in the semantic layer.
#[derive(Debug, Clone, PartialEq)]
pub struct SemanticQuery {
    /// The query's vector; `None` looks by terms alone.
    pub vector: Option<Embedding>,
    /// The query's terms, as made by `hermes_text`; none looks by vector alone.
    pub terms: Vec<String>,
    /// Which records count.
    pub filter: MemoryFilter,
    /// How many of each kind of candidate at the most.
    pub limit: Limit,
}

/// What to look for in the episodic layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpisodicQuery {
    /// The query's terms, as made by `hermes_text`.
    pub terms: Vec<String>,
    /// Which records count.
    pub filter: MemoryFilter,
    /// How many at the most.
    pub limit: Limit,
}

/// Keeps episodic memories: key events and stated preferences, for hours to days.
///
/// # Contract
/// - **EP1** `create` stores a record at [`Version::FIRST`], whatever version it came with; `get` gives it back equal but for the version.
/// - **EP2** `create` with an id that is taken, or with the fingerprint of an *active* record of the same owner, fails with [`StoreError::Exists`],
///   whose id is that of the record that is there. Of several who create the same at once, one wins.
/// - **EP3** `update` stores the record when the version it carries is the present one, and gives the next; otherwise it fails with
///   [`StoreError::VersionMismatch`] and changes nothing. Making active a record whose fingerprint another active one has is [`StoreError::Exists`].
/// - **EP4** Records of another owner are not there: `get` gives `None`, `delete` gives `false`, `update` fails with [`StoreError::NotFound`],
///   listings and queries leave them out, `touch` passes them over.
/// - **EP5** `list` gives the records that the filter matches, last updated first (then by id, descending), in pages.
/// - **EP6** `query` gives the records that the filter matches and that hold at least one of the terms, those with more different terms first,
///   then last updated, then by id, descending. Without terms it finds nothing.
/// - **EP7** `touch` sets the time of the last recall and counts it, and changes neither `updated` nor the version; ids that are not there are passed over.
/// - **EP8** `delete` removes a record and says whether there was one.
/// - **EP9** `erase_user` removes all of an owner's records, `erase_session` those that only that session proves, and nothing else; both say how many.
/// - **EP10** `collect` removes records whose `expires` is at or before `now`, at most `limit`, and never one without expiry.
#[async_trait]
pub trait EpisodicStore: Debug + Send + Sync + 'static {
    /// Stores a new record under its owner.
    ///
    /// # Errors
    /// [`StoreError::Exists`], or a failure of the backend.
    async fn create(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError>;

    /// Changes a record.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::VersionMismatch`], [`StoreError::Exists`], or a failure of the backend.
    async fn update(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError>;

    /// Gives a record.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError>;

    /// Lists records, last updated first.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a cursor that is not this store's, or a failure of the backend.
    async fn list(
        &self,
        owner: &Owner,
        filter: &MemoryFilter,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError>;

    /// Finds records by terms.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn query(&self, owner: &Owner, query: &EpisodicQuery) -> Result<Vec<Candidate>, StoreError>;

    /// Counts a recall of records.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError>;

    /// Removes a record; says whether there was one.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError>;

    /// Removes all records of an owner; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;

    /// Removes the records that only this session proves; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;

    /// Removes expired records, at most `limit`; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
}

/// Keeps semantic memories with their vectors: lasting preferences, settings and facts.
///
/// # Contract
/// - **SE1** `create`, `update`, `get`, `list`, `touch`, `delete`, `erase_user`, `erase_session` and `collect` keep the clauses of
///   [`EpisodicStore`] (EP1–EP5, EP7–EP10); `update` without a vector leaves the stored one.
/// - **SE2** `bind` says which vector space the store holds. It succeeds on a store that holds no vectors or holds vectors of this space, and fails with
///   [`StoreError::SpaceMismatch`] otherwise; a vector whose dimension is not the space's is [`StoreError::Invalid`].
/// - **SE3** `query` gives, of the records that the filter matches, the `limit` nearest by cosine and the `limit` with the most different terms (at
///   least one; then last updated), each record once, with raw cosine and term hits both filled in; nearest first.
/// - **SE4** Cosines are those of the vectors, to 1e-3, and not distances: likeness is large.
/// - **SE5** A record with a zero vector is found by terms only, and a query with a zero vector finds by terms only.
/// - **SE6** What was written is found by the next query of the same caller.
/// - **SE7** `reset` removes all vectors, keeps the records and takes the new space; records without a vector are found by terms, and `unembedded` lists them
///   so that they can be embedded anew with `update`.
#[async_trait]
pub trait SemanticStore: Debug + Send + Sync + 'static {
    /// Says which space the vectors to come belong to.
    ///
    /// # Errors
    /// [`StoreError::SpaceMismatch`], or a failure of the backend.
    async fn bind(&self, space: &EmbedderId, dimension: usize) -> Result<(), StoreError>;

    /// Drops all vectors and takes a new space, to be followed by embedding anew (R13).
    ///
    /// # Errors
    /// A failure of the backend.
    async fn reset(&self, space: &EmbedderId, dimension: usize) -> Result<(), StoreError>;

    /// Lists records without a vector, of all owners, at most `limit`: for re-embedding only.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn unembedded(&self, limit: Limit) -> Result<Vec<MemoryRecord>, StoreError>;

    /// Stores a new record under its owner, with its vector.
    ///
    /// # Errors
    /// [`StoreError::Exists`], [`StoreError::Invalid`] for a vector of another dimension or before `bind`, or a failure of the backend.
    async fn create(&self, record: &MemoryRecord, vector: &Embedding) -> Result<MemoryRecord, StoreError>;

    /// Changes a record, and its vector where one is given.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::VersionMismatch`], [`StoreError::Exists`], [`StoreError::Invalid`], or a failure of the backend.
    async fn update(
        &self,
        record: &MemoryRecord,
        vector: Option<&Embedding>,
    ) -> Result<MemoryRecord, StoreError>;

    /// Gives a record.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError>;

    /// Lists records, last updated first.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a cursor that is not this store's, or a failure of the backend.
    async fn list(
        &self,
        owner: &Owner,
        filter: &MemoryFilter,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError>;

    /// Finds records by vector and terms.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a vector of another dimension, or a failure of the backend.
    async fn query(&self, owner: &Owner, query: &SemanticQuery) -> Result<Vec<Candidate>, StoreError>;

    /// Counts a recall of records.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError>;

    /// Removes a record and its vector; says whether there was one.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError>;

    /// Removes all records of an owner; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;

    /// Removes the records that only this session proves; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;

    /// Removes expired records, at most `limit`; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
}
