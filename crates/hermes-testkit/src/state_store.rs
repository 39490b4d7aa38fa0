//! The cases of [`StateStore`], clause by clause.

use hermes_core::{Expected, Limit, SessionId, StateEntry, StateKey, StateStore, StoreError, Version};

use crate::check::{ok, refused, strange_page, walk};
use crate::sample::{AWKWARD_JSON, at, owner, state, state_key, strangers};

async fn put(clause: &str, store: &dyn StateStore, name: &str, value: &str, now: i64) -> Version {
    ok(clause, store.put(&owner(), &state_key(name), &state(value, now), Expected::Any).await)
}

async fn get(clause: &str, store: &dyn StateStore, name: &str) -> Option<StateEntry> {
    ok(clause, store.get(&owner(), &state_key(name)).await)
}

/// ST1: the value is kept byte for byte, and versions count from the first.
pub async fn put_then_get(store: &dyn StateStore) {
    let session = SessionId::generate();
    for (value, now, version) in [("{\"a\" : 1}", 1, 1), (AWKWARD_JSON, 2, 2), ("null", 3, 3)] {
        let mut new = state(value, now);
        new.session = Some(session);
        new.expires = Some(at(now + 60));
        let got = ok("ST1", store.put(&owner(), &state_key("k"), &new, Expected::Any).await);
        assert_eq!(got, Version::new(version), "ST1: the version of put {version}");
        let expected = StateEntry {
            key: state_key("k"),
            value: new.value,
            version: got,
            session: new.session,
            updated: new.at,
            expires: new.expires,
        };
        let entry = get("ST1", store, "k").await;
        assert_eq!(entry, Some(expected), "ST1: the entry reads back equal");
        assert_eq!(entry.map(|entry| entry.value.to_string()).as_deref(), Some(value), "ST1: byte for byte");
    }
    put("ST1", store, "k", "1", 4).await;
    let entry = get("ST1", store, "k").await.expect("ST1: the entry is there");
    assert_eq!((entry.session, entry.expires), (None, None), "ST1: session and expiry are replaced too");
}

/// ST1: an expired entry is there until it is collected.
pub async fn an_expired_entry_is_still_there(store: &dyn StateStore) {
    let mut new = state("1", 0);
    new.expires = Some(at(-60));
    ok("ST1", store.put(&owner(), &state_key("k"), &new, Expected::Any).await);
    assert!(get("ST1", store, "k").await.is_some(), "ST1: the reader looks at the expiry");
}

/// ST2: a put whose expectation does not hold says both versions and changes nothing.
pub async fn put_checks_its_expectation(store: &dyn StateStore) {
    let key = state_key("k");
    let none = store.put(&owner(), &key, &state("0", 0), Expected::At(Version::new(3))).await;
    let versions =
        refused!("ST2", none, StoreError::VersionMismatch { expected, actual, .. } => (expected, actual));
    assert_eq!(versions, (3, 0), "ST2: 0 means that there is none");
    assert!(get("ST2", store, "k").await.is_none(), "ST2: nothing was made");

    let first = ok("ST2", store.put(&owner(), &key, &state("1", 1), Expected::Absent).await);
    assert_eq!(first, Version::FIRST, "ST2: the first version");
    let second = ok("ST2", store.put(&owner(), &key, &state("2", 2), Expected::At(first)).await);
    for (expected, number) in [
        (Expected::Absent, 0),
        (Expected::At(first), 1),
        (Expected::At(Version::new(3)), 3),
        (Expected::At(Version::new(u64::MAX)), u64::MAX),
    ] {
        let result = store.put(&owner(), &key, &state("9", 9), expected).await;
        let versions = refused!("ST2", result, StoreError::VersionMismatch { expected, actual, .. } => (expected, actual));
        assert_eq!(versions, (number, second.get()), "ST2: {expected:?} on version 2");
    }
    let entry = get("ST2", store, "k").await.expect("ST2: the entry is there");
    assert_eq!(
        (entry.value.as_str(), entry.version, entry.updated),
        ("2", second, at(2)),
        "ST2: nothing changed"
    );
}

