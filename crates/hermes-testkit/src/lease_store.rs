//! The cases of [`LeaseStore`](hermes_core::LeaseStore). A lease needs a session to stand on, so they take a [`SessionStore`].

use hermes_core::{Lease, NewSession, SessionId, SessionStore, StoreError, WriteGuard};

use crate::check::{ok, refused};
use crate::sample::{at, holder, owner, seconds, session};

async fn leasable(clause: &str, store: &dyn SessionStore) -> NewSession {
    let new = session("Leased");
    ok(clause, store.create(&new).await);
    new
}

async fn acquire(
    store: &dyn SessionStore,
    session: &NewSession,
    by: &str,
    ttl: u64,
    now: i64,
) -> Result<Lease, StoreError> {
    store.acquire(&session.owner, session.id, &holder(by), seconds(ttl), at(now)).await
}

/// LE1: a lease says whose, what, by whom, until when, and has a fence above all before it.
pub async fn acquire_gives_a_lease(store: &dyn SessionStore) {
    let new = leasable("LE1", store).await;
    let fence =
        ok("LE1", store.get(&new.owner, new.id).await).expect("LE1: the session is there").state.fence;
    let first = ok("LE1", acquire(store, &new, "a", 10, 0).await);
    let expected = Lease {
        owner: new.owner.clone(),
        session: new.id,
        holder: holder("a"),
        fence: first.fence,
        expires: at(10),
    };
    assert_eq!(first, expected, "LE1: the lease");
    assert!(first.fence > fence, "LE1: the fence rises");
    let second = ok("LE1", acquire(store, &new, "b", 10, 50).await);
    assert!(second.fence > first.fence, "LE1: the fence rises with each lease");
    let fence =
        ok("LE1", store.get(&new.owner, new.id).await).expect("LE1: the session is there").state.fence;
    assert_eq!(fence, second.fence, "LE1: the session shows the fence that stands");
}

/// LE1: leases on two sessions do not meet.
pub async fn leases_are_per_session(store: &dyn SessionStore) {
    let (one, two) = (leasable("LE1", store).await, leasable("LE1", store).await);
    ok("LE1", acquire(store, &one, "a", 10, 0).await);
    ok("LE1", acquire(store, &two, "b", 10, 0).await);
}

/// LE2: a live lease is another's until its end, and the error says whose and until when.
pub async fn a_live_lease_is_not_given_twice(store: &dyn SessionStore) {
    let new = leasable("LE2", store).await;
    let lease = ok("LE2", acquire(store, &new, "a", 10, 0).await);
    let (of, by, until) = refused!("LE2", acquire(store, &new, "b", 10, 9).await,
        StoreError::Leased { session, holder, until } => (session, holder, until));
    assert_eq!(
        (of, by, until),
        (new.id, holder("a"), at(10)),
        "LE2: the error says whose it is and until when"
    );
    let renewed = ok("LE2", store.renew(&lease, seconds(10), at(9)).await);
    assert_eq!(renewed.fence, lease.fence, "LE2: the attempt did not raise the fence");
}

/// LE3: its holder gets it anew, under a higher fence, and the old fence no longer writes.
pub async fn the_holder_may_take_it_again(store: &dyn SessionStore) {
    let new = leasable("LE3", store).await;
    let first = ok("LE3", acquire(store, &new, "a", 10, 0).await);
    let second = ok("LE3", acquire(store, &new, "a", 20, 5).await);
    assert!(second.fence > first.fence, "LE3: the fence rises");
    assert_eq!(second.expires, at(25), "LE3: it runs from now");
    let old = store.rename(&new.owner, new.id, "x", WriteGuard::fenced(at(6), first.fence)).await;
    refused!("LE3", old, StoreError::Fenced { .. });
    ok("LE3", store.rename(&new.owner, new.id, "x", WriteGuard::fenced(at(6), second.fence)).await);
}

/// LE4: a lease is live up to its expiry; at the expiry itself another may take it.
pub async fn a_lease_ends_at_its_expiry(store: &dyn SessionStore) {
    let new = leasable("LE4", store).await;
    ok("LE4", acquire(store, &new, "a", 10, 0).await);
    let just_before = at(10).checked_sub(std::time::Duration::from_micros(1)).expect("a time in reach");
    let early = store.acquire(&new.owner, new.id, &holder("b"), seconds(10), just_before).await;
    refused!("LE4", early, StoreError::Leased { .. });
    let next = ok("LE4", acquire(store, &new, "b", 10, 10).await);
    assert_eq!(next.holder, holder("b"), "LE4: it is the other's now");
}

/// LE5: renewing moves the expiry to `at + ttl` and keeps holder and fence, in time or late.
pub async fn renew_moves_the_expiry(store: &dyn SessionStore) {
    let new = leasable("LE5", store).await;
    let lease = ok("LE5", acquire(store, &new, "a", 10, 0).await);
    for (now, ttl) in [(5, 10), (100, 30)] {
        let renewed = ok("LE5", store.renew(&lease, seconds(ttl), at(now)).await);
        let expires = at(now) + seconds(ttl);
        assert_eq!(renewed, Lease { expires, ..lease.clone() }, "LE5: renewed at {now} for {ttl}");
        let other = acquire(store, &new, "b", 10, now + 9).await;
        refused!("LE5", other, StoreError::Leased { until, .. } if until == expires);
    }
    ok("LE5: the renewed lease ends", acquire(store, &new, "b", 10, 130).await);
}

