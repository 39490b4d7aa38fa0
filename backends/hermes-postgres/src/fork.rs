//! Forking a session (SS19–SS21).

use hermes_core::{ForkPoint, Message, NewSession, Owner, Seq, SessionId, StoreError, StoredSession};
use sqlx::PgConnection;

use crate::error::Error;
use crate::log::{insert_terms, joined_terms};
use crate::row::{MessageRow, message_columns, message_id};
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

/// How many messages are read at once to make their terms anew.
const STRETCH: i64 = 500;

/// Copies the log up to and including `at`. The index of terms keeps no texts, so the copies' terms are made anew.
async fn copy(conn: &mut PgConnection, from: i64, to: i64, at: Seq) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO hermes_message (id, created, sticky, turn_start, step, tokens, counter, body, provider)
         SELECT id - $1 + $2, created, sticky, turn_start, step, tokens, counter, body, provider
         FROM hermes_message WHERE id BETWEEN $1 AND $3",
    )
    .bind(message_id(from, Seq::START))
    .bind(message_id(to, Seq::START))
    .bind(message_id(from, at))
    .execute(&mut *conn)
    .await?;
    let mut done = Seq::START;
    while done < at {
        let rows: Vec<MessageRow> = sqlx::query_as(concat!(
            "SELECT ",
            message_columns!(),
            " FROM hermes_message m WHERE m.id > ? AND m.id <= ? ORDER BY m.id LIMIT ?"
        ))
        .bind(message_id(to, done))
        .bind(message_id(to, at))
        .bind(STRETCH)
        .fetch_all(&mut *conn)
        .await?;
        if rows.is_empty() {
            return Err(Error::damaged("log", format_args!("it ends at message {done}, before {at}")));
        }
        for row in rows {
            let message = Message::try_from(row)?;
            insert_terms(&mut *conn, message_id(to, message.seq()), &joined_terms(&message)).await?;
            done = message.seq();
        }
    }
    Ok(())
}
