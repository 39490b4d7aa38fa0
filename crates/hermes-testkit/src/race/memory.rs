//! Many who remember the same.

use std::sync::Arc;

use hermes_core::{EpisodicStore, MemoryId, MemoryRecord, SemanticStore, StoreError, Version};

use crate::check::{ok, race};
use crate::sample::{memory, owner};
use crate::semantic_store::{bind, vector};

const RACERS: usize = 16;

/// Checks that one of the results won and the others name it.
fn one_won(clause: &str, results: Vec<Result<MemoryRecord, StoreError>>) -> MemoryRecord {
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let [Ok(winner)] = won.as_slice() else { panic!("{clause}: one wins, not {won:?}") };
    for result in lost {
        match result {
            Err(StoreError::Exists { id, .. }) => {
                assert_eq!(id, winner.id.to_string(), "{clause}: the loser sees the winner")
            }
            other => panic!("{clause}: a loser is told that it exists, not {other:?}"),
        }
    }
    winner.clone()
}

fn one_updated(clause: &str, results: Vec<Result<MemoryRecord, StoreError>>) -> MemoryRecord {
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let [Ok(winner)] = won.as_slice() else { panic!("{clause}: one wins, not {won:?}") };
    for result in lost {
        let mismatch = matches!(result, Err(StoreError::VersionMismatch { actual: 2, .. }));
        assert!(mismatch, "{clause}: a loser gets a mismatch, not {result:?}");
    }
    assert_eq!(winner.version, Version::new(2), "{clause}: the winner's version");
    winner.clone()
}

/// EP2: of many who create the same memory at once, one wins; the others learn which.
pub async fn one_record_is_made(store: Arc<dyn EpisodicStore>) {
    let results = race(RACERS, |_| {
        let store = Arc::clone(&store);
        async move { store.create(&memory("likes tea")).await }
    })
    .await;
    let winner = one_won("EP2", results);
    assert_eq!(ok("EP2", store.get(&owner(), winner.id).await), Some(winner), "EP2: the winner's record");
}

/// EP3: of many who update the same version at once, one wins.
pub async fn one_update_wins(store: Arc<dyn EpisodicStore>) {
    let first = ok("EP3", store.create(&memory("likes tea")).await);
    let results = race(RACERS, |racer| {
        let (store, changed) =
            (Arc::clone(&store), MemoryRecord { content: racer.to_string(), ..first.clone() });
        async move { store.update(&changed).await }
    })
    .await;
    let winner = one_updated("EP3", results);
    assert_eq!(ok("EP3", store.get(&owner(), winner.id).await), Some(winner), "EP3: the winner's content");
}

/// EP7: recalls that are counted at once are all counted.
pub async fn every_recall_counts(store: Arc<dyn EpisodicStore>) {
    let record: MemoryId = ok("EP7", store.create(&memory("likes tea")).await).id;
    race(RACERS, |_| {
        let store = Arc::clone(&store);
        async move { ok("EP7", store.touch(&owner(), &[record], crate::sample::at(9)).await) }
    })
    .await;
    let touched = ok("EP7", store.get(&owner(), record).await).expect("EP7: the record is there");
    assert_eq!(touched.recall_count, 16, "EP7: every recall counts once");
}

/// SE1 (EP2): of many who create the same memory at once, one wins; the others learn which.
pub async fn one_vector_record_is_made(store: Arc<dyn SemanticStore>) {
    bind("SE1 (EP2)", store.as_ref()).await;
    let results = race(RACERS, |_| {
        let store = Arc::clone(&store);
        async move { store.create(&memory("likes tea"), &vector([1.0, 0.0, 0.0])).await }
    })
    .await;
    let winner = one_won("SE1 (EP2)", results);
    assert_eq!(
        ok("SE1", store.get(&owner(), winner.id).await),
        Some(winner),
        "SE1 (EP2): the winner's record"
    );
}

/// SE1 (EP3): of many who update the same version at once, one wins.
pub async fn one_vector_update_wins(store: Arc<dyn SemanticStore>) {
    bind("SE1 (EP3)", store.as_ref()).await;
    let first = ok("SE1", store.create(&memory("likes tea"), &vector([1.0, 0.0, 0.0])).await);
    let results = race(RACERS, |racer| {
        let (store, changed) =
            (Arc::clone(&store), MemoryRecord { content: racer.to_string(), ..first.clone() });
        async move { store.update(&changed, Some(&vector([0.0, 1.0, 0.0]))).await }
    })
    .await;
    let winner = one_updated("SE1 (EP3)", results);
    assert_eq!(
        ok("SE1", store.get(&owner(), winner.id).await),
        Some(winner),
        "SE1 (EP3): the winner's content"
    );
}
