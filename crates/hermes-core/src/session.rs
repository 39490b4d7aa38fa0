//! Sessions as they are stored, and the store's contract (S1–S3, S9, S10).

use std::fmt::Debug;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::id::{FencingToken, Owner, Seq, SessionId};
use crate::lease::LeaseStore;
use crate::message::{Message, NewMessage};
use crate::page::{Limit, Page, PageRequest};
use crate::token::{TokenCount, Tokens};

/// The most bytes that a title may have.
pub const MAX_TITLE_BYTES: usize = 1_000;

/// A session that is not stored yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// Whose it is.
    pub owner: Owner,
    /// What it is called, at most [`MAX_TITLE_BYTES`] bytes.
    pub title: String,
    /// The user's time zone, as an IANA name such as `Asia/Shanghai`.
    pub time_zone: Option<String>,
    /// When it was made.
    pub created: Timestamp,
}

impl NewSession {
    /// A session with a new id and no time zone.
    #[must_use]
    pub fn new(owner: Owner, title: impl Into<String>, created: Timestamp) -> Self {
        Self { id: SessionId::generate(), owner, title: title.into(), time_zone: None, created }
    }

    /// Says where the user's clock stands.
    #[must_use]
    pub fn with_time_zone(mut self, name: impl Into<String>) -> Self {
        self.time_zone = Some(name.into());
        self
    }
}

/// Where a fork left its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The parent, which may have been deleted since.
    pub session: SessionId,
    /// The last message that both have.
    pub at: Seq,
}

/// Who a session is: what stays the same (S1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Its id.
    pub id: SessionId,
    /// Whose it is.
    pub owner: Owner,
    /// What it is called.
    pub title: String,
    /// The user's time zone, as an IANA name.
    pub time_zone: Option<String>,
    /// When it was made.
    pub created: Timestamp,
    /// Where it was forked, if it was.
    pub forked_from: Option<ForkPoint>,
}

/// How a session stands: what changes (S1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// The place of the last message; [`Seq::START`] for an empty log.
    pub last: Seq,
    /// When it last changed: the time of the last write.
    pub updated: Timestamp,
    /// The fence that stands.
    pub fence: FencingToken,
    /// What is known about its context.
    pub context: ContextMetadata,
}

/// A session as it is stored: who it is and how it stands, without its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSession {
    /// Who it is.
    pub record: SessionRecord,
    /// How it stands.
    pub state: SessionState,
}

/// What a session keeps about its context (S2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextMetadata {
    /// The summary of what was folded.
    pub summary: Option<Summary>,
    /// Messages that were marked sticky by call, after their append (S5).
    pub sticky: Vec<Seq>,
    /// How many tokens of the budget the last request left.
    pub remaining: Option<Tokens>,
    /// How many tokens the last request saved against sending everything.
    pub trimmed: Option<Tokens>,
    /// How often the summariser has failed in a row.
    pub fold_failures: u32,
    /// Before this time the summariser is not asked again (S4).
    pub fold_retry_at: Option<Timestamp>,
}

/// The summary of the turns that were folded (S4). It belongs to contexts and never enters the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// What it says.
    pub text: String,
    /// Exact identifiers of the folded turns: ids, paths, amounts, dates, names in code.
    pub anchors: Vec<String>,
    /// It covers the log from its beginning up to and including this message, which is the last of a turn.
    pub through: Seq,
    /// Who wrote it.
    pub origin: SummaryOrigin,
    /// How many tokens text and anchors have.
    pub tokens: Option<TokenCount>,
    /// When it was written.
    pub created: Timestamp,
}

/// Who wrote a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryOrigin {
    /// A model.
    Model,
    /// The rule-based digest that stands in for one.
    Digest,
}

/// What a write carries so that it cannot undo another's (decision 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteGuard {
    /// The time of the write.
    pub at: Timestamp,
    /// The fence of the caller's lease; `None` for a caller without one.
    pub fence: Option<FencingToken>,
}

impl WriteGuard {
    /// A write without a lease.
    #[must_use]
    pub fn unleased(at: Timestamp) -> Self {
        Self { at, fence: None }
    }

    /// A write under a lease.
    #[must_use]
    pub fn fenced(at: Timestamp, fence: FencingToken) -> Self {
        Self { at, fence: Some(fence) }
    }
}

/// Which messages of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LogFilter {
    /// All.
    #[default]
    All,
    /// Those that were marked sticky on append.
    Sticky,
    /// The first messages of turns: what the user said.
    TurnStarts,
}

