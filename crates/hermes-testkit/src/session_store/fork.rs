//! Forks.

use hermes_core::{
    ForkPoint, Limit, LogQuery, Message, NewMessage, PageRequest, SearchQuery, Seq, SessionId, SessionStore,
    StoreError, WriteGuard,
};

use super::{append, create_with, log_of, stored, texts};
use crate::check::{ok, refused};
use crate::sample::{at, context, holder, owner, rich_messages, seconds, session};

/// SS19: a fork holds the messages up to its place, equal and at the same places, and says where it came from.
pub async fn fork_holds_the_log_so_far(store: &dyn SessionStore) {
    let parent = session("Parent").with_time_zone("Asia/Shanghai");
    let log = create_with("SS19", store, &parent, &rich_messages()).await;
    for n in [0, 1, 4, log.len()] {
        let place = Seq::new(u64::try_from(n).expect("a small number"));
        let mut fork = session("Fork").with_time_zone("Europe/Berlin");
        fork.created = at(77);
        let made = ok("SS19", store.fork(&owner(), parent.id, place, &fork).await);
        assert_eq!(
            made.record.forked_from,
            Some(ForkPoint { session: parent.id, at: place }),
            "SS19: where from"
        );
        assert_eq!(
            (
                made.record.id,
                &made.record.owner,
                made.record.title.as_str(),
                &made.record.time_zone,
                made.record.created
            ),
            (fork.id, &fork.owner, "Fork", &fork.time_zone, fork.created),
            "SS19: who the fork is"
        );
        assert_eq!(made.state.last, place, "SS19: its last place");
        assert_eq!(stored("SS19", store, &owner(), fork.id).await, made, "SS19: get gives it back equal");
        assert_eq!(log_of("SS19", store, &owner(), fork.id).await, log[..n], "SS19: the same messages");
        let places: Vec<_> = log.iter().map(Message::seq).collect();
        let named = ok("SS19", store.messages(&owner(), fork.id, &places).await);
        assert_eq!(named, log[..n], "SS19: the same messages by name");
    }
    assert_eq!(log_of("SS19", store, &owner(), parent.id).await, log, "SS19: the parent is unchanged");
}

/// SS19: what is appended to the one is not seen in the other.
pub async fn forks_go_their_own_way(store: &dyn SessionStore) {
    let parent = session("Parent");
    let fork = session("Fork");
    create_with("SS19", store, &parent, &texts(&["one", "two", "three"])).await;
    ok("SS19", store.fork(&owner(), parent.id, Seq::new(2), &fork).await);
    append("SS19", store, &fork, Seq::new(2), &texts(&["fork three", "fork four"]), 5).await;
    append("SS19", store, &parent, Seq::new(3), &texts(&["four"]), 6).await;
    let says = |log: Vec<Message>| log.iter().map(Message::text).collect::<Vec<_>>();
    let log = log_of("SS19", store, &owner(), parent.id).await;
    assert_eq!(says(log), ["one", "two", "three", "four"], "SS19: the parent");
    let log = log_of("SS19", store, &owner(), fork.id).await;
    assert_eq!(
        log.iter().map(|m| m.seq().get()).collect::<Vec<_>>(),
        [1, 2, 3, 4],
        "SS19: the fork's places"
    );
    assert_eq!(says(log), ["one", "two", "fork three", "fork four"], "SS19: the fork");

    // Pages cross the place of the fork, both ways.
    let back = LogQuery::backward(Seq::new(3), Limit::new(2));
    let page = ok("SS19", store.page(&owner(), fork.id, &back).await);
    assert_eq!(
        (says(page.messages), page.more),
        (vec!["fork three".to_owned(), "two".to_owned()], true),
        "SS19: a page"
    );
}

/// SS19: the summary goes along when it covers no more than the fork holds.
pub async fn fork_keeps_a_summary_that_fits(store: &dyn SessionStore) {
    let parent = session("Parent");
    create_with("SS19", store, &parent, &texts(&["one", "two", "three"])).await;
    ok("SS19", store.put_context(&owner(), parent.id, &context(2), WriteGuard::unleased(at(2))).await);
    for (place, kept) in [(1, false), (2, true), (3, true)] {
        let fork = session("Fork");
        let made = ok("SS19", store.fork(&owner(), parent.id, Seq::new(place), &fork).await);
        let summary = if kept { context(2).summary } else { None };
        assert_eq!(made.state.context.summary, summary, "SS19: the summary through 2 in a fork at {place}");
        let got = stored("SS19", store, &owner(), fork.id).await;
        assert_eq!(got.state.context.summary, summary, "SS19: the same from get");
    }
    let got = stored("SS19", store, &owner(), parent.id).await;
    assert_eq!(got.state.context, context(2), "SS19: the parent keeps its own");
}

