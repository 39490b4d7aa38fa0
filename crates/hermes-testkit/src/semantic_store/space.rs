//! Which vector space a store holds.

use hermes_core::{
    EmbedderId, Embedding, Limit, MemoryFilter, MemoryId, MemoryRecord, SemanticQuery, SemanticStore,
    StoreError,
};

use super::{bind, create, find, ids, space, vector};
use crate::check::{ok, refused};
use crate::sample::{memory, owner, strangers};

fn other_space() -> EmbedderId {
    EmbedderId::new("other@2").expect("a valid id")
}

fn flat(values: [f32; 2]) -> Embedding {
    Embedding::new(values.to_vec()).expect("finite numbers")
}

/// SE2: binding to the space of what is stored succeeds, again and again.
pub async fn bind_again_is_fine(store: &dyn SemanticStore) {
    bind("SE2", store).await;
    bind("SE2", store).await;
    create("SE2", store, &memory("likes tea"), [1.0, 0.0, 0.0]).await;
    bind("SE2", store).await;
    let found = find("SE2", store, Some(vector([1.0, 0.0, 0.0])), &[], MemoryFilter::default(), 10).await;
    assert_eq!(found.len(), 1, "SE2: the vector is still there");
}

/// SE2: vectors of another space are not mixed in.
pub async fn bind_refuses_another_space(store: &dyn SemanticStore) {
    bind("SE2", store).await;
    let record = create("SE2", store, &memory("likes tea"), [1.0, 0.0, 0.0]).await;
    let (stored, given) = refused!("SE2", store.bind(&other_space(), 2).await,
        StoreError::SpaceMismatch { stored, given } => (stored, given));
    assert_eq!((stored, given), (space(), other_space()), "SE2: the error says both spaces");
    let found = find("SE2", store, Some(vector([1.0, 0.0, 0.0])), &[], MemoryFilter::default(), 10).await;
    assert_eq!(ids(&found), [record.id], "SE2: the store still serves its own space");
}

/// SE2: a store without vectors takes any space, though it was bound to another.
pub async fn bind_an_empty_store_anew(store: &dyn SemanticStore) {
    bind("SE2", store).await;
    let gone = create("SE2", store, &memory("likes tea"), [1.0, 0.0, 0.0]).await;
    assert!(ok("SE2", store.delete(&owner(), gone.id).await), "SE2: it was there");
    ok("SE2", store.bind(&other_space(), 2).await);
    let record = ok("SE2", store.create(&memory("likes tea"), &flat([1.0, 0.0])).await);
    let found = find("SE2", store, Some(flat([1.0, 0.0])), &[], MemoryFilter::default(), 10).await;
    assert_eq!(ids(&found), [record.id], "SE2: the new space is served");
}

/// SE2: a vector of another dimension is refused, wherever it comes in, and changes nothing.
pub async fn vectors_have_the_dimension_of_the_space(store: &dyn SemanticStore) {
    let early = store.create(&memory("too early"), &vector([1.0, 0.0, 0.0])).await;
    refused!("SE2 (before bind)", early, StoreError::Invalid { .. });
    bind("SE2", store).await;
    let record = create("SE2", store, &memory("likes tea"), [1.0, 0.0, 0.0]).await;
    let wrong = flat([1.0, 0.0]);
    let other = memory("likes coffee");
    refused!("SE2", store.create(&other, &wrong).await, StoreError::Invalid { .. });
    assert!(ok("SE2", store.get(&owner(), other.id).await).is_none(), "SE2: nothing was stored");
    let changed = MemoryRecord { content: "changed".to_owned(), ..record.clone() };
    refused!("SE2", store.update(&changed, Some(&wrong)).await, StoreError::Invalid { .. });
    assert_eq!(ok("SE2", store.get(&owner(), record.id).await), Some(record), "SE2: nothing changed");
    let query = SemanticQuery {
        vector: Some(wrong),
        terms: Vec::new(),
        filter: MemoryFilter::default(),
        limit: Limit::default(),
    };
    refused!("SE2", store.query(&owner(), &query).await, StoreError::Invalid { .. });
}

/// SE7: a reset drops all vectors and keeps all records, of every owner; they are found by terms until they are embedded anew.
pub async fn reset_drops_vectors_and_keeps_records(store: &dyn SemanticStore) {
    bind("SE7", store).await;
    assert!(ok("SE7", store.unembedded(Limit::MAX).await).is_empty(), "SE7: there is nothing yet");
    let mine = create("SE7", store, &memory("likes tea"), [1.0, 0.0, 0.0]).await;
    let [stranger, _] = strangers();
    let theirs =
        create("SE7", store, &MemoryRecord { owner: stranger, ..memory("likes tea") }, [0.0, 1.0, 0.0]).await;
    assert!(ok("SE7", store.unembedded(Limit::MAX).await).is_empty(), "SE7: all have vectors");

    ok("SE7", store.reset(&other_space(), 2).await);
    assert_eq!(ok("SE7", store.get(&owner(), mine.id).await), Some(mine.clone()), "SE7: the record stays");
    assert_eq!(unembedded(store).await, sorted([mine.id, theirs.id]), "SE7: of every owner");
    assert_eq!(ok("SE7", store.unembedded(Limit::new(1)).await).len(), 1, "SE7: at most the limit");
    let found = find("SE7", store, Some(flat([1.0, 0.0])), &["tea"], MemoryFilter::default(), 10).await;
    assert_eq!(ids(&found), [mine.id], "SE7: it is found by terms");
    assert_eq!((found[0].cosine, found[0].term_hits), (None, 1), "SE7: it has no vector");
    let found = find("SE7", store, Some(flat([1.0, 0.0])), &[], MemoryFilter::default(), 10).await;
    assert!(found.is_empty(), "SE7: it is not found by its old vector");

    ok("SE7", store.update(&mine, Some(&flat([1.0, 0.0]))).await);
    assert_eq!(unembedded(store).await, [theirs.id], "SE7: one is embedded anew");
    let found = find("SE7", store, Some(flat([1.0, 0.0])), &[], MemoryFilter::default(), 10).await;
    assert_eq!(ids(&found), [mine.id], "SE7: it is found by its new vector");
    refused!("SE7", store.bind(&space(), 3).await, StoreError::SpaceMismatch { .. });
}

async fn unembedded(store: &dyn SemanticStore) -> Vec<MemoryId> {
    sorted(ok("SE7", store.unembedded(Limit::MAX).await).iter().map(|record| record.id))
}

fn sorted(ids: impl IntoIterator<Item = MemoryId>) -> Vec<MemoryId> {
    let mut ids: Vec<_> = ids.into_iter().collect();
    ids.sort_unstable();
    ids
}
