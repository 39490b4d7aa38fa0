//! The schema: made by many at once, newer than ours, or of another build (B4).

use hermes_core::{PageRequest, SessionStore, StoreError};
use hermes_postgres::PostgresStore;
use sqlx::{AssertSqlSafe, Connection, Executor};

use crate::fixture::{ground, open, owner, raw, session};
use crate::ground::Ground;
use crate::process::{Process, ready};

pub(crate) async fn migrate_child(ground: &Ground) {
    ready();
    let store = open(ground).await;
    session(&store).await;
}

#[tokio::test]
async fn many_processes_may_migrate_one_new_schema_at_once() {
    for _ in 0..3 {
        let Some(ground) = ground() else { return };
        let mut processes: Vec<_> = (0..6).map(|_| Process::start("migrate", &ground, "")).collect();
        for process in &mut processes {
            process.go();
        }
        for process in processes {
            process.finish();
        }
        let mut conn = raw(&ground).await;
        let applied: Vec<i64> =
            sqlx::query_scalar("SELECT version FROM hermes_migration").fetch_all(&mut conn).await.unwrap();
        assert_eq!(applied, [1]);
        let sessions: i64 =
            sqlx::query_scalar("SELECT count(*) FROM hermes_session").fetch_one(&mut conn).await.unwrap();
        assert_eq!(sessions, 6);
    }
}

/// All that a schema holds, as the server's catalogue has it, and what was migrated.
async fn catalogue(ground: &Ground) -> Vec<String> {
    let mut conn = raw(ground).await;
    let sql =
        "SELECT format('%s %s %s', oid, relname, xmin) FROM pg_class WHERE relnamespace = $1::regnamespace
               UNION ALL SELECT format('%s %s', m, xmin) FROM hermes_migration m ORDER BY 1";
    sqlx::query_scalar(sql).bind(&ground.schema).fetch_all(&mut conn).await.unwrap()
}

/// Makes a schema, changes it behind the store's back, and says how the store refuses it; it must stay as it is.
async fn refusal_after(ground: &Ground, change: &'static str) -> StoreError {
    open(ground).await.close().await;
    let mut conn = raw(ground).await;
    conn.execute(change).await.unwrap();
    conn.close().await.unwrap();
    let before = catalogue(ground).await;
    let error = PostgresStore::with_config(ground.config()).await.unwrap_err();
    assert_eq!(catalogue(ground).await, before, "the schema was touched");
    error
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let Some(ground) = ground() else { return };
    let error = refusal_after(
        &ground,
        "INSERT INTO hermes_migration (version, name, checksum, applied) VALUES (99, 'later', '\\x00', 0)",
    )
    .await;
    assert!(
        matches!(error, StoreError::NewerSchema { backend: "postgres", found: 99, supported: 1 }),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "the postgres database has schema 99, this program knows up to 1: use a newer Hermes"
    );
}

#[tokio::test]
async fn a_schema_of_another_build_is_refused_and_left_alone() {
    let Some(ground) = ground() else { return };
    let error =
        refusal_after(&ground, "UPDATE hermes_migration SET checksum = '\\x00' WHERE version = 1").await;
    assert!(matches!(error, StoreError::Corrupt { what: "schema", .. }), "{error:?}");
}

#[tokio::test]
async fn stores_in_two_schemas_know_nothing_of_each_other() {
    let (Some(ours), Some(theirs)) = (ground(), ground()) else { return };
    let (store, other) = (open(&ours).await, open(&theirs).await);
    session(&store).await;
    assert_eq!(store.list(&owner(), &PageRequest::default()).await.unwrap().items.len(), 1);
    assert_eq!(other.list(&owner(), &PageRequest::default()).await.unwrap().items.len(), 0);
}

#[tokio::test]
async fn a_schema_that_is_there_needs_no_right_to_make_one() {
    let Some(ground) = ground() else { return };
    let role = &ground.schema;
    let mut conn = raw(&ground).await;
    conn.execute(AssertSqlSafe(format!("CREATE ROLE {role} LOGIN"))).await.unwrap();
    conn.execute(AssertSqlSafe(format!("CREATE SCHEMA {role} AUTHORIZATION {role}"))).await.unwrap();
    let mut config = ground.config();
    let joint = if config.url.contains('?') { '&' } else { '?' };
    config.url = format!("{}{joint}user={role}", config.url);
    let store = PostgresStore::with_config(config).await;
    let made = match &store {
        Ok(store) => store.list(&owner(), &PageRequest::default()).await.map(|page| page.items.len()),
        Err(_) => Ok(1),
    };
    if let Ok(store) = &store {
        store.close().await;
    }
    // Before the checks, so that no role is left when they fail.
    conn.execute(AssertSqlSafe(format!("DROP OWNED BY {role} CASCADE"))).await.unwrap();
    conn.execute(AssertSqlSafe(format!("DROP ROLE {role}"))).await.unwrap();
    store.unwrap();
    assert_eq!(made.unwrap(), 0);
}

#[tokio::test]
async fn a_database_in_another_encoding_is_refused() {
    let Some(ground) = ground() else { return };
    let name = &ground.schema;
    let mut conn = raw(&ground).await;
    let make = format!("CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    conn.execute(AssertSqlSafe(make)).await.unwrap();
    let mut config = ground.config();
    let joint = if config.url.contains('?') { '&' } else { '?' };
    config.url = format!("{}{joint}dbname={name}", config.url);
    let error = PostgresStore::with_config(config).await.unwrap_err();
    conn.execute(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.unwrap();
    assert!(matches!(error, StoreError::Invalid { what: "database", .. }), "{error:?}");
    assert!(error.to_string().contains("SQL_ASCII"), "{error}");
}