/// SS19, SS17: a fork's messages are found in the fork as well.
pub async fn forked_messages_are_found(store: &dyn SessionStore) {
    let parent = session("Parent");
    let fork = session("Fork");
    create_with("SS19", store, &parent, &texts(&["a zebra", "another zebra"])).await;
    ok("SS19", store.fork(&owner(), parent.id, Seq::new(1), &fork).await);
    for (within, expected) in [(parent.id, vec![2, 1]), (fork.id, vec![1])] {
        let query =
            SearchQuery { text: "zebra".to_owned(), session: Some(within), page: PageRequest::default() };
        let hits = ok("SS19", store.search(&owner(), &query).await).items;
        let found: Vec<_> = hits.iter().map(|hit| hit.message.seq().get()).collect();
        assert_eq!(found, expected, "SS19: what is found");
    }
}

/// SS19: a lease on the parent neither hinders a fork nor holds for it.
pub async fn a_lease_stays_with_the_parent(store: &dyn SessionStore) {
    let parent = session("Parent");
    let fork = session("Fork");
    create_with("SS19", store, &parent, &texts(&["one"])).await;
    ok("SS19", store.acquire(&owner(), parent.id, &holder("a"), seconds(600), at(2)).await);
    ok("SS19", store.fork(&owner(), parent.id, Seq::new(1), &fork).await);
    append("SS19", store, &fork, Seq::new(1), &texts(&["two"]), 3).await;
}

/// SS19, SS2: a fork needs an id that is free and a parent that is there.
pub async fn fork_refuses_a_taken_id(store: &dyn SessionStore) {
    let parent = session("Parent");
    create_with("SS19", store, &parent, &texts(&["one"])).await;
    let mut taken = session("Fork");
    taken.id = parent.id;
    refused!("SS19", store.fork(&owner(), parent.id, Seq::new(1), &taken).await, StoreError::Exists { .. });
    let orphan = store.fork(&owner(), SessionId::generate(), Seq::START, &session("Fork")).await;
    refused!("SS19", orphan, StoreError::NotFound { .. });
    assert_eq!(
        stored("SS19", store, &owner(), parent.id).await.record.title,
        "Parent",
        "SS19: nothing changed"
    );
}

/// SS20: a fork at a place beyond the last message is refused, and is not made.
pub async fn fork_beyond_the_end_is_refused(store: &dyn SessionStore) {
    let parent = session("Parent");
    create_with("SS20", store, &parent, &texts(&["one", "two"])).await;
    for place in [3, u64::MAX] {
        let fork = session("Fork");
        refused!(
            "SS20",
            store.fork(&owner(), parent.id, Seq::new(place), &fork).await,
            StoreError::Invalid { .. }
        );
        assert!(ok("SS20", store.get(&owner(), fork.id).await).is_none(), "SS20: no fork is made");
    }
}

/// SS21: a fork stays whole when its parent is deleted, and so does a fork of the fork.
pub async fn a_fork_outlives_its_parent(store: &dyn SessionStore) {
    let (parent, child, grandchild) = (session("Parent"), session("Child"), session("Grandchild"));
    create_with("SS21", store, &parent, &texts(&["one", "two zebras", "three"])).await;
    ok("SS21", store.fork(&owner(), parent.id, Seq::new(3), &child).await);
    append("SS21", store, &child, Seq::new(3), &texts(&["four"]), 4).await;
    ok("SS21", store.fork(&owner(), child.id, Seq::new(4), &grandchild).await);
    append("SS21", store, &grandchild, Seq::new(4), &texts(&["five"]), 5).await;
    let whole_child = log_of("SS21", store, &owner(), child.id).await;
    let whole = log_of("SS21", store, &owner(), grandchild.id).await;

    assert!(
        ok("SS21", store.delete(&owner(), parent.id, WriteGuard::unleased(at(6))).await),
        "SS21: the parent"
    );
    assert_eq!(
        log_of("SS21", store, &owner(), child.id).await,
        whole_child,
        "SS21: the child without its parent"
    );
    assert_eq!(log_of("SS21", store, &owner(), grandchild.id).await, whole, "SS21: the grandchild");
    assert!(
        ok("SS21", store.delete(&owner(), child.id, WriteGuard::unleased(at(7))).await),
        "SS21: the child"
    );
    assert_eq!(log_of("SS21", store, &owner(), grandchild.id).await, whole, "SS21: the grandchild alone");
    let from = stored("SS21", store, &owner(), grandchild.id).await.record.forked_from;
    assert_eq!(
        from,
        Some(ForkPoint { session: child.id, at: Seq::new(4) }),
        "SS21: it still says where it came from"
    );
    let query = SearchQuery { text: "zebras".to_owned(), session: None, page: PageRequest::default() };
    let hits = ok("SS21", store.search(&owner(), &query).await).items;
    let found: Vec<_> = hits.iter().map(|hit| (hit.session, hit.message.seq())).collect();
    assert_eq!(found, [(grandchild.id, Seq::new(2))], "SS21: it is still found, once");
    append("SS21", store, &grandchild, Seq::new(5), &[NewMessage::user("six")], 8).await;
}
