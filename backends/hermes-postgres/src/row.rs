//! Rows and the core types they stand for.

use std::fmt::Display;
use std::str::FromStr;

use hermes_core::{
    ArtifactId, ArtifactRecord, AttributeKey, CounterId, FencingToken, ForkPoint, HolderId, JsonText, Layer,
    MemoryId, MemoryKind, MemoryRecord, MemorySource, MemoryStatus, Message, NewMessage, Owner, Score, Seq,
    SessionId, SessionRecord, SessionState, StateEntry, StateKey, StepId, StoreError, StoredSession,
    TokenCount, Tokens, Version,
};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::FromRow;
use uuid::Uuid;

use crate::error::Error;
use crate::escape::plain;

pub(crate) fn time(what: &'static str, micros: i64) -> Result<Timestamp, Error> {
    Timestamp::from_microsecond(micros).map_err(|error| Error::damaged(what, error))
}

fn times(what: &'static str, micros: Option<i64>) -> Result<Option<Timestamp>, Error> {
    micros.map(|micros| time(what, micros)).transpose()
}

pub(crate) fn micros(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_microsecond)
}

/// A number that is never negative where Hermes writes it.
pub(crate) fn unsigned<T: TryFrom<i64>>(what: &'static str, n: i64) -> Result<T, Error> {
    T::try_from(n).map_err(|_| Error::damaged(what, format_args!("{n} is out of range")))
}

/// A number as PostgreSQL keeps it. No counter here reaches the end of that range.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The most bytes of what a caller chose that an index takes, beside an owner of 512: an entry has at most 2 704.
const MAX_KEY_BYTES: usize = 2_000;

/// Refuses a key that no index could hold. `parts` are as they are stored.
pub(crate) fn check_key(what: &'static str, parts: &[&str]) -> Result<(), Error> {
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    if bytes <= MAX_KEY_BYTES {
        return Ok(());
    }
    let reason = format!("it has {bytes} bytes, at most {MAX_KEY_BYTES} are kept");
    Err(StoreError::Invalid { what, reason }.into())
}

pub(crate) fn text<T: FromStr<Err: Display>>(what: &'static str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|error| Error::damaged(what, error))
}

pub(crate) fn json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::damaged(what, error))
}

pub(crate) fn to_json<T: Serialize + ?Sized>(what: &'static str, value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::damaged(what, error))
}

/// A word that serde has for a value of an enum.
fn word<T: DeserializeOwned>(what: &'static str, word: String) -> Result<T, Error> {
    serde_json::from_value(serde_json::Value::String(word)).map_err(|error| Error::damaged(what, error))
}

/// The names of the columns of [`SessionRow`].
macro_rules! session_columns {
    () => {
        "key, id, title, time_zone, created, updated, parent, parent_at, last, fence, context"
    };
}
pub(crate) use session_columns;

#[derive(Debug, FromRow)]
pub(crate) struct SessionRow {
    pub(crate) key: i64,
    id: Uuid,
    title: String,
    time_zone: Option<String>,
    created: i64,
    updated: i64,
    parent: Option<Uuid>,
    parent_at: Option<i64>,
    last: i64,
    fence: i64,
    context: String,
}

impl SessionRow {
    pub(crate) fn stored(self, owner: &Owner) -> Result<StoredSession, Error> {
        let forked_from = match (self.parent, self.parent_at) {
            (Some(parent), Some(at)) => Some(ForkPoint {
                session: SessionId::from_uuid(parent),
                at: Seq::new(unsigned("session", at)?),
            }),
            _ => None,
        };
        Ok(StoredSession {
            record: SessionRecord {
                id: SessionId::from_uuid(self.id),
                owner: owner.clone(),
                title: plain(self.title),
                time_zone: self.time_zone.map(plain),
                created: time("session", self.created)?,
                forked_from,
            },
            state: SessionState {
                last: Seq::new(unsigned("session", self.last)?),
                updated: time("session", self.updated)?,
                fence: FencingToken::new(unsigned("session", self.fence)?),
                context: json("session", &self.context)?,
            },
        })
    }
}

/// How a session stands for a writer.
#[derive(Debug, FromRow)]
pub(crate) struct Standing {
    pub(crate) key: i64,
    last: i64,
    fence: i64,
    lease_holder: Option<String>,
    lease_expires: Option<i64>,
}

impl Standing {
    pub(crate) fn last(&self) -> Result<Seq, Error> {
        Ok(Seq::new(unsigned("session", self.last)?))
    }

    pub(crate) fn fence(&self) -> Result<FencingToken, Error> {
        Ok(FencingToken::new(unsigned("session", self.fence)?))
    }

    /// Who holds the lease, and until when.
    pub(crate) fn lease(&self) -> Result<Option<(HolderId, Timestamp)>, Error> {
        match (&self.lease_holder, self.lease_expires) {
            (Some(holder), Some(expires)) => Ok(Some((text("lease", holder)?, time("lease", expires)?))),
            _ => Ok(None),
        }
    }
}

