//! Making, listing, renaming and removing sessions.

use std::cmp::Reverse;

use hermes_core::session::MAX_TITLE_BYTES;
use hermes_core::{
    ContextMetadata, Limit, LogQuery, PageRequest, SearchQuery, Seq, SessionId, SessionRecord, SessionStore,
    StoreError, WriteGuard,
};

use super::{append, create, create_with, log_of, stored, texts};
use crate::check::{ok, refused, strange_page, walk};
use crate::sample::{at, holder, owner, seconds, session, session_of, strangers};

/// SS1: a new session is given back equal, empty, and as old as it was made.
pub async fn create_then_get(store: &dyn SessionStore) {
    let new = session("Dinner 晚饭").with_time_zone("Asia/Shanghai");
    let created = create("SS1", store, &new).await;
    let record = SessionRecord {
        id: new.id,
        owner: new.owner.clone(),
        title: new.title.clone(),
        time_zone: new.time_zone.clone(),
        created: new.created,
        forked_from: None,
    };
    assert_eq!(created.record, record, "SS1: what create gives");
    assert_eq!(created.state.last, Seq::START, "SS1: the log is empty");
    assert_eq!(created.state.updated, new.created, "SS1: it was updated when it was created");
    assert_eq!(created.state.context, ContextMetadata::default(), "SS1: nothing is known of the context");
    assert_eq!(stored("SS1", store, &new.owner, new.id).await, created, "SS1: get gives it back equal");
    assert!(log_of("SS1", store, &new.owner, new.id).await.is_empty(), "SS1: the log is empty");
    let none = ok("SS1", store.get(&new.owner, SessionId::generate()).await);
    assert!(none.is_none(), "SS1: a session that was never made is not there");
}

/// SS2: an id is taken once, by whatever owner, and the attempt changes nothing.
pub async fn create_refuses_a_taken_id(store: &dyn SessionStore) {
    let first = session("First");
    create_with("SS2", store, &first, &texts(&["hello"])).await;
    let before = stored("SS2", store, &first.owner, first.id).await;
    for owner in [owner()].into_iter().chain(strangers()) {
        let mut second = session_of(&owner, "Second");
        second.id = first.id;
        second.created = at(9);
        refused!("SS2", store.create(&second).await, StoreError::Exists { .. });
    }
    assert_eq!(
        stored("SS2", store, &first.owner, first.id).await,
        before,
        "SS2: the first session is unchanged"
    );
    assert_eq!(log_of("SS2", store, &first.owner, first.id).await.len(), 1, "SS2: its log is unchanged");
    for stranger in strangers() {
        assert!(ok("SS2", store.get(&stranger, first.id).await).is_none(), "SS2: nobody else has it");
    }
}

/// SS4: the sessions come last updated first, and by id, descending, where that is the same; pages hold each once.
pub async fn list_is_newest_first_in_pages(store: &dyn SessionStore) {
    let mut expected = Vec::new();
    // Times that repeat, so that the id has to decide, and not in the order of the ids.
    for updated in [30, 10, 20, 30, 10, 30, 40, 20, 5] {
        let new = session("S");
        create("SS4", store, &new).await;
        append("SS4", store, &new, Seq::START, &texts(&["hello"]), updated).await;
        expected.push((at(updated), new.id));
    }
    let renamed = session("S");
    create("SS4", store, &renamed).await;
    ok("SS4", store.rename(&renamed.owner, renamed.id, "Renamed", WriteGuard::unleased(at(25))).await);
    expected.push((at(25), renamed.id));
    expected.sort_by_key(|key| Reverse(*key));

    for limit in [1, 3, 5, 10, 100] {
        let listed = walk("SS4", limit, async |page| store.list(&owner(), &page).await).await;
        let keys: Vec<_> = listed.iter().map(|session| (session.state.updated, session.record.id)).collect();
        assert_eq!(keys, expected, "SS4: last updated first, then by id, {limit} a page");
        for session in &listed {
            let got = stored("SS4", store, &owner(), session.record.id).await;
            assert_eq!(*session, got, "SS4: a listed session is as get gives it");
        }
    }
}

