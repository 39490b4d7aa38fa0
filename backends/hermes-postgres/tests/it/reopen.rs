//! What was written reads back equal after the store was opened anew.

use hermes_core::{
    ArtifactStore, AttributeKey, Claim, Clock, ContextMetadata, CounterId, EpisodicQuery, EpisodicStore,
    Expected, HolderId, IdempotencyKey, IdempotencyStore, JsonText, Layer, LeaseStore, Limit, LogFilter,
    LogQuery, MemoryFilter, MemoryId, MemoryKind, MemoryRecord, MemorySource, MemoryStatus, NewArtifact,
    NewClaim, NewMessage, NewSession, NewState, Owner, PageRequest, Provenance, Score, Seq, SessionStore,
    StateKey, StateStore, StepId, StoreError, Summary, SummaryOrigin, SystemClock, Takeover, TenantId,
    TokenCount, Tokens, UserId, Version,
};
use std::time::Duration;

use crate::fixture::{at, ground, guard, log, open, owner, texts, two};

#[tokio::test]
async fn everything_is_there_after_opening_anew() {
    let Some(ground) = ground() else { return };
    let store = open(&ground).await;
    let new = NewSession::new(owner(), "晚餐", SystemClock.now()).with_time_zone("Asia/Shanghai");
    let id = SessionStore::create(&store, &new).await.unwrap().record.id;
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

    let store = open(&ground).await;
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
    let Some(ground) = ground() else { return };
    let store = open(&ground).await;
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
    let Some(ground) = ground() else { return };
    let store = open(&ground).await;
    for _ in 0..2 {
        crate::fixture::session(&store).await;
    }
    let page = SessionStore::list(&store, &owner(), &PageRequest::first(Limit::new(1))).await.unwrap();
    let request = PageRequest { cursor: page.next, limit: Limit::new(1) };
    assert_eq!(SessionStore::list(&store, &owner(), &request).await.unwrap().items.len(), 1);
    let error = StateStore::list(&store, &owner(), "test", &request).await.unwrap_err();
    assert!(matches!(error, StoreError::Invalid { what: "cursor", .. }), "{error:?}");
}

/// PostgreSQL's text has no NUL, and ours has.
#[tokio::test]
async fn a_nul_is_kept_in_every_text() {
    let Some(ground) = ground() else { return };
    let store = open(&ground).await;
    let text = "a\0b\u{1}\u{2}\0";

    let new = NewSession::new(owner(), text, at(0));
    let session = SessionStore::create(&store, &new).await.unwrap();
    let id = session.record.id;
    assert_eq!(session.record.title, text);
    store.rename(&owner(), id, "\0", guard()).await.unwrap();
    assert_eq!(SessionStore::get(&store, &owner(), id).await.unwrap().unwrap().record.title, "\0");
    store.append(&owner(), id, Seq::START, &two(text, "\0"), guard()).await.unwrap();
    assert_eq!(texts(&log(&store, id).await), [text, "\0"]);

    let record = MemoryRecord {
        content: text.to_owned(),
        fingerprint: text.to_owned(),
        attribute: Some(AttributeKey { subject: text.to_owned(), attribute: "\0".to_owned() }),
        provenance: vec![Provenance {
            session: id,
            messages: vec![Seq::new(1)],
            quote: Some(text.to_owned()),
        }],
        ..memory()
    };
    let stored = EpisodicStore::create(&store, &record).await.unwrap();
    assert_eq!(EpisodicStore::get(&store, &owner(), record.id).await.unwrap(), Some(stored.clone()));
    let filter =
        MemoryFilter { attribute: record.attribute.clone(), session: Some(id), ..MemoryFilter::default() };
    let page = EpisodicStore::list(&store, &owner(), &filter, &PageRequest::default()).await.unwrap();
    assert_eq!(page.items, [stored]);
    let twin =
        EpisodicStore::create(&store, &MemoryRecord { id: MemoryId::generate(), ..record.clone() }).await;
    assert!(matches!(twin, Err(StoreError::Exists { .. })), "{twin:?}");
    let terms = vec!["a".to_owned(), "\0".to_owned(), String::new()];
    let query = EpisodicQuery { terms, filter: MemoryFilter::default(), limit: Limit::MAX };
    assert_eq!(store.query(&owner(), &query).await.unwrap()[0].term_hits, 1);
    assert_eq!(EpisodicStore::erase_session(&store, &owner(), id).await.unwrap(), 1);

    for key in ["b", "\u{1}", "\0", "a\0", "a"] {
        let state = NewState {
            value: JsonText::parse("\"\\u0000\"").unwrap(),
            session: None,
            at: at(0),
            expires: None,
        };
        StateStore::put(&store, &owner(), &StateKey::new(text, key), &state, Expected::Absent).await.unwrap();
    }
    let mut keys = Vec::new();
    let mut page = PageRequest::first(Limit::new(2));
    loop {
        let found = StateStore::list(&store, &owner(), text, &page).await.unwrap();
        keys.extend(found.items.into_iter().map(|entry| entry.key.key));
        let Some(next) = found.next else { break };
        page.cursor = Some(next);
    }
    assert_eq!(keys, ["\0", "\u{1}", "a", "a\0", "b"]);

    let new = NewArtifact {
        media_type: text.to_owned(),
        name: text.to_owned(),
        bytes: vec![0],
        created: at(0),
        expires: None,
    };
    let artifact = ArtifactStore::put(&store, &owner(), id, new).await.unwrap();
    assert_eq!((artifact.media_type.as_str(), artifact.name.as_str()), (text, text));
}

