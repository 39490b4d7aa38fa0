//! The cases of [`ArtifactStore`], clause by clause.

use std::cmp::Reverse;

use hermes_core::{ArtifactId, ArtifactRecord, ArtifactStore, Limit, NewArtifact, SessionId, StoreError};

use crate::check::{ok, refused, strange_page, walk};
use crate::sample::{artifact, at, owner, strangers};

async fn put(
    clause: &str,
    store: &dyn ArtifactStore,
    session: SessionId,
    new: NewArtifact,
) -> ArtifactRecord {
    ok(clause, store.put(&owner(), session, new).await)
}

/// AR1: record and bytes read back equal, whatever the bytes.
pub async fn put_then_read(store: &dyn ArtifactStore) {
    let session = SessionId::generate();
    let all_bytes: Vec<u8> = (0..=255).collect();
    let long = "四川 Sichuan ".repeat(30_000);
    let mut ids = Vec::new();
    for bytes in [all_bytes.as_slice(), b"", long.as_bytes(), "text\r\n\0".as_bytes()] {
        let mut new = artifact(bytes, 3);
        new.expires = Some(at(9));
        let record = put("AR1", store, session, new.clone()).await;
        let size = u64::try_from(bytes.len()).expect("a length fits");
        let expected = ArtifactRecord {
            id: record.id,
            session,
            media_type: new.media_type,
            name: new.name,
            size,
            created: new.created,
            expires: new.expires,
        };
        assert_eq!(record, expected, "AR1: what put gives");
        assert_eq!(
            ok("AR1", store.get(&owner(), session, record.id).await),
            Some(expected),
            "AR1: what get gives"
        );
        let read = ok("AR1", store.read(&owner(), session, record.id, 0, bytes.len() + 10).await);
        assert!(read == bytes, "AR1: {} bytes came back as {}", bytes.len(), read.len());
        ids.push(record.id);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4, "AR1: each has an id of its own");
}

/// AR2: reading takes a part: from an offset, so many bytes at the most, none beyond the end.
pub async fn read_takes_a_part(store: &dyn ArtifactStore) {
    let session = SessionId::generate();
    let id = put("AR2", store, session, artifact(b"0123456789", 0)).await.id;
    for (offset, length, expected) in [
        (0, 4, "0123"),
        (4, 4, "4567"),
        (8, 4, "89"),
        (0, 10, "0123456789"),
        (3, 0, ""),
        (9, usize::MAX, "9"),
        (10, 5, ""),
        (11, 5, ""),
        (u64::MAX, 5, ""),
        (0, usize::MAX, "0123456789"),
    ] {
        let read = ok("AR2", store.read(&owner(), session, id, offset, length).await);
        assert_eq!(read, expected.as_bytes(), "AR2: {length} bytes from {offset}");
    }
}

/// AR3: an artifact is there for its own session of its own owner only.
pub async fn only_its_session_reads_it(store: &dyn ArtifactStore) {
    let session = SessionId::generate();
    let id = put("AR3", store, session, artifact(b"secret", 0)).await.id;
    let mut others: Vec<_> = strangers().into_iter().map(|stranger| (stranger, session)).collect();
    others.push((owner(), SessionId::generate()));
    for (who, session) in others {
        assert!(ok("AR3", store.get(&who, session, id).await).is_none(), "AR3: get gives {who} none");
        refused!("AR3", store.read(&who, session, id, 0, 10).await, StoreError::NotFound { .. });
        let listed = walk("AR3", 10, async |page| store.list(&who, session, &page).await).await;
        assert!(listed.is_empty(), "AR3: the list of {who} is empty");
        assert!(!ok("AR3", store.delete(&who, session, id).await), "AR3: {who} deletes nothing");
    }
    let read = ok("AR3", store.read(&owner(), session, id, 0, 10).await);
    assert_eq!(read, b"secret", "AR3: it is still there for its own");
}

/// AR3: an artifact that never was is not there either.
pub async fn an_unknown_id_is_not_there(store: &dyn ArtifactStore) {
    let (session, id) = (SessionId::generate(), ArtifactId::generate());
    assert!(ok("AR3", store.get(&owner(), session, id).await).is_none(), "AR3: get gives none");
    refused!("AR3", store.read(&owner(), session, id, 0, 10).await, StoreError::NotFound { .. });
    assert!(!ok("AR3", store.delete(&owner(), session, id).await), "AR3: there is nothing to delete");
}

