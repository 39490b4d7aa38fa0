//! Servers that are not there, and connections that end.

use hermes_core::{SessionStore, StoreError};
use hermes_postgres::{PostgresConfig, PostgresStore};
use sqlx::Connection;

use crate::fixture::{chain, ground, guard, last, log, owner, raw, session, two};

async fn failure(url: &str) -> StoreError {
    PostgresStore::connect(url).await.unwrap_err()
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_the_password() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = failure(&format!("postgres://dana:secret@127.0.0.1:{port}/hermes")).await;
    assert!(error.is_transient(), "a server may be started: {error:?}");
    let text = chain(&error);
    let place = format!("cannot connect to the database hermes at 127.0.0.1:{port} as dana");
    assert!(text.starts_with(&format!("postgres: connect failed: {place}")), "{text}");
    assert!(!format!("{text} {error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named_without_the_password() {
    let Some(ground) = ground() else { return };
    let (_, server) = ground.url.split_once('@').unwrap();
    let (server, _) = server.split_once('/').unwrap();
    let error = failure(&format!("postgres://postgres:secret@{server}/{}", ground.schema)).await;
    assert!(!error.is_transient(), "{error:?}");
    let text = chain(&error);
    assert!(text.contains(&format!("database \"{}\" does not exist", ground.schema)), "{text}");
    assert!(!format!("{text} {error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn a_store_shows_no_password() {
    let Some(ground) = ground() else { return };
    let mut config = ground.config();
    // The server trusts everybody and never asks for it.
    let joint = if config.url.contains('?') { '&' } else { '?' };
    config.url = format!("{}{joint}password=secret", config.url);
    let store = PostgresStore::with_config(config).await.unwrap();
    let id = session(&store).await;
    assert!(!format!("{store:?}").contains("secret"), "{store:?}");
    store.close().await;
    let error = store.get(&owner(), id).await.unwrap_err();
    assert!(!error.is_transient() && !format!("{error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn what_is_no_address_is_refused_in_one_sentence() {
    let error = failure("postgres://dana:secret@host:port/hermes").await;
    assert_eq!(
        error.to_string(),
        "invalid database address: it cannot be read: expected postgres://user:password@host:port/database"
    );
    assert!(std::error::Error::source(&error).is_none());
}

#[tokio::test]
async fn a_store_outlives_its_connections() {
    let Some(ground) = ground() else { return };
    let mut config: PostgresConfig = ground.config().with_connections(2);
    let joint = if config.url.contains('?') { '&' } else { '?' };
    config.url = format!("{}{joint}application_name={}", config.url, ground.schema);
    let store = PostgresStore::with_config(config).await.unwrap();
    let id = session(&store).await;
    let mut conn = raw(&ground).await;
    for round in 0..5 {
        let sql = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1";
        let ended: Vec<bool> =
            sqlx::query_scalar(sql).bind(&ground.schema).fetch_all(&mut conn).await.unwrap();
        assert!(!ended.is_empty() && ended.iter().all(|ended| *ended), "round {round}: {ended:?}");
        // Each connection is found to be gone once at the most, and that may be tried again.
        let mut lost = 0;
        let expected = loop {
            match store.get(&owner(), id).await {
                Ok(stored) => break stored.unwrap().state.last,
                Err(error) => {
                    assert!(error.is_transient(), "{error:?}");
                    lost += 1;
                    assert!(lost <= 2, "the pool keeps what is gone");
                }
            }
        };
        store.append(&owner(), id, expected, &two("a", "b"), guard()).await.unwrap();
    }
    assert_eq!(last(&store, id).await.get(), 10);
    assert_eq!(log(&store, id).await.len(), 10);
    conn.close().await.unwrap();
}
