//! What was written reads back equal after the store was opened anew.

use hermes_core::{
    ArtifactStore, Claim, Clock, ContextMetadata, CounterId, Expected, HolderId, IdempotencyKey,
    IdempotencyStore, JsonText, LeaseStore, Limit, LogFilter, LogQuery, NewArtifact, NewClaim, NewMessage,
    NewSession, NewState, PageRequest, Seq, SessionStore, StateKey, StateStore, StepId, StoreError, Summary,
    SummaryOrigin, SystemClock, Takeover, TokenCount, Tokens,
};
use std::time::Duration;

use crate::fixture::{at, guard, log, open, owner, two};

#[tokio::test]
async fn everything_is_there_after_opening_anew() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hermes 1%.db");
    let store = open(&file).await;
    let new = NewSession::new(owner(), "晚餐", SystemClock.now()).with_time_zone("Asia/Shanghai");
    let id = store.create(&new).await.unwrap().record.id;
    let mut said = NewMessage::user("我喜欢川菜").with_sticky().with_step(StepId::generate());
    said.tokens = Some(TokenCount { tokens: Tokens::new(7), counter: CounterId::new("o200k_base").unwrap() });
    said.provider.insert("p".to_owned(), JsonText::parse("{\"sig\":  1.50}").unwrap());
    let stored = store
        .append(&owner(), id, Seq::START, &[said, NewMessage::assistant("好的")], guard())
        .await
        .unwrap();
    let summary = Summary {
        text: "喜欢川菜".to_owned(),
        anchors: vec!["M-23891".to_owned()],
        through: Seq::new(2),
        origin: SummaryOrigin::Digest,
        tokens: None,
        created: SystemClock.now(),
    };
    let context = ContextMetadata { summary: Some(summary), fold_failures: 2, ..ContextMetadata::default() };
    store.put_context(&owner(), id, &context, guard()).await.unwrap();
    let holder = HolderId::generate();
    let lease = store.acquire(&owner(), id, &holder, Duration::from_secs(30), at(0)).await.unwrap();
    let session = SessionStore::get(&store, &owner(), id).await.unwrap().unwrap();

    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let new = NewArtifact {
        media_type: "application/octet-stream".to_owned(),
        name: "bytes".to_owned(),
        bytes: bytes.clone(),
        created: at(1),
        expires: None,
    };
    let artifact = ArtifactStore::put(&store, &owner(), id, new).await.unwrap();
    let key = StateKey::new("test", "a\0b");
    let value = JsonText::parse("{\"b\": 1.0,  \"a\":\"\\u00e9\"}").unwrap();
    let state = NewState { value: value.clone(), session: Some(id), at: at(2), expires: None };
    StateStore::put(&store, &owner(), &key, &state, Expected::Absent).await.unwrap();
    let order = IdempotencyKey::new("order-1").unwrap();
    let claim = NewClaim {
        session: id,
        tool: "pay".to_owned(),
        holder,
        at: at(0),
        expires: at(60),
        takeover: Takeover::Never,
    };
    let Claim::Won(ticket) = store.claim(&owner(), &order, &claim).await.unwrap() else { panic!("not won") };
    store.complete(&ticket, &value, at(3), at(1_000)).await.unwrap();
    store.close().await;

    let store = open(&file).await;
    assert_eq!(SessionStore::get(&store, &owner(), id).await.unwrap(), Some(session));
    assert_eq!(log(&store, id).await, stored);
    assert_eq!(store.renew(&lease, Duration::from_secs(60), at(5)).await.unwrap().fence, lease.fence);
    assert_eq!(ArtifactStore::get(&store, &owner(), id, artifact.id).await.unwrap(), Some(artifact.clone()));
    assert_eq!(store.read(&owner(), id, artifact.id, 250, 20).await.unwrap(), bytes[250..270]);
    assert_eq!(store.read(&owner(), id, artifact.id, u64::MAX, usize::MAX).await.unwrap(), Vec::<u8>::new());
    assert_eq!(StateStore::get(&store, &owner(), &key).await.unwrap().unwrap().value, value);
    let done = store.claim(&owner(), &order, &claim).await.unwrap();
    assert_eq!(done, Claim::Done { outcome: value, at: at(3) });
}

#[tokio::test]
async fn marked_messages_are_read_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("hermes.db")).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = crate::fixture::session(&store).await;
        for n in 0..10 {
            let mut turn = two(format!("ask {n}"), format!("answer {n}"));
            turn[1].sticky = n % 3 == 0;
            store.append(&owner(), id, Seq::new(2 * n), &turn, guard()).await.unwrap();
        }
        ids.push(id);
    }
    let places = async |id, query: LogQuery| {
        let page = store.page(&owner(), id, &query).await.unwrap();
        (page.messages.iter().map(|message| message.seq().get()).collect::<Vec<_>>(), page.more)
    };
    for id in ids {
        let newest = LogQuery::newest(Limit::new(3));
        assert_eq!(places(id, newest.filter(LogFilter::TurnStarts)).await, (vec![19, 17, 15], true));
        assert_eq!(places(id, newest.filter(LogFilter::Sticky)).await, (vec![20, 14, 8], true));
        assert_eq!(
            places(id, newest.filter(LogFilter::Sticky).up_to(Seq::new(8))).await,
            (vec![8, 2], false)
        );
        let forward = LogQuery::forward(Seq::new(4), Limit::new(2));
        assert_eq!(places(id, forward.filter(LogFilter::TurnStarts)).await, (vec![5, 7], true));
        assert_eq!(places(id, forward).await, (vec![4, 5], true));
    }
}

#[tokio::test]
async fn a_cursor_of_another_listing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("hermes.db")).await;
    for _ in 0..2 {
        crate::fixture::session(&store).await;
    }
    let page = SessionStore::list(&store, &owner(), &PageRequest::first(Limit::new(1))).await.unwrap();
    let request = PageRequest { cursor: page.next, limit: Limit::new(1) };
    assert_eq!(SessionStore::list(&store, &owner(), &request).await.unwrap().items.len(), 1);
    let error = StateStore::list(&store, &owner(), "test", &request).await.unwrap_err();
    assert!(matches!(error, StoreError::Invalid { what: "cursor", .. }), "{error:?}");
}
