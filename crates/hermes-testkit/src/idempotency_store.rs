//! The cases of [`IdempotencyStore`], clause by clause.

use hermes_core::{
    Claim, ClaimRecord, ClaimTicket, IdempotencyKey, IdempotencyStore, Limit, NewClaim, Owner, SessionId,
    StoreError, Takeover,
};

use crate::check::{ok, refused};
use crate::sample::{AWKWARD_JSON, at, claim, holder, json, key, owner, strangers};

/// Claims a key of the usual owner.
async fn ask(clause: &str, store: &dyn IdempotencyStore, key: &IdempotencyKey, claim: &NewClaim) -> Claim {
    ok(clause, store.claim(&owner(), key, claim).await)
}

/// Claims a key and has to win it.
async fn win(
    clause: &str,
    store: &dyn IdempotencyStore,
    owner: &Owner,
    key: &IdempotencyKey,
    claim: &NewClaim,
) -> ClaimTicket {
    match ok(clause, store.claim(owner, key, claim).await) {
        Claim::Won(ticket) => ticket,
        other => panic!("{clause}: the claim has to win, and is {other:?}"),
    }
}

/// A claim that takes over what is abandoned.
fn taking(claim: NewClaim) -> NewClaim {
    NewClaim { takeover: Takeover::IfAbandoned, ..claim }
}

/// ID1: a key that nobody claimed is won, under either rule.
pub async fn a_free_key_is_won(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    let first = win("ID1", store, &owner(), &key("k1"), &claim(session, "a", 0)).await;
    assert_eq!((&first.owner, &first.key), (&owner(), &key("k1")), "ID1: the ticket says what was won");
    win("ID1", store, &owner(), &key("k2"), &taking(claim(session, "a", 0))).await;
}

/// ID1, ID7: a released key is free at once.
pub async fn a_released_key_is_won_again(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    for now in [0, 1, 2] {
        let ticket = win("ID7", store, &owner(), &key("k"), &claim(session, "a", now)).await;
        ok("ID7", store.release(&ticket).await);
    }
    win("ID1", store, &owner(), &key("k"), &claim(session, "b", 3)).await;
}

/// ID2: a live claim is in progress for all who ask, its holder too, and says by whom and until when.
pub async fn a_live_claim_is_in_progress(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    win("ID2", store, &owner(), &key("k"), &claim(session, "a", 0)).await;
    let expected = Claim::InProgress { holder: holder("a"), expires: at(60) };
    for (by, now) in [("b", 0), ("a", 1), ("b", 59)] {
        for wish in
            [claim(session, by, now), taking(claim(session, by, now)), claim(SessionId::generate(), by, now)]
        {
            assert_eq!(ask("ID2", store, &key("k"), &wish).await, expected, "ID2: asked by {by} at {now}");
        }
    }
}

/// ID3: a completed key gives its outcome byte for byte, before the claim's expiry and long after.
pub async fn a_completed_key_gives_its_outcome(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    let ticket = win("ID3", store, &owner(), &key("k"), &claim(session, "a", 0)).await;
    ok("ID3", store.complete(&ticket, &json(AWKWARD_JSON), at(5), at(1_000_000)).await);
    for now in [6, 60, 100_000] {
        for wish in [claim(session, "b", now), taking(claim(session, "a", now))] {
            let Claim::Done { outcome, at: recorded } = ask("ID3", store, &key("k"), &wish).await else {
                panic!("ID3: the key is done at {now}");
            };
            assert_eq!(outcome.as_str(), AWKWARD_JSON, "ID3: the outcome byte for byte");
            assert_eq!(recorded, at(5), "ID3: when it was recorded");
        }
    }
}

/// ID4: from its expiry on a claim without outcome is abandoned, and whoever may not take it over is told so.
pub async fn an_expired_claim_is_abandoned(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    win("ID4", store, &owner(), &key("k"), &claim(session, "a", 0)).await;
    let expected = Claim::Abandoned { holder: holder("a"), expired: at(60) };
    for now in [60, 61, 100_000] {
        assert_eq!(
            ask("ID4", store, &key("k"), &claim(session, "b", now)).await,
            expected,
            "ID4: asked at {now}"
        );
    }
}