/// AR4: a session's artifacts come newest first, then by id, descending, and pages hold each once.
pub async fn list_is_newest_first_in_pages(store: &dyn ArtifactStore) {
    let (session, other) = (SessionId::generate(), SessionId::generate());
    let mut expected = Vec::new();
    for created in [30, 10, 30, 20, 30, 10, 40] {
        expected.push(put("AR4", store, session, artifact(b"x", created)).await);
        put("AR4", store, other, artifact(b"y", created)).await;
    }
    expected.sort_by_key(|record| Reverse((record.created, record.id)));
    for limit in [1, 3, 7, 100] {
        let listed = walk("AR4", limit, async |page| store.list(&owner(), session, &page).await).await;
        assert_eq!(listed, expected, "AR4: newest first, {limit} a page");
    }
    refused!("AR4", store.list(&owner(), session, &strange_page()).await, StoreError::Invalid { .. });
}

/// AR5: deleting removes one, and says whether there was one.
pub async fn delete_removes_one(store: &dyn ArtifactStore) {
    let session = SessionId::generate();
    let gone = put("AR5", store, session, artifact(b"gone", 0)).await.id;
    let kept = put("AR5", store, session, artifact(b"kept", 0)).await;
    assert!(ok("AR5", store.delete(&owner(), session, gone).await), "AR5: there was one");
    assert!(!ok("AR5", store.delete(&owner(), session, gone).await), "AR5: there is none any more");
    assert!(ok("AR5", store.get(&owner(), session, gone).await).is_none(), "AR5: its record is gone");
    refused!("AR5", store.read(&owner(), session, gone, 0, 10).await, StoreError::NotFound { .. });
    let listed = walk("AR5", 10, async |page| store.list(&owner(), session, &page).await).await;
    assert_eq!(listed, [kept], "AR5: the other stays");
}

/// AR6: erasing removes all of an owner's artifacts, or of a session's, and nothing else.
pub async fn erase_removes_all_of_an_owner_or_session(store: &dyn ArtifactStore) {
    let (first, second) = (SessionId::generate(), SessionId::generate());
    for session in [first, second] {
        for who in [owner()].into_iter().chain(strangers()) {
            for n in 0..2 {
                ok("AR6", store.put(&who, session, artifact([n], 0)).await);
            }
        }
    }
    let count = async |who: hermes_core::Owner, session| {
        walk("AR6", 10, async |page| store.list(&who, session, &page).await).await.len()
    };
    assert_eq!(ok("AR6", store.erase_session(&owner(), first).await), 2, "AR6: of the session");
    assert_eq!(ok("AR6", store.erase_session(&owner(), first).await), 0, "AR6: nothing of it is left");
    assert_eq!(
        (count(owner(), first).await, count(owner(), second).await),
        (0, 2),
        "AR6: the other session stays"
    );
    assert_eq!(ok("AR6", store.erase_user(&owner()).await), 2, "AR6: of the owner");
    assert_eq!(ok("AR6", store.erase_user(&owner()).await), 0, "AR6: nothing of the owner is left");
    assert_eq!(count(owner(), second).await, 0, "AR6: the other session is gone too");
    for stranger in strangers() {
        assert_eq!(count(stranger.clone(), first).await, 2, "AR6: {stranger} keeps the first");
        assert_eq!(count(stranger.clone(), second).await, 2, "AR6: {stranger} keeps the second");
    }
}

/// AR7: what is collected has expired, at its expiry or later, in bounded steps; what has no expiry stays.
pub async fn collect_removes_what_has_expired(store: &dyn ArtifactStore) {
    let session = SessionId::generate();
    let mut kept = Vec::new();
    for expires in [Some(90), Some(100), Some(100), Some(101), None] {
        let mut new = artifact(b"x", 0);
        new.expires = expires.map(at);
        let record = put("AR7", store, session, new).await;
        if expires.is_none_or(|expires| expires > 100) {
            kept.push(record);
        }
    }
    assert_eq!(ok("AR7", store.collect(at(89), Limit::MAX).await), 0, "AR7: nothing has expired");
    assert_eq!(ok("AR7", store.collect(at(100), Limit::new(2)).await), 2, "AR7: at most the limit");
    assert_eq!(ok("AR7", store.collect(at(100), Limit::new(2)).await), 1, "AR7: the rest");
    assert_eq!(ok("AR7", store.collect(at(100), Limit::MAX).await), 0, "AR7: no more have expired");
    kept.sort_by_key(|record| Reverse((record.created, record.id)));
    let listed = walk("AR7", 10, async |page| store.list(&owner(), session, &page).await).await;
    assert_eq!(listed, kept, "AR7: the others stay");
    ok("AR7", store.collect(at(1_000_000), Limit::MAX).await);
    let listed = walk("AR7", 10, async |page| store.list(&owner(), session, &page).await).await;
    assert_eq!(listed.len(), 1, "AR7: what has no expiry is never collected");
}
