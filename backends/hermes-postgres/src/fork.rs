//! Forking a session (SS19–SS21).

use hermes_core::{ForkPoint, NewSession, Owner, Seq, SessionId, StoreError, StoredSession};
use sqlx::postgres::PgConnection;

use crate::error::Error;
use crate::row::signed;
use crate::session::{check_title, insert, known};
use crate::store::PostgresStore;

pub(crate) async fn fork(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    at: Seq,
    fork: &NewSession,
) -> Result<StoredSession, Error> {
    check_title(&fork.title)?;
    let mut tx = store.begin().await?;
    hold(&mut tx, session).await?;
    let parent = known(&mut *tx, owner, session).await?;
    let parent_key = parent.key;
    let parent = parent.stored(owner)?.state;
    if at > parent.last {
        let reason = format!("message {at} is asked for, the last one is {}", parent.last);
        return Err(StoreError::Invalid { what: "place of the fork", reason }.into());
    }
    if fork.owner != *owner {
        let reason = "a fork belongs to the owner of its parent".to_owned();
        return Err(StoreError::Invalid { what: "owner of the fork", reason }.into());
    }
    let mut context = parent.context;
    context.summary = context.summary.filter(|summary| summary.through <= at);
    context.sticky.retain(|place| *place <= at);
    let key = insert(&mut tx, fork, Some(ForkPoint { session, at }), at, &context).await?;
    copy(&mut tx, parent_key, key, at).await?;
    let stored = known(&mut *tx, owner, fork.id).await?.stored(owner)?;
    tx.commit().await?;
    Ok(stored)
}

/// Keeps a session from being deleted until the transaction ends. Its other writers do not wait.
async fn hold(conn: &mut PgConnection, session: SessionId) -> Result<(), Error> {
    sqlx::query("SELECT key FROM hermes_session WHERE id = $1 FOR KEY SHARE")
        .bind(session.as_uuid())
        .execute(conn)
        .await?;
    Ok(())
}

/// Copies the log up to and including `at`, with the terms: the owner is the same.
async fn copy(conn: &mut PgConnection, from: i64, to: i64, at: Seq) -> Result<(), Error> {
    let copied = sqlx::query(
        "INSERT INTO hermes_message
             (session, place, created, tokens, step, sticky, turn_start, counter, body, provider, terms)
         SELECT $2, place, created, tokens, step, sticky, turn_start, counter, body, provider, terms
         FROM hermes_message WHERE session = $1 AND place <= $3",
    )
    .bind(from)
    .bind(to)
    .bind(signed(at.get()))
    .execute(conn)
    .await?
    .rows_affected();
    if copied == at.get() {
        return Ok(());
    }
    Err(Error::damaged("log", format_args!("it has {copied} messages up to {at}")))
}