/// Which way through a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Oldest first.
    #[default]
    Ascending,
    /// Newest first.
    Descending,
}

/// Which part of a log: messages with `from <= seq <= to`, in an order, at most `limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogQuery {
    /// Which messages.
    pub filter: LogFilter,
    /// Which way.
    pub order: Order,
    /// The lowest place, included.
    pub from: Seq,
    /// The highest place, included.
    pub to: Seq,
    /// How many at the most.
    pub limit: Limit,
}

impl LogQuery {
    /// Forward from a place.
    #[must_use]
    pub fn forward(from: Seq, limit: Limit) -> Self {
        Self { filter: LogFilter::All, order: Order::Ascending, from, to: Seq::new(u64::MAX), limit }
    }

    /// Backward from a place.
    #[must_use]
    pub fn backward(to: Seq, limit: Limit) -> Self {
        Self { filter: LogFilter::All, order: Order::Descending, from: Seq::START, to, limit }
    }

    /// The newest messages, newest first.
    #[must_use]
    pub fn newest(limit: Limit) -> Self {
        Self::backward(Seq::new(u64::MAX), limit)
    }

    /// Takes only some of the messages.
    #[must_use]
    pub fn filter(mut self, filter: LogFilter) -> Self {
        self.filter = filter;
        self
    }

    /// Takes only messages up to a place, included.
    #[must_use]
    pub fn up_to(mut self, to: Seq) -> Self {
        self.to = to;
        self
    }
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// The messages, in the order that was asked for.
    pub messages: Vec<Message>,
    /// Whether the query matches more than these.
    pub more: bool,
}

/// What to look for in a user's sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words, in English or Chinese: a message matches when it holds them all.
    pub text: String,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// Which page.
    pub page: PageRequest,
}

/// A message that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The session.
    pub session: SessionId,
    /// The session's title.
    pub title: String,
    /// The message.
    pub message: Message,
}

/// Keeps sessions and their logs.
///
/// An implementation is done when it passes `hermes_testkit::session_store_suite!`, which has a case for each clause.
///
/// # Contract
/// Sessions
/// - **SS1** `create` stores a session whose log is empty; `get` then gives it back equal, with `last` 0 and `updated` = `created`.
/// - **SS2** `create` with an id that is taken, by whatever owner, fails with [`StoreError::Exists`] and changes nothing.
/// - **SS3** Every call on a session of another owner (tenant or user) behaves as if it were not there: `get` gives `None`, `delete` `false`,
///   lists and searches leave it out, all else fails with [`StoreError::NotFound`].
/// - **SS4** `list` gives an owner's sessions, last `updated` first (then by id, descending), in pages that together hold each session
///   once while nothing changes.
/// - **SS5** `rename` changes the title and `updated`, and nothing else. A title over [`MAX_TITLE_BYTES`] is [`StoreError::Invalid`], on `create` and `fork` too.
///
/// The log
/// - **SS6** `append` gives the messages consecutive places after `expected`, all or none, and returns them as stored; `updated` becomes the guard's time.
/// - **SS7** `append` with an `expected` that is not the last place fails with [`StoreError::Conflict`], which carries both, and stores nothing.
/// - **SS8** Of several appenders with the same `expected`, one wins; no message is lost, doubled or interleaved.
/// - **SS9** A message reads back equal in every part: body, marks, step, tokens, opaque JSON byte for byte, time to the microsecond.
/// - **SS10** `page` gives the messages of the filter between `from` and `to` in the order asked for, at most `limit`, and says truly whether there are more.
/// - **SS11** `messages` gives those of the named places that exist, in ascending order, each once.
/// - **SS12** `append` of no messages stores nothing, leaves `updated` as it is, and succeeds when `expected` and guard are right.
///
/// Guards
/// - **SS13** A write whose fence is not the session's present one fails with [`StoreError::Fenced`] and changes nothing. This holds for `append`,
///   `rename`, `put_context` and `delete`.
/// - **SS14** A write without a fence fails with [`StoreError::Leased`] while a lease is live at the guard's time, and succeeds otherwise.
/// - **SS15** A write under the present fence succeeds even when the lease has expired, as long as nobody took it.
///
/// Context
/// - **SS16** `put_context` replaces what is known about the context; `get` gives it back equal. It changes no message and not `updated`.
///
/// Search
/// - **SS17** `search` finds the messages that hold all terms of the text (terms as made by `hermes_text`: words, and Chinese by
///   bigrams), newest first by creation time, then by session and place, both descending, in pages. Messages of a fork are found like any other.
/// - **SS18** A search text without a term, such as punctuation alone, finds nothing. Journal entries are never found.
///
/// Lifecycle
/// - **SS19** `fork` makes a session of the same owner that holds the messages up to and including `at`, equal and at the same places, and
///   says where it came from. Its summary is kept when it covers no more than `at`. What is appended to one is not seen in the other.
/// - **SS20** `fork` at a place beyond the last message is [`StoreError::Invalid`].
/// - **SS21** `delete` removes a session with its log, context and lease, and says whether there was one; a fork of it stays whole.
/// - **SS22** `erase_user` removes all sessions of an owner, and of no other, and says how many.
/// - **SS23** `collect` removes at most `limit` leases that ended at or before `now`, without lowering any fence, and says how many.
#[async_trait]
pub trait SessionStore: LeaseStore {
    /// Stores a new session.
    ///
    /// # Errors
    /// [`StoreError::Exists`], [`StoreError::Invalid`], or a failure of the backend.
    async fn create(&self, session: &NewSession) -> Result<StoredSession, StoreError>;

