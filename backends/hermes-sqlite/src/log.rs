//! The log of a session: appending, the one door, and reading.

use hermes_core::{
    Limit, LogFilter, LogPage, LogQuery, Message, NewMessage, Order, Owner, Role, Seq, SessionId, StoreError,
    WriteGuard,
};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::cursor::one_more;
use crate::error::Error;
use crate::row::{LAST_PLACE, MessageRow, message_columns, message_id, signed, to_json};
use crate::session::{key, not_found, writable};
use crate::store::SqliteStore;

pub(crate) async fn append(
    store: &SqliteStore,
    owner: &Owner,
    session: SessionId,
    expected: Seq,
    messages: &[NewMessage],
    guard: WriteGuard,
) -> Result<Vec<Message>, Error> {
    // What takes time is done before the database is held.
    let entries: Vec<Entry> = (1..)
        .zip(messages)
        .map(|(n, new)| Entry::new(Message::from_new(new.clone(), expected.plus(n), guard.at)))
        .collect::<Result<_, _>>()?;
    let mut tx = store.begin().await?;
    let standing = writable(&mut tx, owner, session, guard).await?;
    let actual = standing.last()?;
    if actual != expected {
        return Err(StoreError::Conflict { session, expected, actual }.into());
    }
    if let Some(last) = entries.last() {
        let last = last.message.seq();
        if last.get() > LAST_PLACE {
            let reason = format!("a log here ends at message {LAST_PLACE}: begin another session");
            return Err(StoreError::Invalid { what: "append", reason }.into());
        }
        let mut chunks = entries.chunks(CHUNK).peekable();
        while let Some(chunk) = chunks.next() {
            let mut sql = insert(standing.key, chunk);
            if chunks.peek().is_none() {
                sql.push("; UPDATE hermes_session SET last = ").push_bind(signed(last.get()));
                sql.push(", updated = ").push_bind(guard.at.as_microsecond());
                sql.push(" WHERE key = ").push_bind(standing.key);
            }
            sql.build().execute(&mut *tx).await?;
        }
    }
    tx.commit().await?;
    Ok(entries.into_iter().map(|entry| entry.message).collect())
}

/// A message with what is stored of it beside its plain parts.
struct Entry {
    message: Message,
    body: String,
    provider: Option<String>,
    /// What it is found by, joined by spaces.
    terms: String,
}

impl Entry {
    fn new(message: Message) -> Result<Self, Error> {
        let provider = message.provider();
        let provider = if provider.is_empty() { None } else { Some(to_json("provider metadata", provider)?) };
        Ok(Self {
            body: to_json("message", message.body())?,
            provider,
            terms: joined_terms(&message),
            message,
        })
    }
}

/// How many messages one call to the database inserts. Each call goes to the connection's thread and back, which takes longer than an
/// insert; each number of messages is a statement of its own, and the connection keeps 100 prepared.
const CHUNK: usize = 16;

/// Inserts these messages and what they are found by.
fn insert(session: i64, entries: &[Entry]) -> QueryBuilder<Sqlite> {
    let mut sql = QueryBuilder::new(
        "INSERT INTO hermes_message (id, created, sticky, turn_start, step, tokens, counter, body, provider) ",
    );
    sql.push_values(entries, |mut row, entry| {
        let message = &entry.message;
        row.push_bind(message_id(session, message.seq()))
            .push_bind(message.created().as_microsecond())
            .push_bind(message.is_sticky())
            .push_bind(message.role() == Role::User)
            .push_bind(message.step().map(|step| step.as_uuid().as_bytes().to_vec()))
            .push_bind(message.tokens().map(|count| count.tokens.get()))
            .push_bind(message.tokens().map(|count| count.counter.as_str()))
            .push_bind(&entry.body)
            .push_bind(entry.provider.as_deref());
    });
    // One without terms, such as a journal entry, is found by nothing.
    let found: Vec<&Entry> = entries.iter().filter(|entry| !entry.terms.is_empty()).collect();
    if !found.is_empty() {
        sql.push("; INSERT INTO hermes_message_terms (rowid, terms) ").push_values(
            found,
            |mut row, entry| {
                row.push_bind(message_id(session, entry.message.seq())).push_bind(&entry.terms);
            },
        );
    }
    sql
}