/// The names of the columns of [`MessageRow`], of the table `m`.
macro_rules! message_columns {
    () => {
        "m.place, m.created, m.sticky, m.step, m.tokens, m.counter, m.body, m.provider"
    };
}
pub(crate) use message_columns;

#[derive(Debug, FromRow)]
pub(crate) struct MessageRow {
    place: i64,
    created: i64,
    sticky: bool,
    step: Option<Uuid>,
    tokens: Option<i64>,
    counter: Option<String>,
    body: String,
    provider: Option<String>,
}

impl TryFrom<MessageRow> for Message {
    type Error = Error;

    fn try_from(row: MessageRow) -> Result<Self, Error> {
        let tokens = match (row.tokens, row.counter) {
            (Some(tokens), Some(counter)) => Some(TokenCount {
                tokens: Tokens::new(unsigned("message", tokens)?),
                counter: text::<CounterId>("message", &counter)?,
            }),
            _ => None,
        };
        let created = time("message", row.created)?;
        let new = NewMessage {
            body: json("message", &row.body)?,
            sticky: row.sticky,
            step: row.step.map(StepId::from_uuid),
            tokens,
            provider: row.provider.map(|text| json("message", &text)).transpose()?.unwrap_or_default(),
            created: Some(created),
        };
        Ok(Self::from_new(new, Seq::new(unsigned("message", row.place)?), created))
    }
}

#[derive(Debug, FromRow)]
pub(crate) struct MemoryRow {
    id: Uuid,
    layer: String,
    kind: String,
    content: String,
    subject: Option<String>,
    attribute: Option<String>,
    confidence: f32,
    weight: f32,
    source: String,
    provenance: String,
    created: i64,
    updated: i64,
    recalled: Option<i64>,
    recall_count: i64,
    valid_from: i64,
    valid_until: Option<i64>,
    status: String,
    supersedes: Option<Uuid>,
    expires: Option<i64>,
    fingerprint: String,
    version: i64,
}

impl MemoryRow {
    pub(crate) fn record(self, owner: &Owner) -> Result<MemoryRecord, Error> {
        let what = "memory";
        let attribute = match (self.subject, self.attribute) {
            (Some(subject), Some(attribute)) => {
                Some(AttributeKey { subject: plain(subject), attribute: plain(attribute) })
            }
            _ => None,
        };
        Ok(MemoryRecord {
            id: MemoryId::from_uuid(self.id),
            owner: owner.clone(),
            layer: word::<Layer>(what, self.layer)?,
            kind: word::<MemoryKind>(what, self.kind)?,
            content: plain(self.content),
            attribute,
            confidence: Score::new(self.confidence).map_err(|error| Error::damaged(what, error))?,
            weight: self.weight,
            source: word::<MemorySource>(what, self.source)?,
            provenance: json(what, &self.provenance)?,
            created: time(what, self.created)?,
            updated: time(what, self.updated)?,
            recalled: times(what, self.recalled)?,
            recall_count: unsigned(what, self.recall_count)?,
            valid_from: time(what, self.valid_from)?,
            valid_until: times(what, self.valid_until)?,
            status: word::<MemoryStatus>(what, self.status)?,
            supersedes: self.supersedes.map(MemoryId::from_uuid),
            expires: times(what, self.expires)?,
            fingerprint: plain(self.fingerprint),
            version: Version::new(unsigned(what, self.version)?),
        })
    }
}

/// The word that serde writes for a value of an enum.
pub(crate) fn word_of<T: Serialize>(what: &'static str, value: T) -> Result<String, Error> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(_) => Err(Error::damaged(what, "it is not written as a word")),
        Err(error) => Err(Error::damaged(what, error)),
    }
}

#[derive(Debug, FromRow)]
pub(crate) struct ArtifactRow {
    id: Uuid,
    media_type: String,
    name: String,
    size: i64,
    created: i64,
    expires: Option<i64>,
}

impl ArtifactRow {
    pub(crate) fn record(self, session: SessionId) -> Result<ArtifactRecord, Error> {
        Ok(ArtifactRecord {
            id: ArtifactId::from_uuid(self.id),
            session,
            media_type: plain(self.media_type),
            name: plain(self.name),
            size: unsigned("artifact", self.size)?,
            created: time("artifact", self.created)?,
            expires: times("artifact", self.expires)?,
        })
    }
}

#[derive(Debug, FromRow)]
pub(crate) struct StateRow {
    key: String,
    value: String,
    version: i64,
    session: Option<Uuid>,
    updated: i64,
    expires: Option<i64>,
}

impl StateRow {
    pub(crate) fn entry(self, namespace: &str) -> Result<StateEntry, Error> {
        Ok(StateEntry {
            key: StateKey::new(namespace, plain(self.key)),
            value: json_text("state entry", &self.value)?,
            version: Version::new(unsigned("state entry", self.version)?),
            session: self.session.map(SessionId::from_uuid),
            updated: time("state entry", self.updated)?,
            expires: times("state entry", self.expires)?,
        })
    }
}

pub(crate) fn json_text(what: &'static str, text: &str) -> Result<JsonText, Error> {
    JsonText::parse(text).map_err(|error| Error::damaged(what, error))
}
