//! The log of a session: appending, the one door, and reading.

use hermes_core::{
    Limit, LogFilter, LogPage, LogQuery, Message, NewMessage, Order, Owner, Role, Seq, SessionId, StoreError,
    WriteGuard,
};
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use crate::cursor::one_more;
use crate::error::Error;
use crate::row::{MessageRow, message_columns, signed, to_json};
use crate::session::{key, not_found, writable};
use crate::store::PostgresStore;
use crate::term;

pub(crate) async fn append(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    expected: Seq,
    messages: &[NewMessage],
    guard: WriteGuard,
) -> Result<Vec<Message>, Error> {
    // What takes time is done before the session is locked.
    let messages: Vec<Message> = (1..)
        .zip(messages)
        .map(|(n, new)| Message::from_new(new.clone(), expected.plus(n), guard.at))
        .collect();
    let rows = Rows::new(owner, &messages)?;
    let mut tx = store.begin().await?;
    let standing = writable(&mut tx, owner, session, guard).await?;
    let actual = standing.last()?;
    if actual != expected {
        return Err(StoreError::Conflict { session, expected, actual }.into());
    }
    if let Some(last) = messages.last() {
        rows.insert(&mut tx, standing.key, last.seq(), guard).await?;
    }
    tx.commit().await?;
    Ok(messages)
}

/// Messages as columns, so that one statement stores all.
#[derive(Debug, Default)]
struct Rows {
    places: Vec<i64>,
    created: Vec<i64>,
    tokens: Vec<Option<i64>>,
    steps: Vec<Option<Uuid>>,
    sticky: Vec<bool>,
    turn_starts: Vec<bool>,
    counters: Vec<Option<String>>,
    bodies: Vec<String>,
    providers: Vec<Option<String>>,
    /// What each is found by, joined by spaces: arrays of arrays would have to be of one length.
    terms: Vec<String>,
}

impl Rows {
    fn new(owner: &Owner, messages: &[Message]) -> Result<Self, Error> {
        let mut rows = Self::default();
        for message in messages {
            let provider = message.provider();
            let provider =
                if provider.is_empty() { None } else { Some(to_json("provider metadata", provider)?) };
            rows.places.push(signed(message.seq().get()));
            rows.created.push(message.created().as_microsecond());
            rows.tokens.push(message.tokens().map(|count| count.tokens.get().into()));
            rows.steps.push(message.step().map(|step| *step.as_uuid()));
            rows.sticky.push(message.is_sticky());
            rows.turn_starts.push(message.role() == Role::User);
            rows.counters.push(message.tokens().map(|count| count.counter.to_string()));
            rows.bodies.push(to_json("message", message.body())?);
            rows.providers.push(provider);
            rows.terms.push(term::of_message(owner, message));
        }
        Ok(rows)
    }

    /// Stores them and moves their session on.
    async fn insert(
        self,
        conn: &mut PgConnection,
        session: i64,
        last: Seq,
        guard: WriteGuard,
    ) -> Result<(), Error> {
        sqlx::query(
            "WITH moved AS (UPDATE hermes_session SET last = $12, updated = $13 WHERE key = $1)
             INSERT INTO hermes_message
                 (session, place, created, tokens, step, sticky, turn_start, counter, body, provider, terms)
             SELECT $1, place, created, tokens, step, sticky, turn_start, counter, body, provider,
                 string_to_array(terms, ' ')
             FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::boolean[], $7::boolean[],
                 $8::text[], $9::text[], $10::text[], $11::text[])
                 AS new (place, created, tokens, step, sticky, turn_start, counter, body, provider, terms)",
        )
        .bind(session)
        .bind(self.places)
        .bind(self.created)
        .bind(self.tokens)
        .bind(self.steps)
        .bind(self.sticky)
        .bind(self.turn_starts)
        .bind(self.counters)
        .bind(self.bodies)
        .bind(self.providers)
        .bind(self.terms)
        .bind(signed(last.get()))
        .bind(guard.at.as_microsecond())
        .execute(conn)
        .await?;
        Ok(())
    }
}

/// A page of a log, by one index or the other.
macro_rules! page_sql {
    ($filter:literal, $order:literal) => {
        concat!(
            "SELECT ",
            message_columns!(),
            " FROM hermes_message m WHERE m.session = $1 AND m.place BETWEEN $2 AND $3 ",
            $filter,
            " ORDER BY m.place ",
            $order,
            " LIMIT $4"
        )
    };
}

fn sql_for(query: &LogQuery) -> Result<&'static str, Error> {
    Ok(match (query.filter, query.order) {
        (LogFilter::All, Order::Ascending) => page_sql!("", "ASC"),
        (LogFilter::All, Order::Descending) => page_sql!("", "DESC"),
        (LogFilter::Sticky, Order::Ascending) => page_sql!("AND m.sticky", "ASC"),
        (LogFilter::Sticky, Order::Descending) => page_sql!("AND m.sticky", "DESC"),
        (LogFilter::TurnStarts, Order::Ascending) => page_sql!("AND m.turn_start", "ASC"),
        (LogFilter::TurnStarts, Order::Descending) => page_sql!("AND m.turn_start", "DESC"),
        (unknown, _) => {
            let reason = format!("this version of the PostgreSQL store does not know {unknown:?}");
            return Err(StoreError::Invalid { what: "log filter", reason }.into());
        }
    })
}

pub(crate) async fn page(
    store: &PostgresStore,
    owner: &Owner,
    session: SessionId,
    query: &LogQuery,
) -> Result<LogPage, Error> {
    let sql = sql_for(query)?;
    let mut conn = store.reads().acquire().await?;
    let key = key(&mut *conn, owner, session).await?.ok_or_else(|| not_found(session))?;
    let mut rows: Vec<MessageRow> = sqlx::query_as(sql)
        .bind(key)
        .bind(signed(query.from.get()))
        .bind(signed(query.to.get()))
        .bind(one_more(query.limit))
        .fetch_all(&mut *conn)
        .await?;
    let more = rows.len() > query.limit.get();
    rows.truncate(query.limit.get());
    Ok(LogPage { messages: rows.into_iter().map(Message::try_from).collect::<Result<_, _>>()?, more })
}

pub(crate) async fn messages(
    store: &PostgresStore,
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
    let places: Vec<i64> = places.iter().map(|place| signed(place.get())).collect();
    let rows: Vec<MessageRow> = sqlx::query_as(concat!(
        "SELECT ",
        message_columns!(),
        " FROM hermes_message m WHERE m.session = $1 AND m.place = ANY ($2) ORDER BY m.place"
    ))
    .bind(key)
    .bind(places)
    .fetch_all(&mut *conn)
    .await?;
    rows.into_iter().map(Message::try_from).collect()
}
