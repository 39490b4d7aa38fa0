//! Episodic memories, with the terms they are found by.

use async_trait::async_trait;
use hermes_core::clock::truncate_to_micros;
use hermes_core::{
    Candidate, Entity, EpisodicQuery, EpisodicStore, Limit, MemoryFilter, MemoryId, MemoryRecord,
    MemoryStatus, Owner, Page, PageRequest, SessionId, StoreError, Version,
};
use jiff::Timestamp;
use sqlx::FromRow;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use crate::cursor;
use crate::error::Error;
use crate::escape::escaped;
use crate::filter::{Filter, filtered};
use crate::row::{MemoryRow, check_key, micros, signed, to_json, unsigned, word_of};
use crate::store::PostgresStore;
use crate::term;

#[async_trait]
impl EpisodicStore for PostgresStore {
    async fn create(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError> {
        self.run("create memory", || create(self, record)).await
    }

    async fn update(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError> {
        self.run("update memory", || update(self, record)).await
    }

    async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError> {
        self.run("get memory", || get(self, owner, id)).await
    }

    async fn list(
        &self,
        owner: &Owner,
        filter: &MemoryFilter,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError> {
        self.run("list memories", || list(self, owner, filter, page)).await
    }

    async fn query(&self, owner: &Owner, query: &EpisodicQuery) -> Result<Vec<Candidate>, StoreError> {
        self.run("query memories", || find(self, owner, query)).await
    }

    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError> {
        self.run("touch memories", || touch(self, owner, ids, at)).await
    }

    async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError> {
        self.run("delete memory", || delete(self, owner, id)).await
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        self.run("erase memories", || erase_user(self, owner)).await
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        self.run("erase memories", || erase_session(self, owner, session)).await
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        self.run("collect memories", || collect(self, now, limit)).await
    }
}

async fn create(store: &PostgresStore, record: &MemoryRecord) -> Result<MemoryRecord, Error> {
    let record = as_stored(record, Version::FIRST);
    let row = Row::new(&record)?;
    let mut tx = store.begin().await?;
    let taken: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM hermes_memory WHERE id = $1)")
        .bind(record.id.as_uuid())
        .fetch_one(&mut *tx)
        .await?;
    if taken {
        return Err(exists(record.id));
    }
    check_twin(&mut tx, &record).await?;
    row.write(&mut tx, INSERT).await?;
    tx.commit().await?;
    Ok(record)
}

async fn update(store: &PostgresStore, record: &MemoryRecord) -> Result<MemoryRecord, Error> {
    let id = record.id.to_string();
    let mut tx = store.begin().await?;
    let present: Option<i64> = sqlx::query_scalar(
        "SELECT version FROM hermes_memory WHERE id = $1 AND tenant = $2 AND user_id = $3 FOR UPDATE",
    )
    .bind(record.id.as_uuid())
    .bind(record.owner.tenant.as_str())
    .bind(record.owner.user.as_str())
    .fetch_optional(&mut *tx)
    .await?;
    let Some(present) = present else {
        return Err(StoreError::NotFound { what: Entity::Memory, id }.into());
    };
    let (expected, actual) = (record.version.get(), unsigned("memory", present)?);
    if expected != actual {
        return Err(StoreError::VersionMismatch { what: Entity::Memory, id, expected, actual }.into());
    }
    let record = as_stored(record, record.version.next());
    check_twin(&mut tx, &record).await?;
    Row::new(&record)?.write(&mut tx, UPDATE).await?;
    tx.commit().await?;
    Ok(record)
}

/// The record as it reads back: times in whole microseconds.
fn as_stored(record: &MemoryRecord, version: Version) -> MemoryRecord {
    MemoryRecord {
        created: truncate_to_micros(record.created),
        updated: truncate_to_micros(record.updated),
        recalled: record.recalled.map(truncate_to_micros),
        valid_from: truncate_to_micros(record.valid_from),
        valid_until: record.valid_until.map(truncate_to_micros),
        expires: record.expires.map(truncate_to_micros),
        version,
        ..record.clone()
    }
}

fn exists(id: MemoryId) -> Error {
    StoreError::Exists { what: Entity::Memory, id: id.to_string() }.into()
}

/// At most one active record of an owner has a fingerprint.
async fn check_twin(conn: &mut PgConnection, record: &MemoryRecord) -> Result<(), Error> {
    if record.status != MemoryStatus::Active {
        return Ok(());
    }
    let twin: Option<Uuid> = sqlx::query_scalar(
        "SELECT id FROM hermes_memory
         WHERE tenant = $1 AND user_id = $2 AND fingerprint = $3 AND status = 'active' AND id <> $4",
    )
    .bind(record.owner.tenant.as_str())
    .bind(record.owner.user.as_str())
    .bind(escaped(&record.fingerprint))
    .bind(record.id.as_uuid())
    .fetch_optional(conn)
    .await?;
    match twin {
        Some(twin) => Err(exists(MemoryId::from_uuid(twin))),
        None => Ok(()),
    }
}

const INSERT: &str = "INSERT INTO hermes_memory (id, tenant, user_id, layer, kind, content, subject, attribute, confidence,
         weight, source, provenance, sessions, created, updated, recalled, recall_count, valid_from, valid_until,
         status, supersedes, expires, fingerprint, version, terms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
         $24, $25)
     ON CONFLICT DO NOTHING";

const UPDATE: &str = "UPDATE hermes_memory SET layer = $4, kind = $5, content = $6, subject = $7, attribute = $8,
         confidence = $9, weight = $10, source = $11, provenance = $12, sessions = $13, created = $14, updated = $15,
         recalled = $16, recall_count = $17, valid_from = $18, valid_until = $19, status = $20, supersedes = $21,
         expires = $22, fingerprint = $23, version = $24, terms = $25
     WHERE id = $1 AND tenant = $2 AND user_id = $3";

/// A record with what is stored of it beside its plain parts.
struct Row<'a> {
    record: &'a MemoryRecord,
    layer: String,
    source: String,
    provenance: String,
    sessions: Vec<Uuid>,
    terms: Vec<String>,
}

