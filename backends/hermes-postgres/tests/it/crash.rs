//! A process that is killed loses nothing that was acknowledged (S9, L5).

use crate::ground::Ground;

use hermes_core::{PageRequest, SearchQuery, SessionStore};
use hermes_postgres::{PostgresConfig, PostgresStore};
use sqlx::PgConnection;

use crate::fixture::{ground, guard, last, log, open, owner, parse, raw, session, texts, two};
use crate::process::{Process, ready, say};

/// A configuration whose connections the server knows by the name of their schema.
fn named(ground: &Ground) -> PostgresConfig {
    let mut config = ground.config();
    let joint = if config.url.contains('?') { '&' } else { '?' };
    config.url = format!("{}{joint}application_name={}", config.url, ground.schema);
    config
}

/// Waits until the server has noticed that the killed process is gone, and has finished or undone what that had begun.
async fn gone(conn: &mut PgConnection, ground: &Ground) {
    loop {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
        let left: i64 = sqlx::query_scalar(sql).bind(&ground.schema).fetch_one(&mut *conn).await.unwrap();
        if left == 0 {
            break;
        }
    }
}

/// Appends two messages at a time, and says so after each, until it is killed.
pub(crate) async fn child(ground: &Ground, input: &str) {
    let id = parse(input);
    let store = PostgresStore::with_config(named(ground)).await.unwrap();
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
    let Some(ground) = ground() else { return };
    let store = open(&ground).await;
    let id = session(&store).await;
    let mut conn = raw(&ground).await;

    for round in 0..hermes_testkit::endurance::rounds(20, 500) {
        let mut writer = Process::start("crash", &ground, &id.to_string());
        writer.go();
        let mut acknowledged = String::new();
        for _ in 0..=round % 5 {
            acknowledged = writer.line().unwrap();
        }
        // What it said before it died counts too.
        if let Some(line) = writer.kill().pop() {
            acknowledged = line;
        }
        gone(&mut conn, &ground).await;

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
    }
}
