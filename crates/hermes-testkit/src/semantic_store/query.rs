//! Finding by vector and terms.

use std::cmp::Reverse;

use hermes_core::{Embedder as _, MemoryFilter, MemoryKind, MemoryRecord, SemanticStore};

use super::{bind, create, find, ids, vector};
use crate::check::ok;
use crate::fake::HashEmbedder;
use crate::records;
use crate::sample::{at, memory, owner, strangers};

/// SE3: the nearest and those with the most terms come in one list, each once, with both kinds of evidence, nearest first.
pub async fn query_joins_the_near_and_the_matching(store: &dyn SemanticStore) {
    bind("SE3", store).await;
    let mut records = Vec::new();
    for (content, values, updated) in [
        ("alpha", [1.0, 0.0, 0.0], 0),
        ("beta", [0.8, 0.6, 0.0], 0),
        ("gamma tea", [0.6, 0.8, 0.0], 10),
        ("delta green tea", [0.0, 1.0, 0.0], 0),
        ("epsilon tea", [0.28, 0.96, 0.0], 30),
        ("zeta", [-1.0, 0.0, 0.0], 40),
    ] {
        let record = MemoryRecord { updated: at(updated), ..memory(content) };
        records.push(create("SE3", store, &record, values).await);
    }
    let query = || Some(vector([1.0, 0.0, 0.0]));
    // Two nearest: alpha, beta. Two with the most terms: delta (two), epsilon (one, updated after gamma).
    let found = find("SE3", store, query(), &["tea", "green", "tea"], MemoryFilter::default(), 2).await;
    let expected: Vec<_> = [0, 1, 4, 3].map(|n| records[n].id).into();
    assert_eq!(ids(&found), expected, "SE3: both kinds, nearest first");
    for (candidate, (cosine, hits)) in found.iter().zip([(1.0, 0), (0.8, 0), (0.28, 1), (0.0, 2)]) {
        let content = &candidate.record.content;
        let given = candidate.cosine.unwrap_or_else(|| panic!("SE3: {content} has a cosine"));
        assert!((given - cosine).abs() < 1e-3, "SE3: the cosine of {content} is {cosine}, not {given}");
        assert_eq!(candidate.term_hits, hits, "SE3: the term hits of {content}");
    }
    // What is near and matches comes once.
    let found = find("SE3", store, query(), &["alpha"], MemoryFilter::default(), 1).await;
    assert_eq!(ids(&found), [records[0].id], "SE3: each record once");
    // A limit above the number of records takes all that have a vector, the unlike ones too.
    let found = find("SE3", store, query(), &[], MemoryFilter::default(), 10).await;
    let expected: Vec<_> = [0, 1, 2, 4, 3, 5].map(|n| records[n].id).into();
    assert_eq!(ids(&found), expected, "SE3: all, nearest first");
}

/// SE3: without a vector the terms alone decide, without terms the vector alone, and with neither nothing is found.
pub async fn query_by_one_kind_alone(store: &dyn SemanticStore) {
    bind("SE3", store).await;
    let tea = create("SE3", store, &memory("green tea"), [1.0, 0.0, 0.0]).await;
    let paint =
        create("SE3", store, &MemoryRecord { updated: at(9), ..memory("green paint") }, [0.0, 1.0, 0.0])
            .await;
    create("SE3", store, &memory("coffee"), [0.0, 0.0, 1.0]).await;

    let found = find("SE3", store, None, &["green", "tea"], MemoryFilter::default(), 1).await;
    assert_eq!(ids(&found), [tea.id], "SE3: the most terms");
    let mut found = find("SE3", store, None, &["green", "tea"], MemoryFilter::default(), 10).await;
    found.sort_by_key(|candidate| Reverse(candidate.term_hits));
    let evidence: Vec<_> =
        found.iter().map(|found| (found.record.id, found.cosine, found.term_hits)).collect();
    assert_eq!(evidence, [(tea.id, None, 2), (paint.id, None, 1)], "SE3: by terms alone");
    let found = find("SE3", store, Some(vector([0.0, 1.0, 0.0])), &[], MemoryFilter::default(), 1).await;
    assert_eq!((ids(&found), found[0].term_hits), (vec![paint.id], 0), "SE3: by vector alone");
    let found = find("SE3", store, None, &[], MemoryFilter::default(), 10).await;
    assert!(found.is_empty(), "SE3: by nothing");
}