/// ID4: whoever may take over an abandoned claim wins it under a higher fence, and then it is live again.
pub async fn an_expired_claim_is_taken_over(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    let mut last = win("ID4", store, &owner(), &key("k"), &claim(session, "a", 0)).await;
    for now in [60, 120, 500] {
        let next = win("ID4", store, &owner(), &key("k"), &taking(claim(session, "b", now))).await;
        assert!(next.fence > last.fence, "ID4: the fence rises");
        let asked = ask("ID4", store, &key("k"), &taking(claim(session, "c", now + 59))).await;
        assert_eq!(
            asked,
            Claim::InProgress { holder: holder("b"), expires: at(now + 60) },
            "ID4: it is live again"
        );
        last = next;
    }
}

/// ID5: whoever lost a claim can neither record an outcome nor free the key.
pub async fn a_lost_ticket_changes_nothing(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    let old = win("ID5", store, &owner(), &key("k"), &claim(session, "a", 0)).await;
    let present = win("ID5", store, &owner(), &key("k"), &taking(claim(session, "b", 60))).await;
    let late = store.complete(&old, &json("\"late\""), at(61), at(1_000)).await;
    refused!("ID5", late, StoreError::VersionMismatch { .. });
    refused!("ID5", store.release(&old).await, StoreError::VersionMismatch { .. });
    let asked = ask("ID5", store, &key("k"), &claim(session, "c", 62)).await;
    assert_eq!(
        asked,
        Claim::InProgress { holder: holder("b"), expires: at(120) },
        "ID5: the new claim stands"
    );
    ok("ID5", store.complete(&present, &json("\"right\""), at(63), at(1_000)).await);
    let late = store.complete(&old, &json("\"late\""), at(64), at(1_000)).await;
    refused!("ID5", late, StoreError::VersionMismatch { .. });
    let asked = ask("ID5", store, &key("k"), &claim(session, "c", 65)).await;
    assert_eq!(
        asked,
        Claim::Done { outcome: json("\"right\""), at: at(63) },
        "ID5: the right outcome stands"
    );
}

/// ID5, ID7: a ticket that was released is worth nothing, even when another has won the key since: a release that is
/// repeated because its answer was lost must not free what another is running.
pub async fn a_released_ticket_changes_nothing(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    let old = win("ID7", store, &owner(), &key("k"), &claim(session, "a", 0)).await;
    ok("ID7", store.release(&old).await);
    let late = store.complete(&old, &json("1"), at(1), at(1_000)).await;
    refused!("ID7", late, StoreError::VersionMismatch { .. });
    win("ID7", store, &owner(), &key("k"), &claim(session, "b", 2)).await;
    let late = store.complete(&old, &json("1"), at(3), at(1_000)).await;
    refused!("ID5", late, StoreError::VersionMismatch { .. });
    refused!("ID5", store.release(&old).await, StoreError::VersionMismatch { .. });
    let asked = ask("ID5", store, &key("k"), &claim(session, "c", 4)).await;
    assert_eq!(
        asked,
        Claim::InProgress { holder: holder("b"), expires: at(62) },
        "ID5: the new claim stands"
    );
}

/// ID6: an outcome is recorded even after the claim's expiry, as long as nobody took it over.
pub async fn a_late_outcome_is_recorded(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    let ticket = win("ID6", store, &owner(), &key("k"), &claim(session, "a", 0)).await;
    let asked = ask("ID6", store, &key("k"), &claim(session, "b", 100)).await;
    assert!(matches!(asked, Claim::Abandoned { .. }), "ID6: it counts as abandoned, and is {asked:?}");
    ok("ID6", store.complete(&ticket, &json("1"), at(101), at(1_000)).await);
    let asked = ask("ID6", store, &key("k"), &taking(claim(session, "b", 102))).await;
    assert_eq!(asked, Claim::Done { outcome: json("1"), at: at(101) }, "ID6: it is done");
}

