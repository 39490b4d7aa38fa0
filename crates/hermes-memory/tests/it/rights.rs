//! The user's rights (R11), and erasing (S10).

use hermes_core::{
    Layer, Limit, MemoryFilter, MemoryId, MemoryKind, MemorySource, MemoryStatus, PageRequest, Score, Seq,
};
use hermes_memory::{Dictated, Draft, Error, RecallRequest, Written};

use crate::support::{contents, dana, learn, memory, owner, turn, with_status};

#[tokio::test]
async fn an_edit_is_a_new_version_and_forgetting_takes_all_versions() {
    let (memory, _) = memory();
    let Written::Added(first) = memory.add(&dana(), Dictated::fact("The user has two cats")).await.unwrap()
    else {
        unreachable!()
    };
    let second = memory.edit(&dana(), first.id, "The user has three cats").await.unwrap();
    assert_ne!(second.id, first.id);
    assert_eq!((second.supersedes, second.source), (Some(first.id), MemorySource::UserCommand));
    assert_eq!(
        contents(&with_status(&memory, &dana(), MemoryStatus::Active).await),
        ["The user has three cats"]
    );
    let why = memory.why(&dana(), second.id).await.unwrap().unwrap();
    assert_eq!(contents(&why.history), ["The user has two cats"]);
    assert!(matches!(memory.edit(&dana(), first.id, "x y z").await, Err(Error::Unusable { .. })));

    assert_eq!(memory.forget(&dana(), second.id).await.unwrap(), 2);
    assert!(memory.export(&dana()).await.unwrap().is_empty());
    assert!(memory.recall(&dana(), &RecallRequest::new("cats")).await.is_empty());
    assert_eq!(memory.forget(&dana(), second.id).await.unwrap(), 0);
}

#[tokio::test]
async fn every_memory_says_why_it_is_known() {
    let said = turn(7, "I live in Hangzhou", "2026-12-01T11:00:00Z");
    let draft =
        Draft::new(MemoryKind::Fact, "The user lives in Hangzhou", Score::ONE).with_quote("live in Hangzhou");
    let (memory, _) = learn(memory().0, &said, vec![draft]).await;
    let id = memory.export(&dana()).await.unwrap()[0].id;
    let why = memory.why(&dana(), id).await.unwrap().unwrap();
    assert_eq!(why.record.provenance[0].session, said.session);
    assert_eq!(why.record.provenance[0].messages, [Seq::new(7)]);
    assert_eq!(why.record.provenance[0].quote.as_deref(), Some("live in Hangzhou"));
    assert!(why.history.is_empty());
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused_with_the_reason() {
    let (memory, _) = memory();
    let add = async |text: &str| memory.add(&dana(), Dictated::fact(text)).await;
    assert!(matches!(add("my PIN is 4821").await, Err(Error::Secret { .. })));
    assert!(matches!(add(" \u{200b} ").await, Err(Error::Unusable { .. })));
    assert!(matches!(add(&"long ".repeat(200)).await, Err(Error::Unusable { .. })));
    let nobody = MemoryId::generate();
    assert!(matches!(memory.edit(&dana(), nobody, "x").await, Err(Error::NotFound { .. })));
    assert!(matches!(memory.undo(&dana(), nobody).await, Err(Error::NotFound { .. })));
    let Written::Added(only) = add("The user has a dog").await.unwrap() else { unreachable!() };
    assert!(matches!(memory.undo(&dana(), only.id).await, Err(Error::NothingToUndo { .. })));
}

#[tokio::test]
async fn a_dictated_memory_is_lasting_and_written_once() {
    let (memory, _) = memory();
    for _ in 0..2 {
        memory.add(&dana(), Dictated::preference("The user likes tea.")).await.unwrap();
    }
    memory.add(&dana(), Dictated::preference("the user  likes TEA")).await.unwrap();
    let page = PageRequest::first(Limit::MAX);
    let listed = memory.list(&dana(), Layer::Semantic, &MemoryFilter::default(), &page).await.unwrap();
    assert_eq!(contents(&listed.items), ["The user likes tea."]);
}

#[tokio::test]
async fn a_keyed_dictation_replaces_the_old_value() {
    let (memory, clock) = memory();
    let lives = |city: &str| {
        Dictated::fact(format!("The user lives in \"{city}\"")).with_attribute("user", "home_city")
    };
    memory.add(&dana(), lives("Hangzhou")).await.unwrap();
    clock.advance(std::time::Duration::from_secs(1));
    let written = memory.add(&dana(), lives("Suzhou")).await.unwrap();
    assert!(matches!(written, Written::Superseded { .. }), "{written:?}");
}

#[tokio::test]
async fn search_finds_by_one_word_whatever_the_age() {
    let (memory, clock) = memory();
    memory.add(&dana(), Dictated::preference("The user likes Sichuan food")).await.unwrap();
    memory.add(&dana(), Dictated::fact("The user has a dog")).await.unwrap();
    clock.advance(std::time::Duration::from_secs(400 * 24 * 60 * 60));
    let found = memory
        .search(&dana(), "anything about Sichuan, the river or the mountains?", Limit::new(10))
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].record.content, "The user likes Sichuan food");
}

#[tokio::test]
async fn erasing_a_user_or_session_leaves_the_others() {
    let (said, other) = (turn(1, "I live in Hangzhou", "2026-12-01T11:00:00Z"), owner("acme", "erik"));
    let draft = Draft::new(MemoryKind::Fact, "The user lives in Hangzhou", Score::ONE)
        .with_quote("I live in Hangzhou");
    let (memory, _) = learn(memory().0, &said, vec![draft]).await;
    memory.add(&dana(), Dictated::fact("The user has a dog")).await.unwrap();
    memory.add(&other, Dictated::fact("The user has a cat")).await.unwrap();
    assert_eq!(memory.erase_session(&dana(), said.session).await.unwrap(), 1);
    assert_eq!(contents(&memory.export(&dana()).await.unwrap()), ["The user has a dog"]);
    assert_eq!(memory.erase_user(&dana()).await.unwrap(), 1);
    assert!(memory.export(&dana()).await.unwrap().is_empty());
    assert_eq!(memory.export(&other).await.unwrap().len(), 1);
}