/// SE3: Han text is found by its pairs of characters.
pub async fn query_finds_han_text(store: &dyn SemanticStore) {
    bind("SE3", store).await;
    let record = create("SE3", store, &memory("她喜欢四川火锅"), [1.0, 0.0, 0.0]).await;
    let found = find("SE3", store, None, &["四川", "火锅", "北京"], MemoryFilter::default(), 10).await;
    assert_eq!((ids(&found), found[0].term_hits), (vec![record.id], 2), "SE3: two of three pairs");
}

/// SE3: the nearest are those of the records that the filter matches, however near the others are.
pub async fn query_filters_before_it_ranks(store: &dyn SemanticStore) {
    bind("SE3", store).await;
    for n in 0..30 {
        create("SE3", store, &memory(&format!("tea {n}")), [1.0, 0.0, 0.0]).await;
    }
    let fact = MemoryRecord { kind: MemoryKind::Fact, ..memory("tea is a plant") };
    let fact = create("SE3", store, &fact, [0.0, 1.0, 0.0]).await;
    let filter = MemoryFilter { kinds: vec![MemoryKind::Fact], ..MemoryFilter::default() };
    for terms in [&[][..], &["tea"]] {
        let found = find("SE3", store, Some(vector([1.0, 0.0, 0.0])), terms, filter.clone(), 1).await;
        assert_eq!(ids(&found), [fact.id], "SE3: the only one that counts, with {terms:?}");
    }
}

/// SE3: every filter means the same to a query as to a listing.
pub async fn query_keeps_to_the_filter(store: &dyn SemanticStore) {
    bind("SE3", store).await;
    let (all, filters) = records::varied();
    for record in &all {
        create("SE3", store, record, [1.0, 0.0, 0.0]).await;
    }
    for filter in filters {
        let mut expected: Vec<_> =
            all.iter().filter(|record| filter.matches(record)).map(|record| record.id).collect();
        expected.sort_unstable();
        for terms in [&[][..], &["tea"]] {
            let vector = terms.is_empty().then(|| vector([1.0, 0.0, 0.0]));
            let mut found = ids(&find("SE3", store, vector, terms, filter.clone(), 100).await);
            found.sort_unstable();
            assert_eq!(found, expected, "SE3: what {filter:?} matches, with {terms:?}");
        }
    }
}

/// SE3 (EP4): another owner's records weigh in nowhere, however near they are.
pub async fn strangers_find_only_their_own(store: &dyn SemanticStore) {
    bind("SE3", store).await;
    for stranger in strangers() {
        for n in 0..10 {
            let theirs = MemoryRecord { owner: stranger.clone(), ..memory(&format!("green tea {n}")) };
            create("SE3", store, &theirs, [1.0, 0.0, 0.0]).await;
        }
    }
    let query = || Some(vector([1.0, 0.0, 0.0]));
    let found = find("EP4", store, query(), &["tea"], MemoryFilter::default(), 5).await;
    assert!(found.is_empty(), "EP4: what others have is not found, but {found:?} was");
    let mine = create("SE3", store, &memory("tea"), [0.0, 1.0, 0.0]).await;
    let found = find("EP4", store, query(), &["tea"], MemoryFilter::default(), 1).await;
    assert_eq!(ids(&found), [mine.id], "EP4: only one's own");
}

/// SE4: cosines are those of the vectors, from -1 to 1, and likeness is large.
pub async fn cosines_are_exact(store: &dyn SemanticStore) {
    let embedder = HashEmbedder::with_dimension(64);
    ok("SE4", store.bind(&embedder.info().id, 64).await);
    let words = ["tea", "green", "sichuan", "train", "nine", "morning", "family", "paint", "coffee", "zoo"];
    for n in 0..60 {
        let content = [words[n % 10], words[n * 7 % 10], words[n / 10], words[n * 3 % 7]].join(" ");
        let record = MemoryRecord { fingerprint: n.to_string(), ..memory(&content) };
        ok("SE4", store.create(&record, &embedder.vector(&content)).await);
    }
    let query = embedder.vector("green tea in the morning");
    let found = find("SE4", store, Some(query.clone()), &[], MemoryFilter::default(), 100).await;
    assert_eq!(found.len(), 60, "SE4: all are found");
    for candidate in &found {
        let exact = embedder.vector(&candidate.record.content).cosine(&query);
        let given = candidate.cosine.expect("SE4: each has a vector");
        assert!((given - exact).abs() < 1e-3, "SE4: the cosine is {exact}, not {given}");
    }
    let cosines: Vec<_> = found.iter().filter_map(|candidate| candidate.cosine).collect();
    assert!(cosines.is_sorted_by(|a, b| a >= b), "SE3: nearest first, not {cosines:?}");
}

