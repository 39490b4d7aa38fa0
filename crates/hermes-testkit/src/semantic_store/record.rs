//! Records of the semantic store: the clauses that it shares with the episodic one.

use hermes_core::{MemoryFilter, MemoryRecord, SemanticStore};

use super::{bind, create, find, vector};
use crate::check::ok;
use crate::records::{self, Semantic};
use crate::sample::{at, memory};

/// SE1 (EP1): a record is stored at the first version and reads back equal.
pub async fn create_then_get(store: &dyn SemanticStore) {
    records::create_then_get(&Semantic::bound(store).await).await;
}

/// SE1 (EP2): an id is taken once, by whatever owner.
pub async fn create_refuses_a_taken_id(store: &dyn SemanticStore) {
    records::create_refuses_a_taken_id(&Semantic::bound(store).await).await;
}

/// SE1 (EP2): of an owner's active records one has a fingerprint.
pub async fn one_active_record_has_a_fingerprint(store: &dyn SemanticStore) {
    records::one_active_record_has_a_fingerprint(&Semantic::bound(store).await).await;
}

/// SE1 (EP3): an update needs the present version and gives the next.
pub async fn update_checks_the_version(store: &dyn SemanticStore) {
    records::update_checks_the_version(&Semantic::bound(store).await).await;
}

/// SE1 (EP3): an update cannot make two records with one fingerprint active.
pub async fn update_cannot_make_two_active(store: &dyn SemanticStore) {
    records::update_cannot_make_two_active(&Semantic::bound(store).await).await;
}

/// SE1: an update without a vector leaves the stored one; one with a vector replaces it.
pub async fn update_without_a_vector_keeps_it(store: &dyn SemanticStore) {
    bind("SE1", store).await;
    let first = create("SE1", store, &memory("likes tea"), [1.0, 0.0, 0.0]).await;
    let changed = MemoryRecord { content: "likes green tea".to_owned(), updated: at(5), ..first };
    let second = ok("SE1", store.update(&changed, None).await);
    for (expected, with) in [(1.0, None), (0.0, Some(vector([0.0, 1.0, 0.0])))] {
        if let Some(vector) = &with {
            ok("SE1", store.update(&second, Some(vector)).await);
        }
        let query = Some(vector([1.0, 0.0, 0.0]));
        let found = find("SE1", store, query, &[], MemoryFilter::default(), 10).await;
        let [candidate] = found.as_slice() else { panic!("SE1: one record is found, not {found:?}") };
        let cosine = candidate.cosine.expect("SE1: the record has a vector");
        assert!((cosine - expected).abs() < 1e-3, "SE1: the cosine is {expected}, not {cosine}");
        assert_eq!(candidate.record.content, "likes green tea", "SE1: the present content");
    }
}

/// SE1 (EP4): another owner neither sees nor changes a record.
pub async fn strangers_see_nothing(store: &dyn SemanticStore) {
    records::strangers_see_nothing(&Semantic::bound(store).await).await;
}

/// SE1 (EP5): the list comes last updated first, then by id, descending, and pages hold each once.
pub async fn list_is_newest_first_in_pages(store: &dyn SemanticStore) {
    records::list_is_newest_first_in_pages(&Semantic::bound(store).await).await;
}

/// SE1 (EP5): the list holds what the filter matches.
pub async fn list_gives_what_the_filter_matches(store: &dyn SemanticStore) {
    records::list_gives_what_the_filter_matches(&Semantic::bound(store).await).await;
}

/// SE1 (EP7): a recall is counted, and changes neither `updated` nor the version.
pub async fn touch_counts_recalls(store: &dyn SemanticStore) {
    records::touch_counts_recalls(&Semantic::bound(store).await).await;
}

/// SE1 (EP8): deleting removes one, and says whether there was one.
pub async fn delete_removes_one(store: &dyn SemanticStore) {
    records::delete_removes_one(&Semantic::bound(store).await).await;
}

/// SE1 (EP9): erasing removes all of an owner's records, or those that only one session proves.
pub async fn erase_removes_all_of_an_owner_or_session(store: &dyn SemanticStore) {
    records::erase_removes_all_of_an_owner_or_session(&Semantic::bound(store).await).await;
}

/// SE1 (EP10): what is collected has expired, in bounded steps; what has no expiry stays.
pub async fn collect_removes_what_has_expired(store: &dyn SemanticStore) {
    records::collect_removes_what_has_expired(&Semantic::bound(store).await).await;
}
