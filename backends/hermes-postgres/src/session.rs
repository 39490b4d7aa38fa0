//! Sessions. Their logs are in [`crate::log`], which is where most of the work is.

use async_trait::async_trait;
use hermes_core::session::MAX_TITLE_BYTES;
use hermes_core::{
    ContextMetadata, Entity, ForkPoint, Limit, LogPage, LogQuery, Message, NewMessage, NewSession, Owner,
    Page, PageRequest, SearchHit, SearchQuery, Seq, SessionId, SessionStore, StoreError, StoredSession,
    WriteGuard,
};
use jiff::Timestamp;
use sqlx::PgExecutor;
use sqlx::postgres::PgConnection;

use crate::cursor;
use crate::error::Error;
use crate::escape::escaped;
use crate::row::{SessionRow, Standing, session_columns, signed, to_json};
use crate::store::PostgresStore;

#[async_trait]
impl SessionStore for PostgresStore {
    async fn create(&self, session: &NewSession) -> Result<StoredSession, StoreError> {
        self.run("create session", || create(self, session)).await
    }

    async fn get(&self, owner: &Owner, session: SessionId) -> Result<Option<StoredSession>, StoreError> {
        self.run("get session", || get(self, owner, session)).await
    }

    async fn list(&self, owner: &Owner, page: &PageRequest) -> Result<Page<StoredSession>, StoreError> {
        self.run("list sessions", || list(self, owner, page)).await
    }

    async fn rename(
        &self,
        owner: &Owner,
        session: SessionId,
        title: &str,
        guard: WriteGuard,
    ) -> Result<(), StoreError> {
        self.run("rename session", || rename(self, owner, session, title, guard)).await
    }

    async fn append(
        &self,
        owner: &Owner,
        session: SessionId,
        expected: Seq,
        messages: &[NewMessage],
        guard: WriteGuard,
    ) -> Result<Vec<Message>, StoreError> {
        self.run("append", || crate::log::append(self, owner, session, expected, messages, guard)).await
    }

    async fn page(&self, owner: &Owner, session: SessionId, query: &LogQuery) -> Result<LogPage, StoreError> {
        self.run("page", || crate::log::page(self, owner, session, query)).await
    }

    async fn messages(
        &self,
        owner: &Owner,
        session: SessionId,
        places: &[Seq],
    ) -> Result<Vec<Message>, StoreError> {
        self.run("get messages", || crate::log::messages(self, owner, session, places)).await
    }

    async fn put_context(
        &self,
        owner: &Owner,
        session: SessionId,
        context: &ContextMetadata,
        guard: WriteGuard,
    ) -> Result<(), StoreError> {
        self.run("put context", || put_context(self, owner, session, context, guard)).await
    }

    async fn search(&self, owner: &Owner, query: &SearchQuery) -> Result<Page<SearchHit>, StoreError> {
        self.run("search", || crate::search::search(self, owner, query)).await
    }

    async fn fork(
        &self,
        owner: &Owner,
        session: SessionId,
        at: Seq,
        fork: &NewSession,
    ) -> Result<StoredSession, StoreError> {
        self.run("fork session", || crate::fork::fork(self, owner, session, at, fork)).await
    }

    async fn delete(&self, owner: &Owner, session: SessionId, guard: WriteGuard) -> Result<bool, StoreError> {
        self.run("delete session", || delete(self, owner, session, guard)).await
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        self.run("erase sessions", || erase_user(self, owner)).await
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        self.run("collect leases", || crate::lease::collect(self, now, limit)).await
    }
}

async fn create(store: &PostgresStore, session: &NewSession) -> Result<StoredSession, Error> {
    check_title(&session.title)?;
    let mut tx = store.begin().await?;
    insert(&mut tx, session, None, Seq::START, &ContextMetadata::default()).await?;
    let stored = known(&mut *tx, &session.owner, session.id).await?.stored(&session.owner)?;
    tx.commit().await?;
    Ok(stored)
}