/// SE4: a vector's opposite is at -1.
pub async fn opposites_are_at_minus_one(store: &dyn SemanticStore) {
    bind("SE4", store).await;
    create("SE4", store, &memory("a"), [0.6, 0.8, 0.0]).await;
    let found = find("SE4", store, Some(vector([-0.6, -0.8, 0.0])), &[], MemoryFilter::default(), 1).await;
    let cosine = found.first().and_then(|candidate| candidate.cosine).expect("SE4: it is found");
    assert!((cosine + 1.0).abs() < 1e-3, "SE4: the cosine is -1, not {cosine}");
}

/// SE5: a zero vector says nothing: neither a record nor a query is found by it.
pub async fn zero_vectors_find_nothing(store: &dyn SemanticStore) {
    bind("SE5", store).await;
    let silent = create("SE5", store, &memory("green tea"), [0.0, 0.0, 0.0]).await;
    let spoken = create("SE5", store, &memory("black coffee"), [1.0, 0.0, 0.0]).await;
    let found = find("SE5", store, Some(vector([1.0, 0.0, 0.0])), &[], MemoryFilter::default(), 10).await;
    assert_eq!(ids(&found), [spoken.id], "SE5: the record with a zero vector is not found by vector");
    let found =
        find("SE5", store, Some(vector([1.0, 0.0, 0.0])), &["tea"], MemoryFilter::default(), 10).await;
    assert_eq!(ids(&found), [spoken.id, silent.id], "SE5: it is found by terms");
    let zero = || Some(vector([0.0, 0.0, 0.0]));
    let found = find("SE5", store, zero(), &[], MemoryFilter::default(), 10).await;
    assert!(found.is_empty(), "SE5: a query with a zero vector finds nothing by it");
    let found = find("SE5", store, zero(), &["coffee"], MemoryFilter::default(), 10).await;
    assert_eq!(ids(&found), [spoken.id], "SE5: it finds by terms");
    assert_eq!(
        ok("SE5", store.get(&owner(), silent.id).await),
        Some(silent),
        "SE5: the record is there all the same"
    );
}

/// SE6: a write is seen by the next query: a new record, a changed one, a deleted one.
pub async fn queries_see_the_last_write(store: &dyn SemanticStore) {
    bind("SE6", store).await;
    let find = async |values: [f32; 3], term: &str| {
        find("SE6", store, Some(vector(values)), &[term], MemoryFilter::default(), 1).await
    };
    for n in 0..20 {
        let content = format!("word{n}");
        let record = create("SE6", store, &memory(&content), [1.0, 0.0, 0.0]).await;
        assert_eq!(ids(&find([1.0, 0.0, 0.0], &content).await), [record.id], "SE6: a new record");
        let changed = MemoryRecord { content: format!("changed{n}"), ..record };
        let changed = ok("SE6", store.update(&changed, Some(&vector([0.0, 1.0, 0.0]))).await);
        let found = find([0.0, 1.0, 0.0], &changed.content).await;
        assert_eq!(ids(&found), [changed.id], "SE6: a changed record");
        assert_eq!(found[0].record, changed, "SE6: as it was changed");
        let found = find([0.0, 0.0, 1.0], &content).await;
        assert!(found.iter().all(|candidate| candidate.term_hits == 0), "SE6: not by its old words");
        assert!(ok("SE6", store.delete(&owner(), changed.id).await), "SE6: it was there");
        assert!(find([0.0, 1.0, 0.0], &changed.content).await.is_empty(), "SE6: a deleted record");
    }
}
