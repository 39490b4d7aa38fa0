//! Export and import (S10).

use hermes_core::{CallStarted, JsonText, NewMessage, ProviderMetadata, Seq};
use hermes_inmemory::InMemoryStore;
use hermes_session::{Budget, Error, Session, Sessions};

use crate::support::{call, call_id, log_of, owner, result, step};

/// A session of twenty turns with calls, opaque data, journal entries, marks and a summary.
async fn full(sessions: &Sessions) -> Session {
    let session = sessions.create(&owner(), "行程 “A”").await.unwrap();
    for turn in 0..20 {
        let id = format!("k{turn}");
        let mut provider = ProviderMetadata::new();
        provider.insert("p".to_owned(), JsonText::parse("{\"sig\":  1.50, \"x\":\"\\u00e9\"}").unwrap());
        session.append(NewMessage::user(format!("第 {turn} 步？我对花生过敏。"))).await.unwrap();
        session.append(step(vec![call(&id, "look", "{\"n\": 1.0 , }")], "", provider)).await.unwrap();
        let started = CallStarted {
            call: call_id(&id),
            tool: "look".to_owned(),
            arguments: JsonText::parse("{\"n\":  1.0}").unwrap(),
            key: None,
            filled: Vec::new(),
            repaired: vec!["a trailing comma".to_owned()],
            approval: None,
        };
        let rest =
            [NewMessage::started(started), result(&id, "look", "line\nline"), NewMessage::assistant("好。")];
        session.append(rest).await.unwrap();
    }
    session.context(Budget::new(10_000)).await.unwrap();
    session.mark_sticky(Seq::new(5)).await.unwrap();
    session
}

async fn exported(session: &Session) -> Vec<u8> {
    let mut bytes = Vec::new();
    session.export(&mut bytes).await.unwrap();
    bytes
}

#[tokio::test]
async fn an_export_reads_back_byte_for_byte() {
    let sessions = Sessions::new(InMemoryStore::new());
    let session = full(&sessions).await;
    assert!(session.metadata().summary.is_some());
    let bytes = exported(&session).await;
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 101);

    let elsewhere = Sessions::new(InMemoryStore::new());
    let back = elsewhere.import(&owner(), bytes.as_slice()).await.unwrap();
    assert_eq!(exported(&back).await, bytes);
    assert_eq!(log_of(&back).await, log_of(&session).await);
    assert_eq!(back.metadata(), session.metadata());
    back.append(NewMessage::user("goes on")).await.unwrap();
}

#[tokio::test]
async fn a_copy_can_stand_beside_its_original() {
    let sessions = Sessions::new(InMemoryStore::new());
    let session = full(&sessions).await;
    let bytes = exported(&session).await;
    assert!(matches!(sessions.import(&owner(), bytes.as_slice()).await, Err(Error::Store(_))));
    let copy = sessions.import_copy(&owner(), bytes.as_slice()).await.unwrap();
    assert_ne!(copy.id(), session.id());
    assert_eq!(log_of(&copy).await, log_of(&session).await);
}

#[tokio::test]
async fn what_is_no_export_is_refused_and_leaves_nothing() {
    let sessions = Sessions::new(InMemoryStore::new());
    let bytes = exported(&full(&sessions).await).await;
    let text = String::from_utf8(bytes).unwrap();
    let elsewhere = Sessions::new(InMemoryStore::new());
    let lines: Vec<_> = text.lines().collect();
    let gap = [&lines[..3], &lines[4..]].concat().join("\n");
    let short = lines[..30].join("\n");
    let newer = text.replacen("\"hermes_session\":1", "\"hermes_session\":2", 1);
    for (broken, line) in
        [("", 1), ("not json", 1), (&gap, 4), (&text[..text.len() - 20], 101), (&short, 1), (&newer, 1)]
    {
        match elsewhere.import(&owner(), broken.as_bytes()).await {
            Err(Error::Import { line: at, .. }) => assert_eq!(at, line, "{:.80}", broken),
            other => panic!("{other:?}: {broken:.80}"),
        }
        assert_eq!(elsewhere.list(&owner(), &hermes_core::PageRequest::default()).await.unwrap().items, []);
    }
}
