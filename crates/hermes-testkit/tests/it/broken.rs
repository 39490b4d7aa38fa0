//! Stores that break one clause each fail at the case for this clause, and the complaint names it.

mod claims;
mod others;
mod sessions;

use hermes_inmemory::InMemoryStore;
use hermes_testkit::{idempotency_store, lease_store, race, semantic_store, session_store};

use self::claims::{BrokenClaims, ClaimFault};
use self::others::{BrokenVectors, RacyState, VectorFault};
use self::sessions::{BrokenSessions, SessionFault};
use crate::verdict::{breaks, keeps};

fn sessions(fault: SessionFault) -> BrokenSessions {
    BrokenSessions::new(InMemoryStore::new(), fault)
}

fn claims(fault: ClaimFault) -> BrokenClaims {
    BrokenClaims::new(InMemoryStore::new(), fault)
}

#[tokio::test]
async fn an_append_that_ignores_the_expected_place_breaks_ss7() {
    let make = || sessions(SessionFault::IgnoresExpected);
    breaks("SS7", session_store::log::append_refuses_a_stale_place(&make())).await;
    breaks("SS8", race::session::one_appender_wins(std::sync::Arc::new(make()))).await;
    keeps("SS6", session_store::log::append_gives_consecutive_places(&make())).await;
}

#[tokio::test]
async fn a_list_that_leaks_another_owner_breaks_ss3() {
    let make = || sessions(SessionFault::LeaksInList);
    breaks("SS3", session_store::owner::strangers_list_only_their_own(&make())).await;
    keeps("SS3", session_store::owner::strangers_read_nothing(&make())).await;
    keeps("SS4", session_store::lifecycle::list_is_newest_first_in_pages(&make())).await;
}

#[tokio::test]
async fn a_get_that_leaks_another_owner_breaks_ss3() {
    let store = sessions(SessionFault::LeaksInGet);
    breaks("SS3", session_store::owner::strangers_read_nothing(&store)).await;
}

#[tokio::test]
async fn a_zombie_writer_that_is_accepted_breaks_ss13() {
    let make = || sessions(SessionFault::AcceptsAnyFence);
    breaks("SS13", session_store::guard::a_lost_lease_writes_nothing(&make())).await;
    breaks("SS13", session_store::guard::an_invented_fence_writes_nothing(&make())).await;
    keeps("SS15", session_store::guard::the_present_fence_may_write(&make())).await;
}

#[tokio::test]
async fn a_page_that_lies_about_more_breaks_ss10() {
    let make = || sessions(SessionFault::GuessesMore);
    breaks("SS10", session_store::log::page_gives_what_was_asked_for(&make())).await;
    keeps("SS11", session_store::log::messages_gives_the_named_places(&make())).await;
}

#[tokio::test]
async fn opaque_json_that_is_written_anew_breaks_ss9() {
    let make = || sessions(SessionFault::RewritesJson);
    breaks("SS9", session_store::log::opaque_json_is_kept_byte_for_byte(&make())).await;
    breaks("SS9", session_store::log::messages_read_back_equal(&make())).await;
    keeps("SS9", session_store::log::times_are_kept_to_the_microsecond(&make())).await;
}

#[tokio::test]
async fn times_in_milliseconds_break_ss9() {
    let store = sessions(SessionFault::KeepsMilliseconds);
    breaks("SS9", session_store::log::times_are_kept_to_the_microsecond(&store)).await;
}

#[tokio::test]
async fn a_fork_that_keeps_every_summary_breaks_ss19() {
    let store = sessions(SessionFault::ForksEverySummary);
    breaks("SS19", session_store::fork::fork_keeps_a_summary_that_fits(&store)).await;
}

#[tokio::test]
async fn a_renewal_of_a_lost_lease_breaks_le6() {
    let make = || sessions(SessionFault::RenewsWhatIsLost);
    breaks("LE6", lease_store::a_lost_lease_is_not_renewed(&make())).await;
    keeps("LE5", lease_store::renew_moves_the_expiry(&make())).await;
}

#[tokio::test]
async fn a_claim_that_lets_two_win_breaks_id8() {
    let store = claims(ClaimFault::LooksBeforeItClaims);
    breaks("ID8", race::claim::one_claim_wins(std::sync::Arc::new(store))).await;
}

#[tokio::test]
async fn an_outcome_that_is_written_anew_breaks_id3() {
    let make = || claims(ClaimFault::RewritesJson);
    breaks("ID3", idempotency_store::a_completed_key_gives_its_outcome(&make())).await;
    keeps("ID6", idempotency_store::the_first_outcome_stands(&make())).await;
}

#[tokio::test]
async fn an_abandoned_claim_that_is_given_away_breaks_id4() {
    let store = claims(ClaimFault::AlwaysTakesOver);
    breaks("ID4", idempotency_store::an_expired_claim_is_abandoned(&store)).await;
}

#[tokio::test]
async fn a_put_in_two_steps_breaks_st3() {
    breaks("ST3", race::state::one_put_wins(std::sync::Arc::new(RacyState::new()))).await;
}

#[tokio::test]
async fn distances_for_cosines_break_se4() {
    let make = || BrokenVectors::new(VectorFault::GivesDistances);
    breaks("SE4", semantic_store::query::cosines_are_exact(&make())).await;
    breaks("SE4", semantic_store::query::opposites_are_at_minus_one(&make())).await;
    keeps("SE3", semantic_store::query::query_filters_before_it_ranks(&make())).await;
}

#[tokio::test]
async fn a_filter_after_the_ranking_breaks_se3() {
    let make = || BrokenVectors::new(VectorFault::FiltersAfterRanking);
    breaks("SE3", semantic_store::query::query_filters_before_it_ranks(&make())).await;
    keeps("SE4", semantic_store::query::cosines_are_exact(&make())).await;
}

#[tokio::test]
async fn mixed_spaces_break_se2() {
    let store = BrokenVectors::new(VectorFault::TakesAnySpace);
    breaks("SE2", semantic_store::space::bind_refuses_another_space(&store)).await;
}

#[tokio::test]
async fn collecting_without_limit_breaks_se1() {
    let store = BrokenVectors::new(VectorFault::CollectsWithoutLimit);
    breaks("SE1 (EP10)", semantic_store::record::collect_removes_what_has_expired(&store)).await;
}