/// Inserts a session's row; gives its key.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    session: &NewSession,
    from: Option<ForkPoint>,
    last: Seq,
    context: &ContextMetadata,
) -> Result<i64, Error> {
    let taken: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM hermes_session WHERE id = $1)")
        .bind(session.id.as_uuid())
        .fetch_one(&mut *conn)
        .await?;
    if taken {
        return Err(StoreError::Exists { what: Entity::Session, id: session.id.to_string() }.into());
    }
    let key = sqlx::query_scalar(
        "INSERT INTO hermes_session
             (id, tenant, user_id, title, time_zone, created, updated, parent, parent_at, last, fence, context)
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9, 0, $10) ON CONFLICT DO NOTHING RETURNING key",
    )
    .bind(session.id.as_uuid())
    .bind(session.owner.tenant.as_str())
    .bind(session.owner.user.as_str())
    .bind(escaped(&session.title))
    .bind(session.time_zone.as_deref().map(escaped))
    .bind(session.created.as_microsecond())
    .bind(from.map(|from| *from.session.as_uuid()))
    .bind(from.map(|from| signed(from.at.get())))
    .bind(signed(last.get()))
    .bind(to_json("context", context)?)
    .fetch_optional(conn)
    .await?;
    key.ok_or(Error::Overtaken)
}

async fn get(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
) -> Result<Option<StoredSession>, Error> {
    find(store.reads(), owner, session).await?.map(|row| row.stored(owner)).transpose()
}

async fn find(
    executor: impl PgExecutor<'_>,
    owner: &Owner,
    session: SessionId,
) -> Result<Option<SessionRow>, Error> {
    let row = sqlx::query_as(concat!(
        "SELECT ",
        session_columns!(),
        " FROM hermes_session WHERE id = $1 AND tenant = $2 AND user_id = $3"
    ))
    .bind(session.as_uuid())
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .fetch_optional(executor)
    .await?;
    Ok(row)
}

/// The session's row, or [`StoreError::NotFound`].
pub(crate) async fn known(
    executor: impl PgExecutor<'_>,
    owner: &Owner,
    session: SessionId,
) -> Result<SessionRow, Error> {
    find(executor, owner, session).await?.ok_or_else(|| not_found(session))
}

/// The session's key, if this owner has it.
pub(crate) async fn key(
    executor: impl PgExecutor<'_>,
    owner: &Owner,
    session: SessionId,
) -> Result<Option<i64>, Error> {
    let key =
        sqlx::query_scalar("SELECT key FROM hermes_session WHERE id = $1 AND tenant = $2 AND user_id = $3")
            .bind(session.as_uuid())
            .bind(owner.tenant.as_str())
            .bind(owner.user.as_str())
            .fetch_optional(executor)
            .await?;
    Ok(key)
}

pub(crate) fn not_found(session: SessionId) -> Error {
    StoreError::NotFound { what: Entity::Session, id: session.to_string() }.into()
}

/// How the session stands for a writer, if this owner has it. Its row is locked until the transaction ends: writers of one session
/// wait for each other here.
pub(crate) async fn standing(
    conn: &mut PgConnection,
    owner: &Owner,
    session: SessionId,
) -> Result<Option<Standing>, Error> {
    let standing = sqlx::query_as(
        "SELECT key, last, fence, lease_holder, lease_expires FROM hermes_session
         WHERE id = $1 AND tenant = $2 AND user_id = $3 FOR NO KEY UPDATE",
    )
    .bind(session.as_uuid())
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .fetch_optional(conn)
    .await?;
    Ok(standing)
}

/// The session, if a write under this guard is allowed.
pub(crate) async fn writable(
    conn: &mut PgConnection,
    owner: &Owner,
    session: SessionId,
    guard: WriteGuard,
) -> Result<Standing, Error> {
    let standing = standing(conn, owner, session).await?.ok_or_else(|| not_found(session))?;
    check(&standing, session, guard)?;
    Ok(standing)
}

