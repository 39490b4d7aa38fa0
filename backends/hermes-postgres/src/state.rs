//! State entries.

use async_trait::async_trait;
use hermes_core::{
    Entity, Expected, Limit, NewState, Owner, Page, PageRequest, SessionId, StateEntry, StateKey, StateStore,
    StoreError, Version,
};
use jiff::Timestamp;
use sqlx::postgres::PgConnection;

use crate::cursor;
use crate::error::Error;
use crate::escape::escaped;
use crate::row::{StateRow, check_key, micros, signed, unsigned};
use crate::store::PostgresStore;

#[async_trait]
impl StateStore for PostgresStore {
    async fn get(&self, owner: &Owner, key: &StateKey) -> Result<Option<StateEntry>, StoreError> {
        self.run("get state", || get(self, owner, key)).await
    }

    async fn put(
        &self,
        owner: &Owner,
        key: &StateKey,
        state: &NewState,
        expected: Expected,
    ) -> Result<Version, StoreError> {
        self.run("put state", || put(self, owner, key, state, expected)).await
    }

    async fn delete(&self, owner: &Owner, key: &StateKey, expected: Expected) -> Result<bool, StoreError> {
        self.run("delete state", || delete(self, owner, key, expected)).await
    }

    async fn list(
        &self,
        owner: &Owner,
        namespace: &str,
        page: &PageRequest,
    ) -> Result<Page<StateEntry>, StoreError> {
        self.run("list state", || list(self, owner, namespace, page)).await
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        self.run("erase state", || erase_user(self, owner)).await
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        self.run("erase state", || erase_session(self, owner, session)).await
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        self.run("collect state", || collect(self, now, limit)).await
    }
}

async fn get(store: &PostgresStore, owner: &Owner, key: &StateKey) -> Result<Option<StateEntry>, Error> {
    let row: Option<StateRow> = sqlx::query_as(
        "SELECT key, value, version, session, updated, expires FROM hermes_state
         WHERE tenant = $1 AND user_id = $2 AND namespace = $3 AND key = $4",
    )
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(escaped(&key.namespace))
    .bind(escaped(&key.key))
    .fetch_optional(store.reads())
    .await?;
    row.map(|row| row.entry(&key.namespace)).transpose()
}

/// The present version, if it is the expected one; `None` for an entry that is not there. One that is there is locked until the
/// transaction ends.
async fn check(
    conn: &mut PgConnection,
    owner: &Owner,
    key: &StateKey,
    expected: Expected,
) -> Result<Option<Version>, Error> {
    let version: Option<i64> = sqlx::query_scalar(
        "SELECT version FROM hermes_state
         WHERE tenant = $1 AND user_id = $2 AND namespace = $3 AND key = $4 FOR UPDATE",
    )
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(escaped(&key.namespace))
    .bind(escaped(&key.key))
    .fetch_optional(conn)
    .await?;
    let actual = version.map(|n| unsigned("state entry", n).map(Version::new)).transpose()?;
    let wanted = match expected {
        Expected::Any => return Ok(actual),
        Expected::Absent => None,
        Expected::At(version) => Some(version),
    };
    // Version 0 is written for "not there".
    let number = |version: Option<Version>| version.map_or(0, Version::get);
    if number(wanted) == number(actual) {
        return Ok(actual);
    }
    Err(StoreError::VersionMismatch {
        what: Entity::State,
        id: key.to_string(),
        expected: number(wanted),
        actual: number(actual),
    }
    .into())
}

async fn put(
    store: &PostgresStore,
    owner: &Owner,
    key: &StateKey,
    state: &NewState,
    expected: Expected,
) -> Result<Version, Error> {
    let (namespace, name) = (escaped(&key.namespace), escaped(&key.key));
    check_key("state key", &[&namespace, &name])?;
    let mut tx = store.begin().await?;
    let present = check(&mut tx, owner, key, expected).await?;
    let (version, sql) = match present {
        Some(present) => (
            present.next(),
            "UPDATE hermes_state SET version = $5, session = $6, updated = $7, expires = $8, value = $9
             WHERE tenant = $1 AND user_id = $2 AND namespace = $3 AND key = $4",
        ),
        None => (
            Version::FIRST,
            "INSERT INTO hermes_state (tenant, user_id, namespace, key, version, session, updated, expires, value)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
        ),
    };
    let done = sqlx::query(sql)
        .bind(owner.tenant.as_str())
        .bind(owner.user.as_str())
        .bind(namespace)
        .bind(name)
        .bind(signed(version.get()))
        .bind(state.session.map(|session| *session.as_uuid()))
        .bind(state.at.as_microsecond())
        .bind(micros(state.expires))
        .bind(state.value.as_str())
        .execute(&mut *tx)
        .await?;
    if done.rows_affected() == 0 {
        return Err(Error::Overtaken);
    }
    tx.commit().await?;
    Ok(version)
}

async fn delete(
    store: &PostgresStore,
    owner: &Owner,
    key: &StateKey,
    expected: Expected,
) -> Result<bool, Error> {
    let mut tx = store.begin().await?;
    // One that is made after the look is not meant.
    if check(&mut tx, owner, key, expected).await?.is_none() {
        return Ok(false);
    }
    let done = sqlx::query(
        "DELETE FROM hermes_state WHERE tenant = $1 AND user_id = $2 AND namespace = $3 AND key = $4",
    )
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(escaped(&key.namespace))
    .bind(escaped(&key.key))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected() > 0)
}

const LISTING: &str = "state";

async fn list(
    store: &PostgresStore,
    owner: &Owner,
    namespace: &str,
    page: &PageRequest,
) -> Result<Page<StateEntry>, Error> {
    let after: Option<String> = cursor::read(LISTING, page.cursor.as_ref())?;
    let rows: Vec<StateRow> = sqlx::query_as(
        "SELECT key, value, version, session, updated, expires FROM hermes_state
         WHERE tenant = $1 AND user_id = $2 AND namespace = $3 AND key >= $4 AND key IS DISTINCT FROM $5
         ORDER BY key LIMIT $6",
    )
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(escaped(namespace))
    // The first page begins at the empty key and includes it.
    .bind(escaped(after.as_deref().unwrap_or_default()))
    .bind(after.as_deref().map(escaped))
    .bind(cursor::one_more(page.limit))
    .fetch_all(store.reads())
    .await?;
    let entries = rows.into_iter().map(|row| row.entry(namespace)).collect::<Result<_, _>>()?;
    cursor::page(LISTING, entries, page.limit, |entry: &StateEntry| entry.key.key.clone())
}

async fn erase_user(store: &PostgresStore, owner: &Owner) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query("DELETE FROM hermes_state WHERE tenant = $1 AND user_id = $2")
        .bind(owner.tenant.as_str())
        .bind(owner.user.as_str())
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}

async fn erase_session(store: &PostgresStore, owner: &Owner, session: SessionId) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query("DELETE FROM hermes_state WHERE tenant = $1 AND user_id = $2 AND session = $3")
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
        "DELETE FROM hermes_state WHERE (tenant, user_id, namespace, key) IN
             (SELECT tenant, user_id, namespace, key FROM hermes_state WHERE expires <= $1
              ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)",
    )
    .bind(now.as_microsecond())
    .bind(i64::try_from(limit.get()).unwrap_or(i64::MAX))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}
