//! The suites of sessions and their leases.

/// Writes the tests of [`SessionStore`](hermes_core::SessionStore) for a backend.
#[macro_export]
macro_rules! session_store_suite {
    ($($make:tt)+) => {
        $crate::__suite! {
            session_store: SessionStore;
            cases {
                [$crate::session_store::lifecycle]
                    create_then_get,
                    create_refuses_a_taken_id,
                    list_is_newest_first_in_pages,
                    list_of_nothing_is_empty,
                    list_refuses_a_strange_cursor,
                    rename_changes_the_title,
                    titles_are_bounded_in_bytes,
                    delete_removes_everything,
                    erase_user_removes_all_of_an_owner,
                    collect_removes_ended_leases;
                [$crate::session_store::owner]
                    strangers_read_nothing,
                    strangers_list_only_their_own,
                    strangers_find_only_their_own,
                    strangers_write_nothing,
                    strangers_hold_no_lease;
                [$crate::session_store::log]
                    append_gives_consecutive_places,
                    each_session_counts_for_itself,
                    append_refuses_a_stale_place,
                    messages_read_back_equal,
                    opaque_json_is_kept_byte_for_byte,
                    times_are_kept_to_the_microsecond,
                    long_messages_are_kept_whole,
                    page_gives_what_was_asked_for,
                    messages_gives_the_named_places,
                    append_of_nothing_stores_nothing;
                [$crate::session_store::guard]
                    a_lost_lease_writes_nothing,
                    an_invented_fence_writes_nothing,
                    a_live_lease_keeps_others_out,
                    without_a_lease_all_may_write,
                    the_present_fence_may_write;
                [$crate::session_store::context]
                    put_context_reads_back_equal,
                    put_context_replaces_all_of_it;
                [$crate::session_store::search]
                    search_finds_messages_that_hold_all_terms,
                    search_is_newest_first_in_pages,
                    search_can_be_held_to_a_session,
                    search_finds_what_anyone_said,
                    search_without_a_term_finds_nothing,
                    search_text_is_no_query_language,
                    search_never_finds_the_journal;
                [$crate::session_store::fork]
                    fork_holds_the_log_so_far,
                    forks_go_their_own_way,
                    fork_keeps_a_summary_that_fits,
                    forked_messages_are_found,
                    a_lease_stays_with_the_parent,
                    fork_refuses_a_taken_id,
                    fork_beyond_the_end_is_refused,
                    a_fork_outlives_its_parent;
            }
            shared {
                [$crate::session_store::lifecycle] create_then_get, rename_changes_the_title, delete_removes_everything, collect_removes_ended_leases;
                [$crate::session_store::log] append_gives_consecutive_places, messages_gives_the_named_places, page_gives_what_was_asked_for;
                [$crate::session_store::context] put_context_reads_back_equal;
                [$crate::session_store::search] search_is_newest_first_in_pages;
                [$crate::session_store::fork] a_fork_outlives_its_parent;
                [$crate::session_store::lifecycle] list_is_newest_first_in_pages, erase_user_removes_all_of_an_owner;
            }
            races {
                [$crate::race::session]
                    one_appender_wins,
                    appenders_who_try_again_all_get_through,
                    readers_see_whole_batches,
                    one_creator_makes_the_session;
            }
            make { $($make)+ }
        }
    };
}

/// Writes the tests of [`LeaseStore`](hermes_core::LeaseStore) for a backend.
#[macro_export]
macro_rules! lease_store_suite {
    ($($make:tt)+) => {
        $crate::__suite! {
            lease_store: SessionStore;
            cases {
                [$crate::lease_store]
                    acquire_gives_a_lease,
                    leases_are_per_session,
                    a_live_lease_is_not_given_twice,
                    the_holder_may_take_it_again,
                    a_lease_ends_at_its_expiry,
                    renew_moves_the_expiry,
                    renew_may_shorten,
                    a_lost_lease_is_not_renewed,
                    a_lease_on_nothing_is_not_renewed,
                    release_ends_it_at_once,
                    a_late_release_does_nothing,
                    acquire_needs_a_session,
                    release_keeps_the_fence;
            }
            shared {
                [$crate::lease_store] acquire_gives_a_lease, renew_moves_the_expiry, release_ends_it_at_once;
            }
            races {
                [$crate::race::session]
                    one_holder_gets_the_lease;
            }
            make { $($make)+ }
        }
    };
}