fn memory() -> MemoryRecord {
    MemoryRecord {
        id: MemoryId::generate(),
        owner: owner(),
        layer: Layer::Episodic,
        kind: MemoryKind::Fact,
        content: String::new(),
        attribute: None,
        confidence: Score::new(0.7).unwrap(),
        weight: 0.1,
        source: MemorySource::Explicit,
        provenance: Vec::new(),
        created: at(0),
        updated: at(0),
        recalled: None,
        recall_count: 0,
        valid_from: at(0),
        valid_until: None,
        status: MemoryStatus::Active,
        supersedes: None,
        expires: None,
        fingerprint: String::new(),
        version: Version::FIRST,
    }
}

/// An entry of an index has a longest length; a key beyond it is refused by name.
#[tokio::test]
async fn keys_are_bounded_in_bytes() {
    let Some(ground) = ground() else { return };
    let store = open(&ground).await;
    let state = NewState { value: JsonText::parse("1").unwrap(), session: None, at: at(0), expires: None };
    // Owner and key as long as they may be, of bytes that do not compress.
    let noise = |n: usize| -> String {
        let words = std::iter::repeat_with(|| uuid::Uuid::now_v7().simple().to_string());
        words.flat_map(|word| word.chars().rev().collect::<Vec<_>>()).take(n).collect()
    };
    let owner = Owner::new(TenantId::new(noise(256)).unwrap(), UserId::new(noise(256)).unwrap());
    for (length, kept) in [(1_900, true), (1_901, false)] {
        let key = StateKey::new(noise(100), noise(length));
        let put = StateStore::put(&store, &owner, &key, &state, Expected::Any).await;
        match put {
            Ok(_) => assert!(kept),
            Err(error) => {
                assert!(!kept && matches!(error, StoreError::Invalid { what: "state key", .. }), "{error:?}")
            }
        }
        let record = MemoryRecord { owner: owner.clone(), fingerprint: noise(length + 100), ..memory() };
        match EpisodicStore::create(&store, &record).await {
            Ok(_) => assert!(kept),
            Err(error) => assert!(
                !kept && matches!(error, StoreError::Invalid { what: "fingerprint", .. }),
                "{error:?}"
            ),
        }
    }
}
