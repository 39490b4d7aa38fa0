//! The suites of the memory stores.

/// Writes the tests of [`EpisodicStore`](hermes_core::EpisodicStore) for a backend.
#[macro_export]
macro_rules! episodic_store_suite {
    ($($make:tt)+) => {
        $crate::__suite! {
            episodic_store: EpisodicStore;
            cases {
                [$crate::episodic_store]
                    create_then_get,
                    create_refuses_a_taken_id,
                    one_active_record_has_a_fingerprint,
                    update_checks_the_version,
                    update_cannot_make_two_active,
                    strangers_see_nothing,
                    strangers_find_nothing,
                    list_is_newest_first_in_pages,
                    list_gives_what_the_filter_matches,
                    query_ranks_by_different_terms,
                    query_finds_han_text,
                    query_keeps_to_the_filter,
                    query_without_terms_finds_nothing,
                    query_sees_the_present_content,
                    touch_counts_recalls,
                    delete_removes_one,
                    erase_removes_all_of_an_owner_or_session,
                    collect_removes_what_has_expired;
            }
            shared {
                [$crate::episodic_store] update_checks_the_version, list_gives_what_the_filter_matches, query_ranks_by_different_terms, touch_counts_recalls, erase_removes_all_of_an_owner_or_session, collect_removes_what_has_expired;
            }
            races {
                [$crate::race::memory]
                    one_record_is_made,
                    one_update_wins,
                    every_recall_counts;
            }
            make { $($make)+ }
        }
    };
}

/// Writes the tests of [`SemanticStore`](hermes_core::SemanticStore) for a backend.
#[macro_export]
macro_rules! semantic_store_suite {
    ($($make:tt)+) => {
        $crate::__suite! {
            semantic_store: SemanticStore;
            cases {
                [$crate::semantic_store::record]
                    create_then_get,
                    create_refuses_a_taken_id,
                    one_active_record_has_a_fingerprint,
                    update_checks_the_version,
                    update_cannot_make_two_active,
                    update_without_a_vector_keeps_it,
                    strangers_see_nothing,
                    list_is_newest_first_in_pages,
                    list_gives_what_the_filter_matches,
                    touch_counts_recalls,
                    delete_removes_one,
                    erase_removes_all_of_an_owner_or_session,
                    collect_removes_what_has_expired;
                [$crate::semantic_store::space]
                    bind_again_is_fine,
                    bind_refuses_another_space,
                    bind_an_empty_store_anew,
                    vectors_have_the_dimension_of_the_space,
                    reset_drops_vectors_and_keeps_records;
                [$crate::semantic_store::query]
                    query_joins_the_near_and_the_matching,
                    query_by_one_kind_alone,
                    query_finds_han_text,
                    query_filters_before_it_ranks,
                    query_keeps_to_the_filter,
                    strangers_find_only_their_own,
                    cosines_are_exact,
                    opposites_are_at_minus_one,
                    zero_vectors_find_nothing,
                    queries_see_the_last_write;
            }
            shared {
                [$crate::semantic_store::record] update_checks_the_version, list_gives_what_the_filter_matches, touch_counts_recalls, erase_removes_all_of_an_owner_or_session, collect_removes_what_has_expired;
                [$crate::semantic_store::space] reset_drops_vectors_and_keeps_records;
                [$crate::semantic_store::query] queries_see_the_last_write;
            }
            races {
                [$crate::race::memory]
                    one_vector_record_is_made,
                    one_vector_update_wins;
            }
            make { $($make)+ }
        }
    };
}
