//! What the tests have in common.

use std::str::FromStr;

use hermes_core::{
    Limit, LogQuery, Message, NewMessage, NewSession, Owner, Seq, SessionId, SessionStore, TenantId, UserId,
    WriteGuard,
};
use hermes_postgres::PostgresStore;
use jiff::Timestamp;
use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;

use crate::ground::Ground;

/// A schema on the server; without one it is said, and the test returns.
pub(crate) fn ground() -> Option<Ground> {
    hermes_testkit::server::url("postgres").map(|url| Ground::new(&url))
}

pub(crate) fn owner() -> Owner {
    Owner::new(TenantId::new("acme").unwrap(), UserId::new("dana").unwrap())
}

/// Some seconds into the tests' time.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + seconds).unwrap()
}

pub(crate) fn guard() -> WriteGuard {
    WriteGuard::unleased(at(0))
}

pub(crate) async fn open(ground: &Ground) -> PostgresStore {
    PostgresStore::with_config(ground.config()).await.unwrap()
}

pub(crate) async fn session(store: &PostgresStore) -> SessionId {
    store.create(&NewSession::new(owner(), "Test", at(0))).await.unwrap().record.id
}

pub(crate) async fn last(store: &PostgresStore, session: SessionId) -> Seq {
    store.get(&owner(), session).await.unwrap().unwrap().state.last
}

/// The whole log, whose places have been checked.
pub(crate) async fn log(store: &PostgresStore, session: SessionId) -> Vec<Message> {
    let mut log: Vec<Message> = Vec::new();
    loop {
        let from = log.last().map_or(Seq::START, |message| message.seq().next());
        let page = store.page(&owner(), session, &LogQuery::forward(from, Limit::MAX)).await.unwrap();
        log.extend(page.messages);
        if !page.more {
            break;
        }
    }
    let places: Vec<u64> = log.iter().map(|message| message.seq().get()).collect();
    assert_eq!(places, (1..=u64::try_from(log.len()).unwrap()).collect::<Vec<_>>());
    assert_eq!(last(store, session).await.get(), u64::try_from(log.len()).unwrap());
    log
}

pub(crate) fn texts(log: &[Message]) -> Vec<String> {
    log.iter().map(Message::text).collect()
}

pub(crate) fn two(a: impl Into<String>, b: impl Into<String>) -> [NewMessage; 2] {
    [NewMessage::user(a), NewMessage::assistant(b)]
}

pub(crate) fn parse<T: FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} cannot be read"))
}

/// A connection beside the store's own, in its schema.
pub(crate) async fn raw(ground: &Ground) -> PgConnection {
    use sqlx::ConnectOptions;
    let options: PgConnectOptions = ground.config().url.parse().unwrap();
    options.options([("search_path", &ground.schema)]).connect().await.unwrap()
}

/// An error with all that is behind it, as a program shows it.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let texts: Vec<_> =
        std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect();
    texts.join(": ")
}
