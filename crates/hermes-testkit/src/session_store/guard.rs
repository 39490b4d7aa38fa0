//! Fences and leases on writes.

use hermes_core::{
    ContextMetadata, FencingToken, NewSession, Seq, SessionStore, StoreError, StoredSession, WriteGuard,
};

use super::{create_with, log_of, stored, texts};
use crate::check::{ok, refused};
use crate::sample::{at, holder, seconds, session};

/// Tries each of the four guarded writes under one guard and gives what became of them; `delete` comes last.
async fn writes(
    store: &dyn SessionStore,
    session: &NewSession,
    last: Seq,
    guard: WriteGuard,
) -> [(&'static str, Result<(), StoreError>); 4] {
    let (owner, id) = (&session.owner, session.id);
    let context = ContextMetadata { fold_failures: 9, ..ContextMetadata::default() };
    [
        ("append", store.append(owner, id, last, &texts(&["written"]), guard).await.map(|_| ())),
        ("rename", store.rename(owner, id, "Written", guard).await),
        ("put_context", store.put_context(owner, id, &context, guard).await),
        ("delete", store.delete(owner, id, guard).await.map(|_| ())),
    ]
}

async fn unchanged(clause: &str, store: &dyn SessionStore, before: &StoredSession, messages: usize) {
    let (owner, id) = (&before.record.owner, before.record.id);
    assert_eq!(stored(clause, store, owner, id).await, *before, "{clause}: the session is unchanged");
    assert_eq!(log_of(clause, store, owner, id).await.len(), messages, "{clause}: the log is unchanged");
}

/// SS13: once another has taken the lease, no write of the earlier holder gets through.
pub async fn a_lost_lease_writes_nothing(store: &dyn SessionStore) {
    let new = session("S");
    create_with("SS13", store, &new, &texts(&["one"])).await;
    let old = ok("SS13", store.acquire(&new.owner, new.id, &holder("a"), seconds(10), at(10)).await);
    let present = ok("SS13", store.acquire(&new.owner, new.id, &holder("b"), seconds(10), at(20)).await);
    let before = stored("SS13", store, &new.owner, new.id).await;
    assert_eq!(before.state.fence, present.fence, "SS13: the session shows the fence that stands");
    // Neither while the new lease is live nor after its end.
    for now in [21, 1_000] {
        for (write, result) in writes(store, &new, Seq::new(1), WriteGuard::fenced(at(now), old.fence)).await
        {
            let (of, held, current) = refused!(format!("SS13 ({write})"), result,
                StoreError::Fenced { session, held, current } => (session, held, current));
            assert_eq!(
                (of, held, current),
                (new.id, old.fence, present.fence),
                "SS13: {write} says both fences"
            );
        }
    }
    unchanged("SS13", store, &before, 1).await;
}

/// SS13: a fence that was never given is not the present one either.
pub async fn an_invented_fence_writes_nothing(store: &dyn SessionStore) {
    let new = session("S");
    create_with("SS13", store, &new, &texts(&["one"])).await;
    let lease = ok("SS13", store.acquire(&new.owner, new.id, &holder("a"), seconds(10), at(10)).await);
    let before = stored("SS13", store, &new.owner, new.id).await;
    for fence in [lease.fence.next(), FencingToken::new(u64::MAX)] {
        for (write, result) in writes(store, &new, Seq::new(1), WriteGuard::fenced(at(11), fence)).await {
            refused!(format!("SS13 ({write})"), result, StoreError::Fenced { .. });
        }
    }
    unchanged("SS13", store, &before, 1).await;
}

/// SS14: while a lease is live, whoever has none writes nothing; the error names holder and end.
pub async fn a_live_lease_keeps_others_out(store: &dyn SessionStore) {
    let new = session("S");
    create_with("SS14", store, &new, &texts(&["one"])).await;
    let lease = ok("SS14", store.acquire(&new.owner, new.id, &holder("a"), seconds(10), at(10)).await);
    let before = stored("SS14", store, &new.owner, new.id).await;
    for (write, result) in writes(store, &new, Seq::new(1), WriteGuard::unleased(at(19))).await {
        let (of, by, until) = refused!(format!("SS14 ({write})"), result,
            StoreError::Leased { session, holder, until } => (session, holder, until));
        assert_eq!(
            (of, by, until),
            (new.id, holder("a"), lease.expires),
            "SS14: {write} says who and until when"
        );
    }
    unchanged("SS14", store, &before, 1).await;
}

/// SS14: without a live lease a write needs no fence: never leased, at the lease's end, and after its release.
pub async fn without_a_lease_all_may_write(store: &dyn SessionStore) {
    for how in ["never leased", "ended", "released"] {
        let new = session(how);
        create_with("SS14", store, &new, &texts(&["one"])).await;
        if how != "never leased" {
            let lease =
                ok("SS14", store.acquire(&new.owner, new.id, &holder("a"), seconds(10), at(10)).await);
            if how == "released" {
                ok("SS14", store.release(&lease).await);
            }
        }
        let now = if how == "ended" { 20 } else { 11 };
        for (write, result) in writes(store, &new, Seq::new(1), WriteGuard::unleased(at(now))).await {
            ok(&format!("SS14 ({write}, {how})"), result);
        }
    }
}

/// SS15: who holds the present fence may write, even after the lease's end, as long as nobody took it.
pub async fn the_present_fence_may_write(store: &dyn SessionStore) {
    for (when, now) in [("live", 11), ("ended", 1_000)] {
        let new = session(when);
        create_with("SS15", store, &new, &texts(&["one"])).await;
        let lease = ok("SS15", store.acquire(&new.owner, new.id, &holder("a"), seconds(10), at(10)).await);
        for (write, result) in
            writes(store, &new, Seq::new(1), WriteGuard::fenced(at(now), lease.fence)).await
        {
            ok(&format!("SS15 ({write}, {when})"), result);
        }
    }
}