/// ID6: the first outcome stands: a second is refused, and a completed key is not freed.
pub async fn the_first_outcome_stands(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    let ticket = win("ID6", store, &owner(), &key("k"), &claim(session, "a", 0)).await;
    ok("ID6", store.complete(&ticket, &json("1"), at(5), at(1_000)).await);
    let again = store.complete(&ticket, &json("2"), at(6), at(2_000)).await;
    refused!("ID6", again, StoreError::VersionMismatch { .. });
    refused!("ID6", store.release(&ticket).await, StoreError::VersionMismatch { .. });
    let asked = ask("ID6", store, &key("k"), &claim(session, "b", 7)).await;
    assert_eq!(asked, Claim::Done { outcome: json("1"), at: at(5) }, "ID6: the first outcome");
}

/// ID9: the same key under two owners is two keys, from the claim to the outcome.
pub async fn owners_do_not_meet(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    let mine = win("ID9", store, &owner(), &key("k"), &claim(session, "a", 0)).await;
    ok("ID9", store.complete(&mine, &json("\"mine\""), at(1), at(1_000)).await);
    for stranger in strangers() {
        assert!(
            ok("ID9", store.get(&stranger, &key("k")).await).is_none(),
            "ID9: {stranger} has no such key"
        );
        let theirs = win("ID9", store, &stranger, &key("k"), &claim(session, "b", 2)).await;
        ok("ID9", store.complete(&theirs, &json("\"theirs\""), at(3), at(1_000)).await);
    }
    let asked = ask("ID9", store, &key("k"), &claim(session, "c", 4)).await;
    assert_eq!(asked, Claim::Done { outcome: json("\"mine\""), at: at(1) }, "ID9: each has its own outcome");
}

/// ID10: looking at a key says how it stands and changes nothing.
pub async fn get_only_looks(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    assert!(ok("ID10", store.get(&owner(), &key("k")).await).is_none(), "ID10: nothing was claimed");
    let new = claim(session, "a", 0);
    let ticket = win("ID10: looking does not claim", store, &owner(), &key("k"), &new).await;
    let mut expected =
        ClaimRecord { tool: new.tool, session, holder: new.holder, expires: new.expires, outcome: None };
    for _ in 0..2 {
        let record = ok("ID10", store.get(&owner(), &key("k")).await);
        assert_eq!(record.as_ref(), Some(&expected), "ID10: a claim without outcome");
    }
    ok(
        "ID10: looking does not end a claim",
        store.complete(&ticket, &json(AWKWARD_JSON), at(1), at(1_000)).await,
    );
    expected.outcome = Some(json(AWKWARD_JSON));
    let record = ok("ID10", store.get(&owner(), &key("k")).await);
    assert_eq!(record, Some(expected), "ID10: a claim with its outcome");
}

/// ID10: after a takeover the record is that of the last claim.
pub async fn get_shows_the_last_claim(store: &dyn IdempotencyStore) {
    win("ID10", store, &owner(), &key("k"), &claim(SessionId::generate(), "a", 0)).await;
    let next = taking(claim(SessionId::generate(), "b", 70));
    win("ID10", store, &owner(), &key("k"), &next).await;
    let record = ok("ID10", store.get(&owner(), &key("k")).await).expect("ID10: the key is there");
    assert_eq!(
        (record.session, record.holder, record.expires),
        (next.session, next.holder, next.expires),
        "ID10: the last"
    );
}