/// The terms that a message is found by, joined by spaces.
pub(crate) fn joined_terms(message: &Message) -> String {
    hermes_text::index_terms(&message.body().search_text()).join(" ")
}

/// Makes a message findable; one without terms, such as a journal entry, is found by nothing.
pub(crate) async fn insert_terms(conn: &mut SqliteConnection, id: i64, terms: &str) -> Result<(), Error> {
    if !terms.is_empty() {
        sqlx::query("INSERT INTO hermes_message_terms (rowid, terms) VALUES (?, ?)")
            .bind(id)
            .bind(terms)
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// A page of a log, by one index or the other.
macro_rules! page_sql {
    ($from:literal, $filter:literal, $order:literal) => {
        concat!(
            "SELECT ",
            message_columns!(),
            " FROM hermes_message m ",
            $from,
            " WHERE m.id BETWEEN ? AND ? ",
            $filter,
            " ORDER BY m.id ",
            $order,
            " LIMIT ?"
        )
    };
}

fn sql_for(query: &LogQuery) -> Result<&'static str, Error> {
    Ok(match (query.filter, query.order) {
        (LogFilter::All, Order::Ascending) => page_sql!("", "", "ASC"),
        (LogFilter::All, Order::Descending) => page_sql!("", "", "DESC"),
        (LogFilter::Sticky, Order::Ascending) => {
            page_sql!("INDEXED BY hermes_message_sticky", "AND m.sticky = 1", "ASC")
        }
        (LogFilter::Sticky, Order::Descending) => {
            page_sql!("INDEXED BY hermes_message_sticky", "AND m.sticky = 1", "DESC")
        }
        (LogFilter::TurnStarts, Order::Ascending) => {
            page_sql!("INDEXED BY hermes_message_turn_start", "AND m.turn_start = 1", "ASC")
        }
        (LogFilter::TurnStarts, Order::Descending) => {
            page_sql!("INDEXED BY hermes_message_turn_start", "AND m.turn_start = 1", "DESC")
        }
        (unknown, _) => {
            let reason = format!("this version of the SQLite store does not know {unknown:?}");
            return Err(StoreError::Invalid { what: "log filter", reason }.into());
        }
    })
}

pub(crate) async fn page(
    store: &SqliteStore,
    owner: &Owner,
    session: SessionId,
    query: &LogQuery,
) -> Result<LogPage, Error> {
    let sql = sql_for(query)?;
    let mut conn = store.reads().acquire().await?;
    let key = key(&mut *conn, owner, session).await?.ok_or_else(|| not_found(session))?;
    let mut rows: Vec<MessageRow> = sqlx::query_as(sql)
        .bind(message_id(key, query.from))
        .bind(message_id(key, query.to))
        .bind(one_more(query.limit))
        .fetch_all(&mut *conn)
        .await?;
    let more = rows.len() > query.limit.get();
    rows.truncate(query.limit.get());
    Ok(LogPage { messages: rows.into_iter().map(Message::try_from).collect::<Result<_, _>>()?, more })
}

pub(crate) async fn messages(
    store: &SqliteStore,
    owner: &Owner,
    session: SessionId,
    places: &[Seq],
) -> Result<Vec<Message>, Error> {
    if places.len() > Limit::MAX.get() {
        let reason =
            format!("{} are asked for, at most {} are given at once", places.len(), Limit::MAX.get());
        return Err(StoreError::Invalid { what: "places", reason }.into());
    }
    let mut conn = store.reads().acquire().await?;
    let key = key(&mut *conn, owner, session).await?.ok_or_else(|| not_found(session))?;
    let possible = places.iter().filter(|place| place.get() <= LAST_PLACE);
    let ids: Vec<i64> = possible.map(|place| message_id(key, *place)).collect();
    let rows: Vec<MessageRow> = sqlx::query_as(concat!(
        "SELECT ",
        message_columns!(),
        " FROM hermes_message m WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id"
    ))
    .bind(to_json("places", &ids)?)
    .fetch_all(&mut *conn)
    .await?;
    rows.into_iter().map(Message::try_from).collect()
}
