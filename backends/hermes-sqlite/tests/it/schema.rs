//! The schema: made by many at once, newer than ours, or not one at all (B4).

use std::error::Error;
use std::path::Path;

use hermes_core::{NewMessage, Seq, SessionStore, StoreError};
use hermes_sqlite::{SqliteConfig, SqliteStore};
use sqlx::{Connection, Executor};

use crate::fixture::{check_integrity, guard, open, owner, raw, session};
use crate::process::{Process, ready};

pub(crate) async fn migrate_child(file: &Path) {
    ready();
    let store = open(file).await;
    session(&store).await;
}

#[tokio::test]
async fn many_processes_may_migrate_one_new_file_at_once() {
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hermes.db");
        let mut processes: Vec<_> = (0..6).map(|_| Process::start("migrate", &file, "")).collect();
        for process in &mut processes {
            process.go();
        }
        for process in processes {
            process.finish();
        }
        let mut conn = raw(&file).await;
        let applied: Vec<i64> =
            sqlx::query_scalar("SELECT version FROM hermes_migration").fetch_all(&mut conn).await.unwrap();
        assert_eq!(applied, [1]);
        let sessions: i64 =
            sqlx::query_scalar("SELECT count(*) FROM hermes_session").fetch_one(&mut conn).await.unwrap();
        assert_eq!(sessions, 6);
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut conn).await.unwrap();
        assert_eq!(mode, "wal");
        conn.close().await.unwrap();
        check_integrity(&file).await;
    }
}

async fn refusal(file: &Path) -> StoreError {
    SqliteStore::with_config(SqliteConfig::new(file)).await.unwrap_err()
}

/// Makes a database, changes it behind the store's back, and says how the store refuses it; the file must stay as it is.
async fn refusal_after(change: &'static str) -> StoreError {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hermes.db");
    open(&file).await.close().await;
    let mut conn = raw(&file).await;
    conn.execute(change).await.unwrap();
    conn.close().await.unwrap();
    let before = std::fs::read(&file).unwrap();
    let error = refusal(&file).await;
    assert_eq!(std::fs::read(&file).unwrap(), before, "the file was touched");
    error
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let error = refusal_after(
        "INSERT INTO hermes_migration (version, name, checksum, applied) VALUES (99, 'later', x'00', 0)",
    )
    .await;
    assert!(
        matches!(error, StoreError::NewerSchema { backend: "sqlite", found: 99, supported: 1 }),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "the sqlite database has schema 99, this program knows up to 1: use a newer Hermes"
    );
}

#[tokio::test]
async fn a_schema_of_another_build_is_refused_and_left_alone() {
    let error = refusal_after("UPDATE hermes_migration SET checksum = x'00' WHERE version = 1").await;
    assert!(matches!(error, StoreError::Corrupt { what: "schema", .. }), "{error:?}");
}

#[tokio::test]
async fn what_is_no_database_is_refused_and_left_alone() {
    for content in [b"hello\n".to_vec(), b"# Shopping list\n".repeat(1_000), vec![0xff; 8_192]] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.txt");
        std::fs::write(&file, &content).unwrap();
        let error = refusal(&file).await;
        assert!(matches!(error, StoreError::Corrupt { what: "database", .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("notes.txt is not a SQLite database"), "{text}");
        assert_eq!(std::fs::read(&file).unwrap(), content);
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [file]);
    }
}

#[tokio::test]
async fn damaged_pages_are_reported_when_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hermes.db");
    let store = open(&file).await;
    let id = session(&store).await;
    let long = vec![NewMessage::user("word ".repeat(50)); 500];
    store.append(&owner(), id, Seq::START, &long, guard()).await.unwrap();
    store.close().await;
    // The header and the schema stay; everything after it is overwritten.
    let mut bytes = std::fs::read(&file).unwrap();
    let mut conn = raw(&file).await;
    let page: i64 = sqlx::query_scalar("SELECT rootpage FROM sqlite_schema WHERE name = 'hermes_message'")
        .fetch_one(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
    let start = usize::try_from(page - 1).unwrap() * 4_096;
    bytes[start..start + 4_096].fill(0xab);
    std::fs::write(&file, &bytes).unwrap();

    let store = open(&file).await;
    let query = hermes_core::LogQuery::newest(hermes_core::Limit::MAX);
    let error = store.page(&owner(), id, &query).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { what: "database", .. }), "{error:?}");
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = refusal(&folder.path().join("no such folder").join("hermes.db")).await;
    assert!(matches!(error, StoreError::Backend { op: "connect", transient: false, .. }), "{error:?}");
    let source = error.source().unwrap().to_string();
    assert!(source.contains("no such folder"), "{source}");
}