/// ST4: what was never set is not there.
pub async fn an_unknown_key_is_not_there(store: &dyn StateStore) {
    put("ST4", store, "k", "1", 0).await;
    assert!(get("ST4", store, "K").await.is_none(), "ST4: names are told apart by case");
    assert!(get("ST4", store, "k ").await.is_none(), "ST4: names are told apart by every byte");
    let elsewhere = ok("ST4", store.get(&owner(), &StateKey::new("hermes.other", "k")).await);
    assert!(elsewhere.is_none(), "ST4: another namespace");
}

/// ST4: the same key under two owners is two entries.
pub async fn owners_do_not_meet(store: &dyn StateStore) {
    put("ST4", store, "k", "\"mine\"", 0).await;
    for stranger in strangers() {
        let none = ok("ST4", store.get(&stranger, &state_key("k")).await);
        assert!(none.is_none(), "ST4: {stranger} has no such entry");
        assert!(
            !ok("ST4", store.delete(&stranger, &state_key("k"), Expected::Any).await),
            "ST4: nothing to delete"
        );
        let listed = walk("ST4", 10, async |page| store.list(&stranger, "hermes.test", &page).await).await;
        assert!(listed.is_empty(), "ST4: the list of {stranger} is empty");
        let theirs = store.put(&stranger, &state_key("k"), &state("\"theirs\"", 1), Expected::Absent).await;
        assert_eq!(ok("ST4", theirs), Version::FIRST, "ST4: a new entry");
    }
    let entry = get("ST4", store, "k").await.expect("ST4: the entry is there");
    assert_eq!((entry.value.as_str(), entry.version), ("\"mine\"", Version::FIRST), "ST4: mine is unchanged");
}

/// ST5: deleting checks its expectation, says whether there was one, and a new entry begins at the first version.
pub async fn delete_checks_its_expectation(store: &dyn StateStore) {
    let key = state_key("k");
    assert!(!ok("ST5", store.delete(&owner(), &key, Expected::Any).await), "ST5: there is none");
    assert!(!ok("ST5", store.delete(&owner(), &key, Expected::Absent).await), "ST5: none is expected");
    let none = store.delete(&owner(), &key, Expected::At(Version::FIRST)).await;
    refused!("ST5", none, StoreError::VersionMismatch { expected: 1, actual: 0, .. });

    put("ST5", store, "k", "1", 1).await;
    put("ST5", store, "k", "2", 2).await;
    for expected in [Expected::Absent, Expected::At(Version::FIRST)] {
        refused!(
            "ST5",
            store.delete(&owner(), &key, expected).await,
            StoreError::VersionMismatch { actual: 2, .. }
        );
    }
    assert!(get("ST5", store, "k").await.is_some(), "ST5: nothing was removed");
    assert!(
        ok("ST5", store.delete(&owner(), &key, Expected::At(Version::new(2))).await),
        "ST5: there was one"
    );
    assert!(get("ST5", store, "k").await.is_none(), "ST5: it is gone");
    let made = ok("ST5", store.put(&owner(), &key, &state("3", 3), Expected::Absent).await);
    assert_eq!(made, Version::FIRST, "ST5: made anew");
    assert!(ok("ST5", store.delete(&owner(), &key, Expected::Any).await), "ST5: whatever its version");
}