fn check(standing: &Standing, session: SessionId, guard: WriteGuard) -> Result<(), Error> {
    let current = standing.fence()?;
    match (guard.fence, standing.lease()?) {
        (Some(held), _) if held != current => Err(StoreError::Fenced { session, held, current }.into()),
        (None, Some((holder, until))) if guard.at < until => {
            Err(StoreError::Leased { session, holder, until }.into())
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_title(title: &str) -> Result<(), Error> {
    if title.len() > MAX_TITLE_BYTES {
        let reason = format!("it has {} bytes, at most {MAX_TITLE_BYTES} are kept", title.len());
        return Err(StoreError::Invalid { what: "title", reason }.into());
    }
    Ok(())
}

const LISTING: &str = "sessions";

async fn list(
    store: &PostgresStore,
    owner: &Owner,
    page: &PageRequest,
) -> Result<Page<StoredSession>, Error> {
    let after: Option<(i64, SessionId)> = cursor::read(LISTING, page.cursor.as_ref())?;
    let (updated, id) = cursor::below(after.as_ref().map(|(updated, id)| (*updated, id.as_uuid())));
    let rows: Vec<SessionRow> = sqlx::query_as(concat!(
        "SELECT ",
        session_columns!(),
        " FROM hermes_session
          WHERE tenant = $1 AND user_id = $2 AND (updated, id) < ($3, $4)
          ORDER BY updated DESC, id DESC LIMIT $5"
    ))
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(updated)
    .bind(id)
    .bind(cursor::one_more(page.limit))
    .fetch_all(store.reads())
    .await?;
    let sessions = rows.into_iter().map(|row| row.stored(owner)).collect::<Result<_, _>>()?;
    cursor::page(LISTING, sessions, page.limit, |session: &StoredSession| {
        (session.state.updated.as_microsecond(), session.record.id)
    })
}

async fn rename(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    title: &str,
    guard: WriteGuard,
) -> Result<(), Error> {
    check_title(title)?;
    let mut tx = store.begin().await?;
    let standing = writable(&mut tx, owner, session, guard).await?;
    sqlx::query("UPDATE hermes_session SET title = $1, updated = $2 WHERE key = $3")
        .bind(escaped(title))
        .bind(guard.at.as_microsecond())
        .bind(standing.key)
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}

async fn put_context(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    context: &ContextMetadata,
    guard: WriteGuard,
) -> Result<(), Error> {
    let context = to_json("context", context)?;
    let mut tx = store.begin().await?;
    let standing = writable(&mut tx, owner, session, guard).await?;
    sqlx::query("UPDATE hermes_session SET context = $1 WHERE key = $2")
        .bind(context)
        .bind(standing.key)
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}

async fn delete(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    guard: WriteGuard,
) -> Result<bool, Error> {
    let mut tx = store.begin().await?;
    let Some(standing) = standing(&mut tx, owner, session).await? else {
        return Ok(false);
    };
    check(&standing, session, guard)?;
    remove(&mut tx, &[standing.key]).await?;
    tx.commit().await?;
    Ok(true)
}

/// Removes sessions with their logs: the sessions first, so that a fork under way has copied its part.
async fn remove(conn: &mut PgConnection, keys: &[i64]) -> Result<(), Error> {
    for sql in [
        "DELETE FROM hermes_session WHERE key = ANY ($1)",
        "DELETE FROM hermes_message WHERE session = ANY ($1)",
    ] {
        sqlx::query(sql).bind(keys).execute(&mut *conn).await?;
    }
    Ok(())
}

async fn erase_user(store: &PostgresStore, owner: &Owner) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let keys: Vec<i64> = sqlx::query_scalar(
        "SELECT key FROM hermes_session WHERE tenant = $1 AND user_id = $2 ORDER BY key FOR UPDATE",
    )
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .fetch_all(&mut *tx)
    .await?;
    remove(&mut tx, &keys).await?;
    tx.commit().await?;
    Ok(u64::try_from(keys.len()).unwrap_or(u64::MAX))
}