impl<'a> Row<'a> {
    fn new(record: &'a MemoryRecord) -> Result<Self, Error> {
        check_key("fingerprint", &[&escaped(&record.fingerprint)])?;
        let mut sessions: Vec<_> = record.provenance.iter().map(|proof| *proof.session.as_uuid()).collect();
        sessions.sort_unstable();
        sessions.dedup();
        Ok(Self {
            record,
            layer: word_of("memory", record.layer)?,
            source: word_of("memory", record.source)?,
            provenance: to_json("memory", &record.provenance)?,
            sessions,
            terms: term::marked(&record.owner, &hermes_text::index_terms(&record.content)),
        })
    }

    /// Inserts or updates a record that was checked.
    async fn write(self, conn: &mut PgConnection, sql: &'static str) -> Result<(), Error> {
        let record = self.record;
        let done = sqlx::query(sql)
            .bind(record.id.as_uuid())
            .bind(record.owner.tenant.as_str())
            .bind(record.owner.user.as_str())
            .bind(self.layer)
            .bind(record.kind.as_str())
            .bind(escaped(&record.content))
            .bind(record.attribute.as_ref().map(|key| escaped(&key.subject)))
            .bind(record.attribute.as_ref().map(|key| escaped(&key.attribute)))
            .bind(record.confidence.get())
            .bind(record.weight)
            .bind(self.source)
            .bind(self.provenance)
            .bind(self.sessions)
            .bind(record.created.as_microsecond())
            .bind(record.updated.as_microsecond())
            .bind(micros(record.recalled))
            .bind(i64::from(record.recall_count))
            .bind(record.valid_from.as_microsecond())
            .bind(micros(record.valid_until))
            .bind(record.status.as_str())
            .bind(record.supersedes.map(|id| *id.as_uuid()))
            .bind(micros(record.expires))
            .bind(escaped(&record.fingerprint))
            .bind(signed(record.version.get()))
            .bind(self.terms)
            .execute(conn)
            .await?;
        if done.rows_affected() == 0 { Err(Error::Overtaken) } else { Ok(()) }
    }
}

