//! Several writers, in one process and in two (S9; cases g04 and g27).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_core::{PageRequest, Seq, SessionId, SessionStore, StoreError};
use hermes_sqlite::{Durability, SqliteConfig, SqliteStore};
use sqlx::{Connection, Executor};
use tokio::task::JoinSet;

use crate::fixture::{check_integrity, guard, last, log, open, owner, parse, raw, session, texts, two};
use crate::process::{Process, ready};

/// Appends of each writer; g27 has 100, which takes longer than a test of every day should.
const APPENDS: usize = 25;

/// Starts a writer for each session, with connections of its own.
async fn writers(file: &Path, sessions: Vec<SessionId>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for id in sessions {
        let store = open(file).await;
        tasks.spawn(async move {
            for n in 1..=APPENDS {
                let expected = Seq::new(u64::try_from(n - 1).unwrap());
                let message = hermes_core::NewMessage::user(format!("message {n}"));
                store.append(&owner(), id, expected, &[message], guard()).await.unwrap();
            }
        });
    }
    tasks
}

pub(crate) async fn writers_child(file: &Path, input: &str) {
    ready();
    writers(file, input.split(',').map(parse).collect()).await.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_writers_in_two_processes_lose_nothing_and_see_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hermes.db");
    let store = open(&file).await;
    let mut sessions = Vec::new();
    for _ in 0..8 {
        sessions.push(session(&store).await);
    }
    let (ours, theirs) = sessions.split_at(4);

    let theirs: Vec<String> = theirs.iter().map(ToString::to_string).collect();
    let mut other = Process::start("writers", &file, &theirs.join(","));
    let done = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn({
        let (store, done) = (store.clone(), Arc::clone(&done));
        async move {
            while !done.load(Ordering::Relaxed) {
                let page = store.list(&owner(), &PageRequest::default()).await.unwrap();
                assert_eq!(page.items.len(), 8);
            }
        }
    });
    other.go();
    writers(&file, ours.to_vec()).await.join_all().await;
    tokio::task::spawn_blocking(|| other.finish()).await.unwrap();
    done.store(true, Ordering::Relaxed);
    reader.await.unwrap();

    let expected: Vec<String> = (1..=APPENDS).map(|n| format!("message {n}")).collect();
    for id in sessions {
        assert_eq!(texts(&log(&store, id).await), expected);
    }
    store.close().await;
    check_integrity(&file).await;
}

/// How often each of two processes appends a turn to one session; g04 has 200.
const TURNS: usize = 40;

/// Appends turns of two messages; who comes too late loads and tries again.
async fn pairs(store: &SqliteStore, id: SessionId, name: &str) {
    for n in 1..=TURNS {
        let turn = two(format!("{name}{n} asks"), format!("{name}{n} answers"));
        let mut expected = last(store, id).await;
        loop {
            match store.append(&owner(), id, expected, &turn, guard()).await {
                Ok(stored) => break assert_eq!(stored[0].seq(), expected.next()),
                Err(StoreError::Conflict { actual, .. }) => {
                    assert!(actual > expected);
                    expected = actual;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

pub(crate) async fn pairs_child(file: &Path, input: &str) {
    let store = open(file).await;
    ready();
    pairs(&store, parse(input), "B").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_one_session_never_part_a_turn() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hermes.db");
    let store = open(&file).await;
    let id = session(&store).await;
    let mut other = Process::start("pairs", &file, &id.to_string());
    other.go();
    pairs(&store, id, "A").await;
    tokio::task::spawn_blocking(|| other.finish()).await.unwrap();

    let texts = texts(&log(&store, id).await);
    assert_eq!(texts.len(), 4 * TURNS);
    for name in ["A", "B"] {
        let asked: Vec<_> = (1..=TURNS).map(|n| format!("{name}{n} asks")).collect();
        let order: Vec<_> = texts.iter().filter(|text| asked.contains(text)).collect();
        assert_eq!(order, asked.iter().collect::<Vec<_>>());
    }
    for turn in texts.chunks(2) {
        assert_eq!(turn[0].replace("asks", "answers"), turn[1]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_waits_for_an_outside_writer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hermes.db");
    let store = open(&file).await;
    let id = session(&store).await;

    let mut outside = raw(&file).await;
    let mut writing = outside.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let append = tokio::spawn({
        let store = store.clone();
        async move { store.append(&owner(), id, Seq::START, &two("a", "b"), guard()).await }
    });
    // Readers do not wait for writers.
    assert_eq!(last(&store, id).await, Seq::START);
    writing.execute("CREATE TABLE of_somebody_else (n INTEGER)").await.unwrap();
    assert!(!append.is_finished());
    writing.commit().await.unwrap();
    assert_eq!(append.await.unwrap().unwrap().len(), 2);
    assert_eq!(log(&store, id).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_waits_too_long_may_be_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hermes.db");
    let config = SqliteConfig::new(&file).with_busy_timeout(Duration::from_millis(20));
    let store = SqliteStore::with_config(config).await.unwrap();
    let id = session(&store).await;

    let mut outside = raw(&file).await;
    let writing = outside.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let error = store.append(&owner(), id, Seq::START, &two("a", "b"), guard()).await.unwrap_err();
    assert!(
        matches!(error, StoreError::Backend { backend: "sqlite", op: "append", transient: true, .. }),
        "{error:?}"
    );
    writing.rollback().await.unwrap();
    store.append(&owner(), id, Seq::START, &two("a", "b"), guard()).await.unwrap();
    assert_eq!(log(&store, id).await.len(), 2);
}

#[tokio::test]
async fn any_patience_and_any_number_of_readers_will_do() {
    for (wait, readers) in [(Duration::ZERO, 0), (Duration::MAX, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let config = SqliteConfig::new(folder.path().join("hermes.db"));
        let config = config.with_busy_timeout(wait).with_readers(readers).with_durability(Durability::Normal);
        let store = SqliteStore::with_config(config).await.unwrap();
        let id = session(&store).await;
        store.append(&owner(), id, Seq::START, &two("a", "b"), guard()).await.unwrap();
        assert_eq!(log(&store, id).await.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clones_of_a_store_in_memory_share_it() {
    let store = SqliteStore::connect("sqlite::memory:").await.unwrap();
    let id = session(&store).await;
    let mut tasks = JoinSet::new();
    for name in ["A", "B", "C", "D"] {
        let store = store.clone();
        tasks.spawn(async move { pairs(&store, id, name).await });
    }
    tasks.join_all().await;
    assert_eq!(log(&store, id).await.len(), 8 * TURNS);
}
