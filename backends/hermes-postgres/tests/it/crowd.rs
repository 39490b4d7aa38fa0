//! A crowd on one database: 64 tasks in four processes append to 16 sessions (S9).

use std::collections::BTreeSet;
use std::time::Duration;

use hermes_core::{NewMessage, SessionId, SessionStore, StoreError};
use hermes_postgres::PostgresStore;
use tokio::task::JoinSet;

use crate::fixture::{ground, guard, last, log, open, owner, parse, session, texts};
use crate::ground::Ground;
use crate::process::{Process, ready, say};

const PROCESSES: usize = 4;
const TASKS: usize = 16;
const SESSIONS: usize = 16;
/// The messages of a turn.
const PARTS: [&str; 3] = ["asks", "looks", "answers"];

/// How long the crowd goes on.
fn span() -> Duration {
    Duration::from_secs(u64::from(hermes_testkit::endurance::rounds(5, 60)))
}

/// Appends turns to the sessions in turn until the time is over; gives how many were acknowledged.
async fn append_turns(store: PostgresStore, sessions: Vec<SessionId>, name: String) -> usize {
    let mut acknowledged = 0;
    let work = async {
        for (n, id) in sessions.iter().cycle().enumerate() {
            let turn: Vec<NewMessage> =
                PARTS.iter().map(|part| NewMessage::user(format!("{name}.{n} {part}"))).collect();
            let mut expected = last(&store, *id).await;
            loop {
                match store.append(&owner(), *id, expected, &turn, guard()).await {
                    Ok(stored) => break assert_eq!(stored[0].seq(), expected.next()),
                    // Every loser is told that it lost, and to whom it has to catch up.
                    Err(StoreError::Conflict { actual, .. }) => expected = actual,
                    Err(other) => panic!("{name} saw {other:?}"),
                }
            }
            acknowledged += 1;
        }
    };
    // What is under way when the time is over may be stored without being counted.
    let _over = tokio::time::timeout(span(), work).await;
    acknowledged
}

pub(crate) async fn child(ground: &Ground, input: &str) {
    let (process, sessions) = input.split_once(':').unwrap();
    let sessions: Vec<SessionId> = sessions.split(',').map(parse).collect();
    let store = open(ground).await;
    ready();
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let mut sessions = sessions.clone();
        sessions.rotate_left(task % SESSIONS);
        tasks.spawn(append_turns(store.clone(), sessions, format!("{process}.{task}")));
    }
    let acknowledged: usize = tasks.join_all().await.into_iter().sum();
    store.close().await;
    say(&acknowledged.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_tasks_in_four_processes_lose_double_and_part_no_turn() {
    let Some(ground) = ground() else { return };
    let store = open(&ground).await;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(session(&store).await);
    }
    let names: Vec<String> = sessions.iter().map(ToString::to_string).collect();
    let start = |process| Process::start("crowd", &ground, &format!("p{process}:{}", names.join(",")));
    let mut processes: Vec<Process> = (0..PROCESSES).map(start).collect();
    processes.iter_mut().for_each(Process::go);
    let acknowledged = tokio::task::spawn_blocking(move || {
        let count = |mut process: Process| {
            let said: usize = parse(&process.line().unwrap());
            process.finish();
            said
        };
        processes.into_iter().map(count).sum::<usize>()
    });
    let acknowledged = acknowledged.await.unwrap();

    let (mut turns, mut seen) = (0, BTreeSet::new());
    for id in sessions {
        let log = texts(&log(&store, id).await);
        for turn in log.chunks(PARTS.len()) {
            let name = turn[0].strip_suffix(PARTS[0]).unwrap();
            let expected: Vec<String> = PARTS.iter().map(|part| format!("{name}{part}")).collect();
            assert_eq!(turn, expected, "a turn is parted");
            assert!(seen.insert(name.to_owned()), "{name} is there twice");
            turns += 1;
        }
    }
    assert!(acknowledged > 0, "nothing was appended");
    // At the end each task may have had one turn under way that was stored and not counted.
    let under_way = PROCESSES * TASKS;
    assert!(
        (acknowledged..=acknowledged + under_way).contains(&turns),
        "{turns} turns, {acknowledged} acknowledged"
    );
}
