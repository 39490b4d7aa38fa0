//! What another owner sees of a session: nothing.

use hermes_core::{
    ContextMetadata, Lease, Limit, LogQuery, PageRequest, SearchQuery, Seq, SessionId, SessionStore,
    StoreError, WriteGuard,
};

use super::{create_with, log_of, stored, texts};
use crate::check::{ok, refused};
use crate::sample::{at, holder, seconds, session, session_of, strangers};

/// SS3: reading another owner's session is like reading one that is not there.
pub async fn strangers_read_nothing(store: &dyn SessionStore) {
    let new = session("Private");
    create_with("SS3", store, &new, &texts(&["zebra"])).await;
    for stranger in strangers() {
        for id in [new.id, SessionId::generate()] {
            assert!(ok("SS3", store.get(&stranger, id).await).is_none(), "SS3: get gives none");
            let page = store.page(&stranger, id, &LogQuery::newest(Limit::default())).await;
            refused!("SS3", page, StoreError::NotFound { .. });
            refused!("SS3", store.messages(&stranger, id, &[Seq::new(1)]).await, StoreError::NotFound { .. });
        }
    }
}

/// SS3: another owner's lists hold only that owner's sessions.
pub async fn strangers_list_only_their_own(store: &dyn SessionStore) {
    let new = session("Private");
    create_with("SS3", store, &new, &texts(&["zebra"])).await;
    for stranger in strangers() {
        let page = ok("SS3", store.list(&stranger, &PageRequest::default()).await);
        assert!(page.items.is_empty(), "SS3: the list of {stranger} leaks {:?}", page.items);
        let own = session_of(&stranger, "Own");
        create_with("SS3", store, &own, &texts(&["zebra"])).await;
        let page = ok("SS3", store.list(&stranger, &PageRequest::default()).await);
        let ids: Vec<_> = page.items.iter().map(|session| session.record.id).collect();
        assert_eq!(ids, [own.id], "SS3: {stranger} sees one session");
    }
}

/// SS3: another owner's searches find only that owner's messages, even when they name the session.
pub async fn strangers_find_only_their_own(store: &dyn SessionStore) {
    let new = session("Private");
    create_with("SS3", store, &new, &texts(&["zebra"])).await;
    for stranger in strangers() {
        let own = session_of(&stranger, "Own");
        create_with("SS3", store, &own, &texts(&["zebra"])).await;
        for (within, expected) in [(None, vec![own.id]), (Some(new.id), vec![])] {
            let query =
                SearchQuery { text: "zebra".to_owned(), session: within, page: PageRequest::default() };
            let hits = ok("SS3", store.search(&stranger, &query).await).items;
            let found: Vec<_> = hits.iter().map(|hit| hit.session).collect();
            assert_eq!(found, expected, "SS3: what {stranger} finds");
        }
    }
}

/// SS3: writing to another owner's session is like writing to one that is not there, and changes nothing.
pub async fn strangers_write_nothing(store: &dyn SessionStore) {
    let new = session("Private");
    let log = create_with("SS3", store, &new, &texts(&["hello"])).await;
    let before = stored("SS3", store, &new.owner, new.id).await;
    let guard = WriteGuard::unleased(at(9));
    for stranger in strangers() {
        for id in [new.id, SessionId::generate()] {
            let appended = store.append(&stranger, id, Seq::new(1), &texts(&["mine"]), guard).await;
            refused!("SS3", appended, StoreError::NotFound { .. });
            refused!("SS3", store.rename(&stranger, id, "Mine", guard).await, StoreError::NotFound { .. });
            let context = ContextMetadata { fold_failures: 9, ..ContextMetadata::default() };
            refused!(
                "SS3",
                store.put_context(&stranger, id, &context, guard).await,
                StoreError::NotFound { .. }
            );
            let fork = session_of(&stranger, "Fork");
            refused!("SS3", store.fork(&stranger, id, Seq::new(1), &fork).await, StoreError::NotFound { .. });
            assert!(ok("SS3", store.get(&stranger, fork.id).await).is_none(), "SS3: no fork is made");
            assert!(!ok("SS3", store.delete(&stranger, id, guard).await), "SS3: there is nothing to delete");
        }
    }
    assert_eq!(stored("SS3", store, &new.owner, new.id).await, before, "SS3: the session is unchanged");
    assert_eq!(log_of("SS3", store, &new.owner, new.id).await, log, "SS3: the log is unchanged");
}

/// SS3, LE9: another owner cannot take, renew or end a lease.
pub async fn strangers_hold_no_lease(store: &dyn SessionStore) {
    let new = session("Private");
    create_with("SS3", store, &new, &texts(&["hello"])).await;
    let lease = ok("SS3", store.acquire(&new.owner, new.id, &holder("a"), seconds(60), at(2)).await);
    for stranger in strangers() {
        let taken = store.acquire(&stranger, new.id, &holder("b"), seconds(60), at(1_000)).await;
        refused!("LE9", taken, StoreError::NotFound { .. });
        let forged = Lease { owner: stranger.clone(), ..lease.clone() };
        refused!("SS3", store.renew(&forged, seconds(600), at(3)).await, StoreError::NotFound { .. });
        ok("SS3", store.release(&forged).await);
    }
    let unleased =
        store.append(&new.owner, new.id, Seq::new(1), &texts(&["x"]), WriteGuard::unleased(at(4))).await;
    refused!("SS3", unleased, StoreError::Leased { until, .. } if until == lease.expires);
}
