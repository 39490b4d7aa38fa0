//! Many who set the same entry.

use std::sync::Arc;

use hermes_core::{Expected, StateStore, StoreError, Version};

use crate::check::{ok, race};
use crate::sample::{owner, state, state_key};

const RACERS: usize = 16;

/// ST3: of many who put with the same expectation at once, one wins, on a new entry and on one that is there.
pub async fn one_put_wins(store: Arc<dyn StateStore>) {
    for (expected, version) in
        [(Expected::Absent, Version::FIRST), (Expected::At(Version::FIRST), Version::new(2))]
    {
        let results = race(RACERS, |racer| {
            let store = Arc::clone(&store);
            async move {
                let value = state(&racer.to_string(), 0);
                (racer, store.put(&owner(), &state_key("k"), &value, expected).await)
            }
        })
        .await;
        let mut winners = Vec::new();
        for (racer, result) in results {
            match result {
                Ok(given) => {
                    assert_eq!(given, version, "ST3: the winner's version");
                    winners.push(racer);
                }
                Err(StoreError::VersionMismatch { .. }) => {}
                Err(other) => panic!("ST3: a loser gets a mismatch, not {other:?}"),
            }
        }
        let [winner] = winners.as_slice() else { panic!("ST3: one wins, not {winners:?}") };
        let entry = ok("ST3", store.get(&owner(), &state_key("k")).await).expect("ST3: the entry is there");
        assert_eq!(entry.value.as_str(), winner.to_string(), "ST3: the winner's value");
    }
}

/// ST3: a counter that many raise by compare-and-set loses nothing.
pub async fn counting_loses_nothing(store: Arc<dyn StateStore>) {
    const EACH: usize = 5;
    race(6, |_| {
        let store = Arc::clone(&store);
        async move {
            for _ in 0..EACH {
                loop {
                    let entry = ok("ST3", store.get(&owner(), &state_key("n")).await);
                    let (count, expected) = entry.map_or((0, Expected::Absent), |entry| {
                        (entry.value.read::<u32>().expect("ST3: a number"), Expected::At(entry.version))
                    });
                    match store
                        .put(&owner(), &state_key("n"), &state(&(count + 1).to_string(), 0), expected)
                        .await
                    {
                        Ok(_) => break,
                        Err(StoreError::VersionMismatch { .. }) => {}
                        Err(other) => panic!("ST3: a loser gets a mismatch, not {other:?}"),
                    }
                }
            }
        }
    })
    .await;
    let entry = ok("ST3", store.get(&owner(), &state_key("n")).await).expect("ST3: the entry is there");
    assert_eq!(
        (entry.value.as_str(), entry.version),
        ("30", Version::new(30)),
        "ST3: every step counts once"
    );
}

/// ST3, ST5: of many who delete the same version at once, one does.
pub async fn one_delete_wins(store: Arc<dyn StateStore>) {
    let version = ok("ST5", store.put(&owner(), &state_key("k"), &state("1", 0), Expected::Absent).await);
    let results = race(RACERS, |_| {
        let store = Arc::clone(&store);
        async move { store.delete(&owner(), &state_key("k"), Expected::At(version)).await }
    })
    .await;
    let mut deleted = 0;
    for result in results {
        match result {
            Ok(there) => deleted += u32::from(there),
            Err(StoreError::VersionMismatch { actual: 0, .. }) => {}
            Err(other) => panic!("ST5: a loser gets a mismatch, not {other:?}"),
        }
    }
    assert_eq!(deleted, 1, "ST5: one deletes it");
}
