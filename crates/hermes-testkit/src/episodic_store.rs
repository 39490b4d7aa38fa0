//! The cases of [`EpisodicStore`], clause by clause.

use std::cmp::Reverse;

use hermes_core::{Candidate, EpisodicQuery, EpisodicStore, Limit, MemoryFilter, MemoryId, MemoryRecord};

use crate::check::ok;
use crate::records::{self, Episodic};
use crate::sample::{at, memory, owner, strangers};

/// EP1: a record is stored at the first version and reads back equal.
pub async fn create_then_get(store: &dyn EpisodicStore) {
    records::create_then_get(&Episodic(store)).await;
}

/// EP2: an id is taken once, by whatever owner.
pub async fn create_refuses_a_taken_id(store: &dyn EpisodicStore) {
    records::create_refuses_a_taken_id(&Episodic(store)).await;
}

/// EP2: of an owner's active records one has a fingerprint.
pub async fn one_active_record_has_a_fingerprint(store: &dyn EpisodicStore) {
    records::one_active_record_has_a_fingerprint(&Episodic(store)).await;
}

/// EP3: an update needs the present version and gives the next.
pub async fn update_checks_the_version(store: &dyn EpisodicStore) {
    records::update_checks_the_version(&Episodic(store)).await;
}

/// EP3: an update cannot make two records with one fingerprint active.
pub async fn update_cannot_make_two_active(store: &dyn EpisodicStore) {
    records::update_cannot_make_two_active(&Episodic(store)).await;
}

/// EP4: another owner neither sees nor changes a record.
pub async fn strangers_see_nothing(store: &dyn EpisodicStore) {
    records::strangers_see_nothing(&Episodic(store)).await;
}

/// EP4, EP6: another owner's query finds nothing.
pub async fn strangers_find_nothing(store: &dyn EpisodicStore) {
    ok("EP4", store.create(&memory("likes tea")).await);
    for stranger in strangers() {
        let query = query(&["tea"], MemoryFilter::default(), 10);
        let found = ok("EP4", store.query(&stranger, &query).await);
        assert!(found.is_empty(), "EP4: {stranger} found {found:?}");
    }
}

/// EP5: the list comes last updated first, then by id, descending, and pages hold each once.
pub async fn list_is_newest_first_in_pages(store: &dyn EpisodicStore) {
    records::list_is_newest_first_in_pages(&Episodic(store)).await;
}

/// EP5: the list holds what the filter matches.
pub async fn list_gives_what_the_filter_matches(store: &dyn EpisodicStore) {
    records::list_gives_what_the_filter_matches(&Episodic(store)).await;
}

fn query(terms: &[&str], filter: MemoryFilter, limit: usize) -> EpisodicQuery {
    EpisodicQuery {
        terms: terms.iter().map(|term| (*term).to_owned()).collect(),
        filter,
        limit: Limit::new(limit),
    }
}

/// EP6: what holds more different terms comes first, then what was updated last, then by id, descending.
pub async fn query_ranks_by_different_terms(store: &dyn EpisodicStore) {
    let mut records = Vec::new();
    for (content, updated, hits) in [
        ("Green tea, no sugar", 10, 2),
        ("tea tea tea tea", 30, 1),
        ("Tea with the family", 20, 1),
        ("GREEN paint", 30, 1),
        ("coffee", 40, 0),
        ("teapot", 40, 0),
        ("green tea and more tea", 20, 2),
    ] {
        let new = MemoryRecord { updated: at(updated), ..memory(content) };
        records.push((hits, ok("EP6", store.create(&new).await)));
    }
    records.sort_by_key(|(hits, record)| Reverse((*hits, record.updated, record.id)));
    let expected: Vec<_> = records
        .into_iter()
        .filter(|(hits, _)| *hits > 0)
        .map(|(term_hits, record)| Candidate { record, cosine: None, term_hits })
        .collect();
    for limit in [1, 3, 5, 10] {
        // A term that is asked for twice is one term.
        let query = query(&["green", "tea", "tea", "absent"], MemoryFilter::default(), limit);
        let found = ok("EP6", store.query(&owner(), &query).await);
        assert_eq!(found, expected.iter().take(limit).cloned().collect::<Vec<_>>(), "EP6: at most {limit}");
    }
}