/// SS4: an owner without sessions has an empty list.
pub async fn list_of_nothing_is_empty(store: &dyn SessionStore) {
    let page = ok("SS4", store.list(&owner(), &PageRequest::default()).await);
    assert!(page.items.is_empty() && page.next.is_none(), "SS4: {page:?}");
}

/// SS4: a cursor that is not the store's is refused, for the listing and for the search (SS17).
pub async fn list_refuses_a_strange_cursor(store: &dyn SessionStore) {
    create("SS4", store, &session("S")).await;
    refused!("SS4", store.list(&owner(), &strange_page()).await, StoreError::Invalid { .. });
    let query = SearchQuery { text: "hello".to_owned(), session: None, page: strange_page() };
    refused!("SS17", store.search(&owner(), &query).await, StoreError::Invalid { .. });
}

/// SS5: renaming changes the title and the time of the last write, and nothing else.
pub async fn rename_changes_the_title(store: &dyn SessionStore) {
    let new = session("Before").with_time_zone("Europe/Berlin");
    let log = create_with("SS5", store, &new, &texts(&["hello"])).await;
    let context = crate::sample::context(1);
    ok("SS5", store.put_context(&new.owner, new.id, &context, WriteGuard::unleased(at(2))).await);
    let mut expected = stored("SS5", store, &new.owner, new.id).await;
    ok("SS5", store.rename(&new.owner, new.id, "After 之后", WriteGuard::unleased(at(60))).await);
    "After 之后".clone_into(&mut expected.record.title);
    expected.state.updated = at(60);
    assert_eq!(
        stored("SS5", store, &new.owner, new.id).await,
        expected,
        "SS5: title and updated, and nothing else"
    );
    assert_eq!(log_of("SS5", store, &new.owner, new.id).await, log, "SS5: the log is unchanged");
    let gone = store.rename(&new.owner, SessionId::generate(), "x", WriteGuard::unleased(at(61))).await;
    refused!("SS5", gone, StoreError::NotFound { .. });
}

/// SS5: a title has at most [`MAX_TITLE_BYTES`] bytes, whether it comes by `create`, `rename` or `fork`.
pub async fn titles_are_bounded_in_bytes(store: &dyn SessionStore) {
    let longest = "é".repeat(MAX_TITLE_BYTES / 2);
    let over = format!("{longest}x");
    let new = session(&longest);
    create("SS5", store, &new).await;
    assert_eq!(
        stored("SS5", store, &new.owner, new.id).await.record.title,
        longest,
        "SS5: the longest title is kept"
    );

    let refused_session = session(&over);
    refused!("SS5", store.create(&refused_session).await, StoreError::Invalid { .. });
    let none = ok("SS5", store.get(&owner(), refused_session.id).await);
    assert!(none.is_none(), "SS5: a session whose title is refused is not made");
    let renamed = store.rename(&new.owner, new.id, &over, WriteGuard::unleased(at(1))).await;
    refused!("SS5", renamed, StoreError::Invalid { .. });
    let forked = store.fork(&new.owner, new.id, Seq::START, &session(&over)).await;
    refused!("SS5", forked, StoreError::Invalid { .. });
    assert_eq!(
        stored("SS5", store, &new.owner, new.id).await.record.title,
        longest,
        "SS5: the title is unchanged"
    );
    ok("SS5", store.rename(&new.owner, new.id, &longest, WriteGuard::unleased(at(2))).await);
}