    /// Gives a session, without its messages.
    ///
    /// # Errors
    /// A failure of the backend only.
    async fn get(&self, owner: &Owner, session: SessionId) -> Result<Option<StoredSession>, StoreError>;

    /// Lists an owner's sessions, last changed first.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a cursor that is not this store's, or a failure of the backend.
    async fn list(&self, owner: &Owner, page: &PageRequest) -> Result<Page<StoredSession>, StoreError>;

    /// Changes a session's title.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Fenced`], [`StoreError::Leased`], [`StoreError::Invalid`], or a failure of the backend.
    async fn rename(
        &self,
        owner: &Owner,
        session: SessionId,
        title: &str,
        guard: WriteGuard,
    ) -> Result<(), StoreError>;

    /// Adds messages after the last one, which the caller says is `expected`: the only way into a log (S3).
    ///
    /// # Errors
    /// [`StoreError::Conflict`], [`StoreError::NotFound`], [`StoreError::Fenced`], [`StoreError::Leased`], or a failure of the backend.
    async fn append(
        &self,
        owner: &Owner,
        session: SessionId,
        expected: Seq,
        messages: &[NewMessage],
        guard: WriteGuard,
    ) -> Result<Vec<Message>, StoreError>;

    /// Reads a part of a log.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or a failure of the backend.
    async fn page(&self, owner: &Owner, session: SessionId, query: &LogQuery) -> Result<LogPage, StoreError>;

    /// Reads single messages, at most [`Limit::MAX`].
    ///
    /// # Errors
    /// [`StoreError::NotFound`] for the session, [`StoreError::Invalid`] for too many places, or a failure of the backend.
    async fn messages(
        &self,
        owner: &Owner,
        session: SessionId,
        places: &[Seq],
    ) -> Result<Vec<Message>, StoreError>;

    /// Replaces what is known about the context, its summary included.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Fenced`], [`StoreError::Leased`], or a failure of the backend.
    async fn put_context(
        &self,
        owner: &Owner,
        session: SessionId,
        context: &ContextMetadata,
        guard: WriteGuard,
    ) -> Result<(), StoreError>;

    /// Finds messages in an owner's sessions.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a cursor that is not this store's, or a failure of the backend.
    async fn search(&self, owner: &Owner, query: &SearchQuery) -> Result<Page<SearchHit>, StoreError>;

    /// Makes `fork` begin as `session` is up to and including `at`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Exists`], [`StoreError::Invalid`], or a failure of the backend.
    async fn fork(
        &self,
        owner: &Owner,
        session: SessionId,
        at: Seq,
        fork: &NewSession,
    ) -> Result<StoredSession, StoreError>;

    /// Removes a session with all that hangs on it; says whether there was one.
    ///
    /// # Errors
    /// [`StoreError::Fenced`], [`StoreError::Leased`], or a failure of the backend.
    async fn delete(&self, owner: &Owner, session: SessionId, guard: WriteGuard) -> Result<bool, StoreError>;

    /// Removes all sessions of an owner; says how many. Fences do not hold it up.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;

    /// Removes leases that ended at or before `now`, at most `limit`; says how many.
    ///
    /// # Errors
    /// A failure of the backend.
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
}