/// LE5: renewing can bring the end nearer as well: it is `at + ttl`, whatever it was.
pub async fn renew_may_shorten(store: &dyn SessionStore) {
    let new = leasable("LE5", store).await;
    let lease = ok("LE5", acquire(store, &new, "a", 1_000, 0).await);
    let renewed = ok("LE5", store.renew(&lease, seconds(10), at(5)).await);
    assert_eq!(renewed.expires, at(15), "LE5: the expiry");
    ok("LE5", acquire(store, &new, "b", 10, 15).await);
}

/// LE6: a lease that another took, that its holder took anew, or that was given back cannot be renewed.
pub async fn a_lost_lease_is_not_renewed(store: &dyn SessionStore) {
    for how in ["taken", "taken anew", "given back"] {
        let new = leasable("LE6", store).await;
        let lease = ok("LE6", acquire(store, &new, "a", 10, 0).await);
        match how {
            "taken" => drop(ok("LE6", acquire(store, &new, "b", 10, 10).await)),
            "taken anew" => drop(ok("LE6", acquire(store, &new, "a", 10, 5).await)),
            _ => ok("LE6", store.release(&lease).await),
        }
        let (of, held) = refused!(format!("LE6 ({how})"), store.renew(&lease, seconds(10), at(11)).await,
            StoreError::Fenced { session, held, .. } => (session, held));
        assert_eq!((of, held), (new.id, lease.fence), "LE6: the error says what was held");
    }
}

/// LE6: a lease on a session that is gone cannot be renewed.
pub async fn a_lease_on_nothing_is_not_renewed(store: &dyn SessionStore) {
    let new = leasable("LE6", store).await;
    let lease = ok("LE6", acquire(store, &new, "a", 10, 0).await);
    assert!(ok("LE6", store.delete(&new.owner, new.id, WriteGuard::fenced(at(1), lease.fence)).await));
    refused!("LE6", store.renew(&lease, seconds(10), at(2)).await, StoreError::NotFound { .. });
    ok("LE7: releasing it does nothing", store.release(&lease).await);
}

/// LE7: releasing ends a lease at once.
pub async fn release_ends_it_at_once(store: &dyn SessionStore) {
    let new = leasable("LE7", store).await;
    let lease = ok("LE7", acquire(store, &new, "a", 1_000, 0).await);
    ok("LE7", store.release(&lease).await);
    ok(
        "LE7: a write needs no lease now",
        store.rename(&new.owner, new.id, "x", WriteGuard::unleased(at(1))).await,
    );
    ok("LE7: another may take it", acquire(store, &new, "b", 10, 1).await);
}

/// LE7: releasing what was lost or released already does nothing, to the next holder's lease least of all.
pub async fn a_late_release_does_nothing(store: &dyn SessionStore) {
    for how in ["lost", "released"] {
        let new = leasable("LE7", store).await;
        let old = ok("LE7", acquire(store, &new, "a", 10, 0).await);
        if how == "released" {
            ok("LE7", store.release(&old).await);
            ok("LE7", store.release(&old).await);
        }
        let present = ok("LE7", acquire(store, &new, "b", 1_000, 10).await);
        ok("LE7", store.release(&old).await);
        refused!("LE7", acquire(store, &new, "c", 10, 11).await, StoreError::Leased { holder: by, .. } if by == holder("b"));
        let unleased = store.rename(&new.owner, new.id, "x", WriteGuard::unleased(at(12))).await;
        refused!("LE7", unleased, StoreError::Leased { .. });
        ok("LE7", store.rename(&new.owner, new.id, "x", WriteGuard::fenced(at(13), present.fence)).await);
    }
}

/// LE9: there is no lease on a session that is not there.
pub async fn acquire_needs_a_session(store: &dyn SessionStore) {
    let gone = store.acquire(&owner(), SessionId::generate(), &holder("a"), seconds(10), at(0)).await;
    refused!("LE9", gone, StoreError::NotFound { .. });
}

/// LE10: releasing does not lower the fence, so that an old writer never comes back to power.
pub async fn release_keeps_the_fence(store: &dyn SessionStore) {
    let new = leasable("LE10", store).await;
    let mut fences = Vec::new();
    for (now, by) in (0..).zip(["a", "b", "a", "c"]) {
        let lease = ok("LE10", acquire(store, &new, by, 10, now).await);
        fences.push(lease.fence);
        ok("LE10", store.release(&lease).await);
    }
    assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "LE10: the fences {fences:?} rise");
    let old = store.rename(&new.owner, new.id, "x", WriteGuard::fenced(at(9), fences[0])).await;
    refused!("LE10", old, StoreError::Fenced { .. });
}
