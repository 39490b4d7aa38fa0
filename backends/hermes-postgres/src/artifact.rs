//! Artifacts, with their bytes.

use async_trait::async_trait;
use hermes_core::{
    ArtifactId, ArtifactRecord, ArtifactStore, Entity, Limit, NewArtifact, Owner, Page, PageRequest,
    SessionId, StoreError,
};
use jiff::Timestamp;

use crate::cursor;
use crate::error::Error;
use crate::escape::escaped;
use crate::row::{ArtifactRow, micros};
use crate::store::PostgresStore;

#[async_trait]
impl ArtifactStore for PostgresStore {
    async fn put(
        &self,
        owner: &Owner,
        session: SessionId,
        artifact: NewArtifact,
    ) -> Result<ArtifactRecord, StoreError> {
        self.run("put artifact", || put(self, owner, session, &artifact)).await
    }

    async fn get(
        &self,
        owner: &Owner,
        session: SessionId,
        id: ArtifactId,
    ) -> Result<Option<ArtifactRecord>, StoreError> {
        self.run("get artifact", || get(self, owner, session, id)).await
    }

    async fn read(
        &self,
        owner: &Owner,
        session: SessionId,
        id: ArtifactId,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, StoreError> {
        self.run("read artifact", || read(self, owner, session, id, offset, length)).await
    }

    async fn list(
        &self,
        owner: &Owner,
        session: SessionId,
        page: &PageRequest,
    ) -> Result<Page<ArtifactRecord>, StoreError> {
        self.run("list artifacts", || list(self, owner, session, page)).await
    }

    async fn delete(&self, owner: &Owner, session: SessionId, id: ArtifactId) -> Result<bool, StoreError> {
        self.run("delete artifact", || delete(self, owner, session, id)).await
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        self.run("erase artifacts", || erase_user(self, owner)).await
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        self.run("erase artifacts", || erase_session(self, owner, session)).await
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        self.run("collect artifacts", || collect(self, now, limit)).await
    }
}

async fn put(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    artifact: &NewArtifact,
) -> Result<ArtifactRecord, Error> {
    let mut tx = store.begin().await?;
    let row: ArtifactRow = sqlx::query_as(
        "INSERT INTO hermes_artifact (id, tenant, user_id, session, media_type, name, size, created, expires, bytes)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         RETURNING id, media_type, name, size, created, expires",
    )
    .bind(ArtifactId::generate().as_uuid())
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(session.as_uuid())
    .bind(escaped(&artifact.media_type))
    .bind(escaped(&artifact.name))
    .bind(i64::try_from(artifact.bytes.len()).unwrap_or(i64::MAX))
    .bind(artifact.created.as_microsecond())
    .bind(micros(artifact.expires))
    .bind(artifact.bytes.as_slice())
    .fetch_one(&mut *tx)
    .await?;
    tx.commit().await?;
    row.record(session)
}

async fn get(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    id: ArtifactId,
) -> Result<Option<ArtifactRecord>, Error> {
    let row: Option<ArtifactRow> = sqlx::query_as(
        "SELECT id, media_type, name, size, created, expires FROM hermes_artifact
         WHERE id = $1 AND tenant = $2 AND user_id = $3 AND session = $4",
    )
    .bind(id.as_uuid())
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(session.as_uuid())
    .fetch_optional(store.reads())
    .await?;
    row.map(|row| row.record(session)).transpose()
}

async fn read(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    id: ArtifactId,
    offset: u64,
    length: usize,
) -> Result<Vec<u8>, Error> {
    // PostgreSQL counts from 1, in 32 bits: no value is longer.
    let from = i32::try_from(offset.saturating_add(1)).unwrap_or(i32::MAX);
    let bytes: Option<Vec<u8>> = sqlx::query_scalar(
        "SELECT substring(bytes FROM $1 FOR $2) FROM hermes_artifact
         WHERE id = $3 AND tenant = $4 AND user_id = $5 AND session = $6",
    )
    .bind(from)
    .bind(i32::try_from(length).unwrap_or(i32::MAX))
    .bind(id.as_uuid())
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(session.as_uuid())
    .fetch_optional(store.reads())
    .await?;
    bytes.ok_or_else(|| StoreError::NotFound { what: Entity::Artifact, id: id.to_string() }.into())
}

const LISTING: &str = "artifacts";

async fn list(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    page: &PageRequest,
) -> Result<Page<ArtifactRecord>, Error> {
    let after: Option<(i64, ArtifactId)> = cursor::read(LISTING, page.cursor.as_ref())?;
    let (created, id) = cursor::below(after.as_ref().map(|(created, id)| (*created, id.as_uuid())));
    let rows: Vec<ArtifactRow> = sqlx::query_as(
        "SELECT id, media_type, name, size, created, expires FROM hermes_artifact
         WHERE tenant = $1 AND user_id = $2 AND session = $3 AND (created, id) < ($4, $5)
         ORDER BY created DESC, id DESC LIMIT $6",
    )
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(session.as_uuid())
    .bind(created)
    .bind(id)
    .bind(cursor::one_more(page.limit))
    .fetch_all(store.reads())
    .await?;
    let records = rows.into_iter().map(|row| row.record(session)).collect::<Result<_, _>>()?;
    cursor::page(LISTING, records, page.limit, |record: &ArtifactRecord| {
        (record.created.as_microsecond(), record.id)
    })
}

async fn delete(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    id: ArtifactId,
) -> Result<bool, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query(
        "DELETE FROM hermes_artifact WHERE id = $1 AND tenant = $2 AND user_id = $3 AND session = $4",
    )
    .bind(id.as_uuid())
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(session.as_uuid())
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected() > 0)
}

async fn erase_user(store: &PostgresStore, owner: &Owner) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query("DELETE FROM hermes_artifact WHERE tenant = $1 AND user_id = $2")
        .bind(owner.tenant.as_str())
        .bind(owner.user.as_str())
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}

async fn erase_session(store: &PostgresStore, owner: &Owner, session: SessionId) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query("DELETE FROM hermes_artifact WHERE tenant = $1 AND user_id = $2 AND session = $3")
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
        "DELETE FROM hermes_artifact WHERE id IN
             (SELECT id FROM hermes_artifact WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)",
    )
    .bind(now.as_microsecond())
    .bind(i64::try_from(limit.get()).unwrap_or(i64::MAX))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}