/// ID11: what is collected are outcomes whose retention has ended, in bounded steps; a claim without outcome stays for ever.
pub async fn collect_removes_what_is_retained_no_longer(store: &dyn IdempotencyStore) {
    let session = SessionId::generate();
    for (name, until) in [("k1", 100), ("k2", 100), ("k3", 90), ("k4", 101), ("k5", 1_000)] {
        let ticket = win("ID11", store, &owner(), &key(name), &claim(session, "a", 0)).await;
        ok("ID11", store.complete(&ticket, &json("1"), at(1), at(until)).await);
    }
    win("ID11", store, &owner(), &key("open"), &claim(session, "a", 0)).await;
    assert_eq!(ok("ID11", store.collect(at(89), Limit::MAX).await), 0, "ID11: nothing has ended");
    assert_eq!(ok("ID11", store.collect(at(100), Limit::new(2)).await), 2, "ID11: at most the limit");
    assert_eq!(ok("ID11", store.collect(at(100), Limit::new(2)).await), 1, "ID11: the rest");
    assert_eq!(ok("ID11", store.collect(at(100), Limit::MAX).await), 0, "ID11: two are retained");
    for (name, there) in [("k1", false), ("k2", false), ("k3", false), ("k4", true), ("k5", true)] {
        let record = ok("ID11", store.get(&owner(), &key(name)).await);
        assert_eq!(record.is_some(), there, "ID11: whether {name} is there");
    }
    ok("ID11", store.collect(at(1_000_000), Limit::MAX).await);
    let asked = ask("ID11", store, &key("open"), &claim(session, "b", 1_000_000)).await;
    assert!(
        matches!(asked, Claim::Abandoned { .. }),
        "ID11: an unknown outcome is never forgotten, and is {asked:?}"
    );
    win("ID11: a collected key is free", store, &owner(), &key("k1"), &claim(session, "b", 1_000_000)).await;
}

/// ID12: erasing a user removes all of that owner's keys and no other's.
pub async fn erase_user_removes_all_of_an_owner(store: &dyn IdempotencyStore) {
    for (name, complete) in [("k1", true), ("k2", false)] {
        for owner in [owner()].into_iter().chain(strangers()) {
            let ticket = win("ID12", store, &owner, &key(name), &claim(SessionId::generate(), "a", 0)).await;
            if complete {
                ok("ID12", store.complete(&ticket, &json("1"), at(1), at(1_000)).await);
            }
        }
    }
    assert_eq!(ok("ID12", store.erase_user(&owner()).await), 2, "ID12: how many");
    assert_eq!(ok("ID12", store.erase_user(&owner()).await), 0, "ID12: nothing is left");
    for name in ["k1", "k2"] {
        assert!(ok("ID12", store.get(&owner(), &key(name)).await).is_none(), "ID12: {name} is gone");
        for stranger in strangers() {
            assert!(
                ok("ID12", store.get(&stranger, &key(name)).await).is_some(),
                "ID12: {stranger} keeps {name}"
            );
        }
    }
}

/// ID12: erasing a session removes the keys that it claimed last, of this owner only.
pub async fn erase_session_removes_its_keys(store: &dyn IdempotencyStore) {
    let (gone, kept) = (SessionId::generate(), SessionId::generate());
    win("ID12", store, &owner(), &key("k1"), &claim(gone, "a", 0)).await;
    let ticket = win("ID12", store, &owner(), &key("k2"), &claim(gone, "a", 0)).await;
    ok("ID12", store.complete(&ticket, &json("1"), at(1), at(1_000)).await);
    win("ID12", store, &owner(), &key("k3"), &claim(kept, "a", 0)).await;
    win("ID12", store, &owner(), &key("moved"), &claim(gone, "a", 0)).await;
    win("ID12", store, &owner(), &key("moved"), &taking(claim(kept, "b", 60))).await;
    let [stranger, _] = strangers();
    win("ID12", store, &stranger, &key("k1"), &claim(gone, "a", 0)).await;
    assert_eq!(ok("ID12", store.erase_session(&owner(), gone).await), 2, "ID12: how many");
    for (name, there) in [("k1", false), ("k2", false), ("k3", true), ("moved", true)] {
        let record = ok("ID12", store.get(&owner(), &key(name)).await);
        assert_eq!(record.is_some(), there, "ID12: whether {name} is there");
    }
    assert!(ok("ID12", store.get(&stranger, &key("k1")).await).is_some(), "ID12: another's is untouched");
}
