//! Looking after what is kept (R8).

use std::time::Duration;

use hermes_core::{Layer, Limit, MemoryKind, MemoryStatus, Score};
use hermes_inmemory::InMemoryStore;
use hermes_memory::{Draft, Memory, RecallRequest, TidyReport};

use crate::support::{contents, dana, learn, memory, turn, with_status};

const WHEN: &str = "2026-12-01T11:00:00Z";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn likes(memory: Memory, seq: u64, thing: &str) -> Memory {
    let said = format!("I like {thing}");
    let draft = Draft::new(MemoryKind::Preference, format!("The user likes {thing}"), Score::ONE)
        .with_quote(said.as_str());
    learn(memory, &turn(seq, &said, WHEN), vec![draft]).await.0
}

#[tokio::test]
async fn what_was_recalled_becomes_lasting_and_the_rest_goes_after_seven_days() {
    let (memory, clock) = memory();
    let memory = likes(likes(memory, 1, "green tea").await, 2, "brass music").await;
    let recall = memory.recall(&dana(), &RecallRequest::new("green tea")).await;
    memory.mark_recalled(&dana(), &recall).await.unwrap();
    clock.advance(6 * DAY);
    let report = memory.tidy(&dana(), Limit::default()).await.unwrap();
    assert_eq!(report, TidyReport { seen: 2, promoted: recall.ids(), retired: vec![], finished: true });
    assert_eq!(memory.collect(Limit::default()).await.unwrap(), 0);
    clock.advance(DAY);
    assert_eq!(memory.collect(Limit::default()).await.unwrap(), 1);
    let left = with_status(&memory, &dana(), MemoryStatus::Active).await;
    assert_eq!(contents(&left), ["The user likes green tea"]);
    assert_eq!((left[0].id, left[0].layer), (recall.ids()[0], Layer::Semantic));
}

#[tokio::test]
async fn a_memory_that_is_over_is_not_recalled_before_it_is_collected() {
    let (memory, clock) = memory();
    let memory = likes(memory, 1, "green tea").await;
    clock.advance(7 * DAY);
    assert!(memory.recall(&dana(), &RecallRequest::new("green tea")).await.is_empty());
}

#[tokio::test]
async fn a_run_is_bounded_and_the_next_goes_on_from_there() {
    let mut memory = memory().0.with_state(InMemoryStore::new());
    for (seq, thing) in (1..).zip(["green tea", "brass music", "old maps", "rye bread", "long walks"]) {
        memory = likes(memory, seq, thing).await;
        let recall = memory.recall(&dana(), &RecallRequest::new(thing)).await;
        memory.mark_recalled(&dana(), &recall).await.unwrap();
    }
    let mut promoted = 0;
    for (seen, finished) in [(2, false), (2, false), (1, true), (0, true)] {
        let report = memory.tidy(&dana(), Limit::new(2)).await.unwrap();
        assert_eq!((report.seen, report.finished), (seen, finished));
        promoted += report.promoted.len();
    }
    assert_eq!(promoted, 5);
    let records = memory.export(&dana()).await.unwrap();
    assert!(records.len() == 5 && records.iter().all(|record| record.layer == Layer::Semantic));
}
