//! A process that is killed loses nothing that was acknowledged (S9, L5).

use std::path::Path;

use hermes_core::{PageRequest, SearchQuery, SessionStore};

use crate::fixture::{check_integrity, guard, last, log, open, owner, parse, session, texts, two};
use crate::process::{Process, ready, say};

/// Appends two messages at a time, and says so after each, until it is killed.
pub(crate) async fn child(file: &Path, input: &str) {
    let id = parse(input);
    let store = open(file).await;
    ready();
    loop {
        let end = last(&store, id).await;
        let (a, b) = (end.next(), end.plus(2));
        store.append(&owner(), id, end, &two(format!("word{a}"), format!("word{b}")), guard()).await.unwrap();
        say(&b.to_string());
    }
}

#[tokio::test]
async fn a_killed_writer_leaves_every_acknowledged_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hermes.db");
    let store = open(&file).await;
    let id = session(&store).await;
    store.close().await;

    for round in 0..hermes_testkit::endurance::rounds(20, 500) {
        let mut writer = Process::start("crash", &file, &id.to_string());
        writer.go();
        let mut acknowledged = String::new();
        for _ in 0..=round % 5 {
            acknowledged = writer.line().unwrap();
        }
        // What it said before it died counts too.
        if let Some(line) = writer.kill().pop() {
            acknowledged = line;
        }

        let store = open(&file).await;
        let log = log(&store, id).await;
        let acknowledged: usize = parse(&acknowledged);
        assert!(log.len() >= acknowledged, "round {round}: {} of {acknowledged} are left", log.len());
        assert_eq!(log.len() % 2, 0, "round {round}: an append is there in part");
        let expected: Vec<String> = (1..=log.len()).map(|n| format!("word{n}")).collect();
        assert_eq!(texts(&log), expected, "round {round}");
        // The index of terms is of the same transaction.
        let query =
            SearchQuery { text: format!("word{}", log.len()), session: None, page: PageRequest::default() };
        let found = store.search(&owner(), &query).await.unwrap().items;
        assert_eq!(found.iter().map(|hit| &hit.message).collect::<Vec<_>>(), [log.last().unwrap()]);
        store.close().await;
    }
    check_integrity(&file).await;
}