/// ST6: a namespace's entries come by key, ascending by bytes, and pages hold each once.
pub async fn list_is_by_key_in_pages(store: &dyn StateStore) {
    let mut names = ["b", "a", "B", "aa", "_", "é", "中", "a/b", "10", "9", "a-b", "\u{1f35c}", "ﬀ"];
    for (name, now) in names.iter().zip(0..) {
        put("ST6", store, name, "1", now).await;
        let elsewhere = StateKey::new("hermes.test2", *name);
        ok("ST6", store.put(&owner(), &elsewhere, &state("2", now), Expected::Any).await);
    }
    names.sort_unstable();
    for limit in [1, 4, 13, 100] {
        let listed = walk("ST6", limit, async |page| store.list(&owner(), "hermes.test", &page).await).await;
        let keys: Vec<_> = listed.iter().map(|entry| entry.key.key.as_str()).collect();
        assert_eq!(keys, names, "ST6: by bytes, {limit} a page");
        for entry in &listed {
            let got = get("ST6", store, &entry.key.key).await;
            assert_eq!(got.as_ref(), Some(entry), "ST6: a listed entry is as get gives it");
        }
    }
    let none = walk("ST6", 10, async |page| store.list(&owner(), "hermes", &page).await).await;
    assert!(none.is_empty(), "ST6: a namespace is not a prefix");
}

/// ST6: a cursor that is not the store's is refused.
pub async fn list_refuses_a_strange_cursor(store: &dyn StateStore) {
    put("ST6", store, "k", "1", 0).await;
    refused!("ST6", store.list(&owner(), "hermes.test", &strange_page()).await, StoreError::Invalid { .. });
}

/// ST7: erasing removes all of an owner's entries, or those that belong to a session, and nothing else.
pub async fn erase_removes_all_of_an_owner_or_session(store: &dyn StateStore) {
    let (first, second) = (SessionId::generate(), SessionId::generate());
    let all = [("none", None), ("first", Some(first)), ("also first", Some(first)), ("second", Some(second))];
    for who in [owner()].into_iter().chain(strangers()) {
        for (name, session) in all {
            let mut new = state("1", 0);
            new.session = session;
            ok("ST7", store.put(&who, &state_key(name), &new, Expected::Any).await);
        }
    }
    let names = async |who: hermes_core::Owner| {
        let listed = walk("ST7", 10, async |page| store.list(&who, "hermes.test", &page).await).await;
        listed.into_iter().map(|entry| entry.key.key).collect::<Vec<_>>()
    };
    assert_eq!(ok("ST7", store.erase_session(&owner(), first).await), 2, "ST7: of the session");
    assert_eq!(ok("ST7", store.erase_session(&owner(), first).await), 0, "ST7: nothing of it is left");
    assert_eq!(names(owner()).await, ["none", "second"], "ST7: the others stay");
    assert_eq!(ok("ST7", store.erase_user(&owner()).await), 2, "ST7: of the owner");
    assert_eq!(ok("ST7", store.erase_user(&owner()).await), 0, "ST7: nothing of the owner is left");
    assert!(names(owner()).await.is_empty(), "ST7: the owner has none");
    for stranger in strangers() {
        assert_eq!(names(stranger.clone()).await.len(), all.len(), "ST7: {stranger} keeps all");
    }
}

/// ST8: what is collected has expired, at its expiry or later, in bounded steps; what has no expiry stays.
pub async fn collect_removes_what_has_expired(store: &dyn StateStore) {
    for (name, expires) in
        [("a", Some(90)), ("b", Some(100)), ("c", Some(100)), ("d", Some(101)), ("e", None)]
    {
        let mut new = state("1", 0);
        new.expires = expires.map(at);
        ok("ST8", store.put(&owner(), &state_key(name), &new, Expected::Any).await);
    }
    assert_eq!(ok("ST8", store.collect(at(89), Limit::MAX).await), 0, "ST8: nothing has expired");
    assert_eq!(ok("ST8", store.collect(at(100), Limit::new(2)).await), 2, "ST8: at most the limit");
    assert_eq!(ok("ST8", store.collect(at(100), Limit::new(2)).await), 1, "ST8: the rest");
    for (name, there) in [("a", false), ("b", false), ("c", false), ("d", true), ("e", true)] {
        assert_eq!(get("ST8", store, name).await.is_some(), there, "ST8: whether {name} is there");
    }
    ok("ST8", store.collect(at(1_000_000), Limit::MAX).await);
    assert!(get("ST8", store, "e").await.is_some(), "ST8: what has no expiry is never collected");
}