/// EP6: Han text is found by its pairs of characters.
pub async fn query_finds_han_text(store: &dyn EpisodicStore) {
    let record = ok("EP6", store.create(&memory("她喜欢四川火锅")).await);
    for (terms, hits) in [(vec!["火锅"], 1), (vec!["四川", "川火", "北京"], 2), (vec!["锅火"], 0)] {
        let found = ok("EP6", store.query(&owner(), &query(&terms, MemoryFilter::default(), 10)).await);
        let found: Vec<_> =
            found.iter().map(|candidate| (candidate.record.id, candidate.term_hits)).collect();
        let expected: Vec<(MemoryId, u32)> = if hits == 0 { Vec::new() } else { vec![(record.id, hits)] };
        assert_eq!(found, expected, "EP6: what {terms:?} finds");
    }
}

/// EP6: only records that the filter matches are found, and the limit counts those.
pub async fn query_keeps_to_the_filter(store: &dyn EpisodicStore) {
    let (records, filters) = records::varied();
    let mut all = Vec::new();
    for record in &records {
        all.push(ok("EP6", store.create(record).await));
    }
    all.sort_by_key(|record| Reverse((record.updated, record.id)));
    for filter in filters {
        let expected: Vec<_> =
            all.iter().filter(|record| filter.matches(record)).take(2).map(|record| record.id).collect();
        let found = ok("EP6", store.query(&owner(), &query(&["tea"], filter.clone(), 2)).await);
        let found: Vec<_> = found.iter().map(|candidate| candidate.record.id).collect();
        assert_eq!(found, expected, "EP6: what {filter:?} matches");
    }
}

/// EP6: a query without terms finds nothing.
pub async fn query_without_terms_finds_nothing(store: &dyn EpisodicStore) {
    ok("EP6", store.create(&memory("likes tea")).await);
    let found = ok("EP6", store.query(&owner(), &query(&[], MemoryFilter::default(), 10)).await);
    assert!(found.is_empty(), "EP6: {found:?}");
}

/// EP6: what was changed is found by its present content only.
pub async fn query_sees_the_present_content(store: &dyn EpisodicStore) {
    let first = ok("EP6", store.create(&memory("likes tea")).await);
    ok("EP6", store.update(&MemoryRecord { content: "likes coffee".to_owned(), ..first.clone() }).await);
    for (term, hits) in [("tea", 0), ("coffee", 1)] {
        let found = ok("EP6", store.query(&owner(), &query(&[term], MemoryFilter::default(), 10)).await);
        assert_eq!(found.len(), hits, "EP6: what {term} finds after the change");
    }
    ok("EP6", store.delete(&owner(), first.id).await);
    let found = ok("EP6", store.query(&owner(), &query(&["coffee"], MemoryFilter::default(), 10)).await);
    assert!(found.is_empty(), "EP6: what was deleted is not found");
}

/// EP7: a recall is counted, and changes neither `updated` nor the version.
pub async fn touch_counts_recalls(store: &dyn EpisodicStore) {
    records::touch_counts_recalls(&Episodic(store)).await;
}

/// EP8: deleting removes one, and says whether there was one.
pub async fn delete_removes_one(store: &dyn EpisodicStore) {
    records::delete_removes_one(&Episodic(store)).await;
}

/// EP9: erasing removes all of an owner's records, or those that only one session proves.
pub async fn erase_removes_all_of_an_owner_or_session(store: &dyn EpisodicStore) {
    records::erase_removes_all_of_an_owner_or_session(&Episodic(store)).await;
}

/// EP10: what is collected has expired, in bounded steps; what has no expiry stays.
pub async fn collect_removes_what_has_expired(store: &dyn EpisodicStore) {
    records::collect_removes_what_has_expired(&Episodic(store)).await;
}