/// SS21: what is deleted is gone with its log, context and lease, and its id is free again.
pub async fn delete_removes_everything(store: &dyn SessionStore) {
    let new = session("Gone");
    let kept = session("Kept");
    create_with("SS21", store, &new, &texts(&["zebra"])).await;
    create_with("SS21", store, &kept, &texts(&["zebra"])).await;
    let context = crate::sample::context(1);
    ok("SS21", store.put_context(&new.owner, new.id, &context, WriteGuard::unleased(at(2))).await);
    let lease = ok("SS21", store.acquire(&new.owner, new.id, &holder("a"), seconds(600), at(2)).await);
    let guard = WriteGuard::fenced(at(3), lease.fence);

    assert!(ok("SS21", store.delete(&new.owner, new.id, guard).await), "SS21: there was one");
    assert!(!ok("SS21", store.delete(&new.owner, new.id, guard).await), "SS21: there is none any more");
    assert!(ok("SS21", store.get(&new.owner, new.id).await).is_none(), "SS21: get gives none");
    let page = store.page(&new.owner, new.id, &LogQuery::newest(Limit::MAX)).await;
    refused!("SS21", page, StoreError::NotFound { .. });
    let listed = walk("SS21", 10, async |page| store.list(&owner(), &page).await).await;
    assert_eq!(
        listed.iter().map(|s| s.record.id).collect::<Vec<_>>(),
        [kept.id],
        "SS21: only the other is listed"
    );
    let query = SearchQuery { text: "zebra".to_owned(), session: None, page: PageRequest::default() };
    let hits = ok("SS21", store.search(&owner(), &query).await).items;
    assert_eq!(
        hits.iter().map(|hit| hit.session).collect::<Vec<_>>(),
        [kept.id],
        "SS21: only the other is found"
    );

    let again = create("SS21", store, &new).await;
    assert_eq!(again.state.context, ContextMetadata::default(), "SS21: the context is gone");
    assert!(log_of("SS21", store, &new.owner, new.id).await.is_empty(), "SS21: the log is gone");
    append("SS21: the lease is gone", store, &new, Seq::START, &texts(&["new"]), 4).await;
}

/// SS22: erasing a user removes all of that owner's sessions, leased ones too, and no other's, and says how many.
pub async fn erase_user_removes_all_of_an_owner(store: &dyn SessionStore) {
    let mine = [session("A"), session("B"), session("C")];
    for new in &mine {
        create_with("SS22", store, new, &texts(&["zebra"])).await;
    }
    ok("SS22", store.acquire(&owner(), mine[0].id, &holder("a"), seconds(600), at(2)).await);
    ok("SS22", store.fork(&owner(), mine[1].id, Seq::new(1), &session("Fork")).await);
    let others = strangers().map(|stranger| session_of(&stranger, "Other"));
    for new in &others {
        create_with("SS22", store, new, &texts(&["zebra"])).await;
    }
    assert_eq!(ok("SS22", store.erase_user(&owner()).await), 4, "SS22: three sessions and a fork");
    assert_eq!(ok("SS22", store.erase_user(&owner()).await), 0, "SS22: nothing is left");
    assert!(
        walk("SS22", 10, async |page| store.list(&owner(), &page).await).await.is_empty(),
        "SS22: none is listed"
    );
    for new in &mine {
        assert!(ok("SS22", store.get(&owner(), new.id).await).is_none(), "SS22: none is there");
    }
    for new in &others {
        assert_eq!(log_of("SS22", store, &new.owner, new.id).await.len(), 1, "SS22: another's is untouched");
    }
}

/// SS23: what is collected are leases that have ended, in bounded steps; no fence falls, and a live lease stays.
pub async fn collect_removes_ended_leases(store: &dyn SessionStore) {
    let sessions: Vec<_> = (0..4).map(|n| session(&format!("S{n}"))).collect();
    let mut leases = Vec::new();
    for (new, ttl) in sessions.iter().zip([10, 10, 10, 1_000]) {
        create("SS23", store, new).await;
        leases.push(ok("SS23", store.acquire(&new.owner, new.id, &holder("a"), seconds(ttl), at(0)).await));
    }
    assert_eq!(ok("SS23", store.collect(at(5), Limit::MAX).await), 0, "SS23: none has ended");
    assert_eq!(ok("SS23", store.collect(at(100), Limit::new(2)).await), 2, "SS23: at most the limit");
    assert_eq!(ok("SS23", store.collect(at(100), Limit::new(2)).await), 1, "SS23: the rest");
    assert_eq!(ok("SS23", store.collect(at(100), Limit::new(2)).await), 0, "SS23: the live one stays");

    let live = store.acquire(&owner(), sessions[3].id, &holder("b"), seconds(10), at(100)).await;
    refused!("SS23", live, StoreError::Leased { .. });
    for (new, old) in sessions.iter().zip(&leases).take(3) {
        let now = stored("SS23", store, &new.owner, new.id).await.state.fence;
        assert_eq!(now, old.fence, "SS23: the fence stands");
        let next = ok("SS23", store.acquire(&new.owner, new.id, &holder("b"), seconds(10), at(100)).await);
        assert!(next.fence > old.fence, "SS23: the next fence is higher than that of a collected lease");
    }
}
