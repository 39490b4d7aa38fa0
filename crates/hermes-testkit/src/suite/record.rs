//! The suites of the stores beside a session: keys, artifacts and state.

/// Writes the tests of [`IdempotencyStore`](hermes_core::IdempotencyStore) for a backend.
#[macro_export]
macro_rules! idempotency_store_suite {
    ($($make:tt)+) => {
        $crate::__suite! {
            idempotency_store: IdempotencyStore;
            cases {
                [$crate::idempotency_store]
                    a_free_key_is_won,
                    a_released_key_is_won_again,
                    a_live_claim_is_in_progress,
                    a_completed_key_gives_its_outcome,
                    an_expired_claim_is_abandoned,
                    an_expired_claim_is_taken_over,
                    a_lost_ticket_changes_nothing,
                    a_released_ticket_changes_nothing,
                    a_late_outcome_is_recorded,
                    the_first_outcome_stands,
                    owners_do_not_meet,
                    get_only_looks,
                    get_shows_the_last_claim,
                    collect_removes_what_is_retained_no_longer,
                    erase_user_removes_all_of_an_owner,
                    erase_session_removes_its_keys;
            }
            shared {
                [$crate::idempotency_store] a_released_key_is_won_again, get_only_looks, collect_removes_what_is_retained_no_longer, erase_user_removes_all_of_an_owner, erase_session_removes_its_keys;
            }
            races {
                [$crate::race::claim]
                    one_claim_wins,
                    one_takeover_wins,
                    one_claim_wins_after_a_release,
                    the_effect_happens_once;
            }
            make { $($make)+ }
        }
    };
}

/// Writes the tests of [`ArtifactStore`](hermes_core::ArtifactStore) for a backend.
#[macro_export]
macro_rules! artifact_store_suite {
    ($($make:tt)+) => {
        $crate::__suite! {
            artifact_store: ArtifactStore;
            cases {
                [$crate::artifact_store]
                    put_then_read,
                    read_takes_a_part,
                    only_its_session_reads_it,
                    an_unknown_id_is_not_there,
                    list_is_newest_first_in_pages,
                    delete_removes_one,
                    erase_removes_all_of_an_owner_or_session,
                    collect_removes_what_has_expired;
            }
            shared {
                [$crate::artifact_store] put_then_read, delete_removes_one, erase_removes_all_of_an_owner_or_session, collect_removes_what_has_expired;
            }
            races {
            }
            make { $($make)+ }
        }
    };
}

/// Writes the tests of [`StateStore`](hermes_core::StateStore) for a backend.
#[macro_export]
macro_rules! state_store_suite {
    ($($make:tt)+) => {
        $crate::__suite! {
            state_store: StateStore;
            cases {
                [$crate::state_store]
                    put_then_get,
                    an_expired_entry_is_still_there,
                    put_checks_its_expectation,
                    an_unknown_key_is_not_there,
                    owners_do_not_meet,
                    delete_checks_its_expectation,
                    list_is_by_key_in_pages,
                    list_refuses_a_strange_cursor,
                    erase_removes_all_of_an_owner_or_session,
                    collect_removes_what_has_expired;
            }
            shared {
                [$crate::state_store] put_then_get, delete_checks_its_expectation, erase_removes_all_of_an_owner_or_session, collect_removes_what_has_expired;
            }
            races {
                [$crate::race::state]
                    one_put_wins,
                    counting_loses_nothing,
                    one_delete_wins;
            }
            make { $($make)+ }
        }
    };
}