async fn get(store: &PostgresStore, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, Error> {
    let row: Option<MemoryRow> =
        sqlx::query_as("SELECT * FROM hermes_memory WHERE id = $1 AND tenant = $2 AND user_id = $3")
            .bind(id.as_uuid())
            .bind(owner.tenant.as_str())
            .bind(owner.user.as_str())
            .fetch_optional(store.reads())
            .await?;
    row.map(|row| row.record(owner)).transpose()
}

const LISTING: &str = "memories";

async fn list(
    store: &PostgresStore,
    owner: &Owner,
    filter: &MemoryFilter,
    page: &PageRequest,
) -> Result<Page<MemoryRecord>, Error> {
    let after: Option<(i64, MemoryId)> = cursor::read(LISTING, page.cursor.as_ref())?;
    let (updated, id) = cursor::below(after.as_ref().map(|(updated, id)| (*updated, id.as_uuid())));
    let sql = filtered!(
        "SELECT m.* FROM hermes_memory m",
        "AND (m.updated, m.id) < ($11, $12) ORDER BY m.updated DESC, m.id DESC LIMIT $13"
    );
    let rows: Vec<MemoryRow> = Filter::new(owner, filter)
        .bind(sql)
        .bind(updated)
        .bind(id)
        .bind(cursor::one_more(page.limit))
        .fetch_all(store.reads())
        .await?;
    let records = rows.into_iter().map(|row| row.record(owner)).collect::<Result<_, _>>()?;
    cursor::page(LISTING, records, page.limit, |record: &MemoryRecord| {
        (record.updated.as_microsecond(), record.id)
    })
}

#[derive(Debug, FromRow)]
struct FoundRow {
    hits: i64,
    #[sqlx(flatten)]
    memory: MemoryRow,
}

async fn find(store: &PostgresStore, owner: &Owner, query: &EpisodicQuery) -> Result<Vec<Candidate>, Error> {
    // A list of no terms matches no row.
    let sql = filtered!(
        "SELECT m.*, found.hits FROM hermes_memory m
         CROSS JOIN LATERAL (SELECT count(*) AS hits FROM unnest(m.terms) term WHERE term = ANY ($11)) found",
        "AND m.terms && $11 ORDER BY found.hits DESC, m.updated DESC, m.id DESC LIMIT $12"
    );
    let rows: Vec<FoundRow> = Filter::new(owner, &query.filter)
        .bind(sql)
        .bind(term::marked(owner, &query.terms))
        .bind(i64::try_from(query.limit.get()).unwrap_or(i64::MAX))
        .fetch_all(store.reads())
        .await?;
    rows.into_iter()
        .map(|FoundRow { hits, memory }| {
            Ok(Candidate {
                record: memory.record(owner)?,
                cosine: None,
                term_hits: unsigned("term hits", hits)?,
            })
        })
        .collect()
}

async fn touch(store: &PostgresStore, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), Error> {
    let ids: Vec<Uuid> = ids.iter().map(|id| *id.as_uuid()).collect();
    // Locked in one order, so that two who touch the same records do not wait for each other.
    sqlx::query(
        "UPDATE hermes_memory SET recalled = $1, recall_count = least(recall_count + 1, 4294967295)
         WHERE id IN (SELECT id FROM hermes_memory WHERE id = ANY ($2) AND tenant = $3 AND user_id = $4
                      ORDER BY id FOR NO KEY UPDATE)",
    )
    .bind(at.as_microsecond())
    .bind(ids)
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .execute(store.reads())
    .await?;
    Ok(())
}

async fn delete(store: &PostgresStore, owner: &Owner, id: MemoryId) -> Result<bool, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query("DELETE FROM hermes_memory WHERE id = $1 AND tenant = $2 AND user_id = $3")
        .bind(id.as_uuid())
        .bind(owner.tenant.as_str())
        .bind(owner.user.as_str())
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(done.rows_affected() > 0)
}

async fn erase_user(store: &PostgresStore, owner: &Owner) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query("DELETE FROM hermes_memory WHERE tenant = $1 AND user_id = $2")
        .bind(owner.tenant.as_str())
        .bind(owner.user.as_str())
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}

async fn erase_session(store: &PostgresStore, owner: &Owner, session: SessionId) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query(
        "DELETE FROM hermes_memory WHERE tenant = $1 AND user_id = $2 AND sessions = ARRAY[$3::uuid]",
    )
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(session.as_uuid())
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}

async fn collect(store: &PostgresStore, now: Timestamp, limit: Limit) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query(
        "DELETE FROM hermes_memory WHERE id IN
             (SELECT id FROM hermes_memory WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)",
    )
    .bind(now.as_microsecond())
    .bind(i64::try_from(limit.get()).unwrap_or(i64::MAX))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}
