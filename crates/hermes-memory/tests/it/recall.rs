//! What is recalled, and how long it may take (R6).

use std::time::Duration;

use hermes_core::{EmbedderId, Layer, MemoryKind, MemoryStatus, Score, SemanticStore, StoreError};
use hermes_inmemory::{InMemorySemanticStore, InMemoryStore};
use hermes_memory::{Dictated, Draft, Error, Gate, Memory, MemoryConfig, RecallRequest, RecallTrouble};
use hermes_testkit::fake::{FailingStore, Fault, HashEmbedder, ManualClock};

use crate::support::{
    FailingEmbedder, FixedEmbedder, HangingEmbedder, at, dana, learn, memory, turn, with_status,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn memories_that_are_not_facts_age_out() {
    let (memory, clock) = memory();
    memory.add(&dana(), Dictated::preference("The user likes green tea")).await.unwrap();
    memory.add(&dana(), Dictated::fact("The user grows green tea in Hangzhou")).await.unwrap();
    let request = RecallRequest::new("green tea");
    clock.advance(29 * DAY);
    assert_eq!(memory.recall(&dana(), &request).await.items.len(), 2);
    clock.advance(2 * DAY);
    let recall = memory.recall(&dana(), &request).await;
    assert_eq!(recall.items.len(), 1);
    assert_eq!(recall.items[0].record.kind, MemoryKind::Fact);
}

#[tokio::test]
async fn at_most_five_are_recalled_the_best_first() {
    let (memory, _) = memory();
    for n in 0..8 {
        memory.add(&dana(), Dictated::fact(format!("The user has green teapot number {n}x"))).await.unwrap();
    }
    memory.add(&dana(), Dictated::fact("green teapot")).await.unwrap();
    let recall = memory.recall(&dana(), &RecallRequest::new("green teapot")).await;
    assert_eq!(recall.items.len(), 5);
    assert_eq!(recall.items[0].record.content, "green teapot");
    assert!(recall.items.is_sorted_by(|a, b| a.rank >= b.rank));
}

#[tokio::test]
async fn what_has_nothing_in_common_is_not_recalled() {
    let (memory, _) = memory();
    memory.add(&dana(), Dictated::fact("The user has two cats")).await.unwrap();
    for text in ["What is the capital of Peru?", "", "…", "thanks, please help me with this"] {
        let recall = memory.recall(&dana(), &RecallRequest::new(text)).await;
        assert!(recall.items.is_empty() && recall.trouble.is_none(), "{text}: {recall:?}");
    }
}

#[tokio::test]
async fn short_lived_memories_are_found_by_likeness_without_a_common_word() {
    let when = "2026-12-01T12:00:00Z";
    let embedder = FixedEmbedder::new(
        &[("The user hates loud rooms", [1.0, 0.1]), ("Where can I work in peace?", [1.0, 0.0])],
        [0.0, 1.0],
    );
    let memory = Memory::new(InMemoryStore::new(), InMemorySemanticStore::default(), embedder)
        .with_clock(ManualClock::new(at(when)));
    let draft = Draft::new(MemoryKind::Preference, "The user hates loud rooms", Score::ONE)
        .with_quote("I hate loud rooms");
    let (memory, _) = learn(memory, &turn(1, "I hate loud rooms", when), vec![draft]).await;
    let stored = with_status(&memory, &dana(), MemoryStatus::Active).await;
    assert_eq!(stored[0].layer, Layer::Episodic);
    let recall = memory.recall(&dana(), &RecallRequest::new("Where can I work in peace?")).await;
    assert_eq!(recall.items.len(), 1);
    assert_eq!(recall.items[0].gate, Gate::Likeness);
}

#[tokio::test]
async fn a_memory_with_the_rarest_word_passes_at_a_lower_likeness() {
    let text = "The user met Zanzibar travellers";
    let embedder = FixedEmbedder::new(&[(text, [0.3, 0.954]), ("unlike", [0.3, 0.954])], [1.0, 0.0]);
    let memory = Memory::new(InMemoryStore::new(), InMemorySemanticStore::default(), embedder);
    memory.add(&dana(), Dictated::fact(text)).await.unwrap();
    memory.add(&dana(), Dictated::fact("unlike")).await.unwrap();
    let recall =
        memory.recall(&dana(), &RecallRequest::new("Tell me about Zanzibar, its climate and money")).await;
    assert_eq!(recall.items.len(), 1);
    assert_eq!((recall.items[0].record.content.as_str(), recall.items[0].gate), (text, Gate::Vouched));
}

#[tokio::test]
async fn speakers_names_are_not_what_is_looked_for() {
    let (memory, _) = memory();
    memory.add(&dana(), Dictated::fact("Caroline greets people at parties")).await.unwrap();
    memory.add(&dana(), Dictated::fact("The user paints landscapes")).await.unwrap();
    let request = RecallRequest::new("Does Caroline paint landscapes?");
    assert_eq!(memory.recall(&dana(), &request).await.items.len(), 2);
    let recall = memory.recall(&dana(), &request.with_speaker_names(["caroline"])).await;
    assert_eq!(recall.items.len(), 1);
    assert_eq!(recall.items[0].record.content, "The user paints landscapes");
}

#[tokio::test]
async fn a_message_that_says_little_is_taken_with_the_lines_before_it() {
    let (memory, _) = memory();
    memory.add(&dana(), Dictated::fact("The user's dentist is Dr Molar in Hangzhou")).await.unwrap();
    let alone = RecallRequest::new("yes please");
    assert!(memory.recall(&dana(), &alone).await.is_empty());
    let request = alone.with_recent_lines(["Do I have a dentist in Hangzhou?"]);
    assert_eq!(memory.recall(&dana(), &request).await.items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_embedder_leaves_time_to_look_for_words() {
    let (episodic, semantic) = (InMemoryStore::new(), InMemorySemanticStore::default());
    let quick = Memory::new(episodic.clone(), semantic.clone(), HashEmbedder::new());
    quick.add(&dana(), Dictated::fact("The user's Sichuan restaurant is Chuan Xiang Ge")).await.unwrap();
    let memory = Memory::new(episodic, semantic, HangingEmbedder(HashEmbedder::new()));
    let request = RecallRequest::new("the Sichuan restaurant");
    // Time moves by itself only while everything waits: a recall that took longer would end this.
    let budget = memory.config().recall.budget;
    assert_eq!(budget, Duration::from_millis(300));
    let recall = tokio::time::timeout(budget, memory.recall(&dana(), &request)).await.unwrap();
    assert_eq!(recall.items.len(), 1);
    assert_eq!(recall.items[0].cosine, None);
    assert!(matches!(recall.trouble, Some(RecallTrouble::Embedder { .. })));
}

#[tokio::test(start_paused = true)]
async fn recall_takes_no_longer_than_its_budget() {
    let (episodic, semantic) = (InMemoryStore::new(), InMemorySemanticStore::default());
    let memory = Memory::new(episodic, HangingStore(semantic), HashEmbedder::new());
    let wait = Duration::from_millis(301);
    let recall =
        tokio::time::timeout(wait, memory.recall(&dana(), &RecallRequest::new("tea"))).await.unwrap();
    assert!(recall.items.is_empty());
    assert!(recall.trouble.is_some());
}

#[tokio::test]
async fn a_store_that_fails_costs_its_own_memories_only() {
    let (episodic, semantic) = (FailingStore::new(InMemoryStore::new()), InMemorySemanticStore::default());
    let memory = Memory::new(episodic.clone(), semantic, HashEmbedder::new());
    memory.add(&dana(), Dictated::fact("The user drinks green tea")).await.unwrap();
    episodic.fail_always(Fault::Transient);
    let recall = memory.recall(&dana(), &RecallRequest::new("green tea")).await;
    assert_eq!(recall.items.len(), 1);
    assert!(matches!(recall.trouble, Some(RecallTrouble::Store { layer: Layer::Episodic, .. })));
}

#[tokio::test]
async fn another_embedder_is_noticed_and_the_memories_are_embedded_anew() {
    let (episodic, semantic) = (InMemoryStore::new(), InMemorySemanticStore::default());
    let old = Memory::new(episodic.clone(), semantic.clone(), HashEmbedder::with_dimension(64));
    old.add(&dana(), Dictated::fact("The user drinks green tea")).await.unwrap();
    let new = Memory::new(episodic, semantic, HashEmbedder::with_dimension(128));
    let request = RecallRequest::new("green tea");
    let recall = new.recall(&dana(), &request).await;
    assert_eq!(recall.items.len(), 1, "its words still find it");
    let stored = EmbedderId::new("hash@64").unwrap();
    assert!(matches!(recall.trouble, Some(RecallTrouble::SpaceMismatch { stored: s, .. }) if s == stored));
    let refused = new.add(&dana(), Dictated::fact("The user drinks coffee")).await;
    assert!(matches!(refused, Err(Error::Store(StoreError::SpaceMismatch { .. }))));

    assert_eq!(new.reembed().await.unwrap(), 1);
    let recall = new.recall(&dana(), &request).await;
    assert_eq!(recall.trouble, None);
    assert!(recall.items[0].cosine.is_some());
    assert_eq!(new.reembed().await.unwrap(), 0);
}

#[tokio::test]
async fn recalls_are_counted_when_they_are_marked() {
    let (memory, clock) = memory();
    memory.add(&dana(), Dictated::fact("The user drinks green tea")).await.unwrap();
    let recall = memory.recall(&dana(), &RecallRequest::new("green tea")).await;
    assert_eq!(recall.items[0].record.recall_count, 0);
    let when = clock.advance(Duration::from_secs(5));
    memory.mark_recalled(&dana(), &recall).await.unwrap();
    let record = memory.get(&dana(), recall.ids()[0]).await.unwrap().unwrap();
    assert_eq!((record.recall_count, record.recalled), (1, Some(when)));
    assert_eq!(record.updated, at("2026-12-01T12:00:00Z"));
}

#[tokio::test]
async fn without_vectors_one_common_word_is_not_enough() {
    let (episodic, semantic) = (InMemoryStore::new(), InMemorySemanticStore::default());
    let quick = Memory::new(episodic.clone(), semantic.clone(), HashEmbedder::new());
    quick.add(&dana(), Dictated::fact("The user has a garden in Sichuan")).await.unwrap();
    let memory = Memory::new(episodic, semantic, FailingEmbedder(HashEmbedder::new()))
        .with_config(MemoryConfig::default());
    let of = async |text: &str| memory.recall(&dana(), &RecallRequest::new(text)).await.items.len();
    assert_eq!(of("Sichuan trains and timetables").await, 0);
    assert_eq!(of("a Sichuan garden with ponds").await, 1);
    assert_eq!(of("Sichuan?").await, 1, "it is all that was asked");
}

/// A store whose queries never answer.
#[derive(Debug)]
struct HangingStore(InMemorySemanticStore);

mod hanging {
    use hermes_core::{
        Candidate, EmbedderId, Embedding, Limit, MemoryFilter, MemoryId, MemoryRecord, Owner, Page,
        PageRequest, SemanticQuery, SessionId, async_trait,
    };
    use jiff::Timestamp;

    use super::{HangingStore, SemanticStore, StoreError};

    #[async_trait]
    impl SemanticStore for HangingStore {
        async fn bind(&self, space: &EmbedderId, dimension: usize) -> Result<(), StoreError> {
            self.0.bind(space, dimension).await
        }
        async fn reset(&self, space: &EmbedderId, dimension: usize) -> Result<(), StoreError> {
            self.0.reset(space, dimension).await
        }
        async fn unembedded(&self, limit: Limit) -> Result<Vec<MemoryRecord>, StoreError> {
            self.0.unembedded(limit).await
        }
        async fn create(
            &self,
            record: &MemoryRecord,
            vector: &Embedding,
        ) -> Result<MemoryRecord, StoreError> {
            self.0.create(record, vector).await
        }
        async fn update(
            &self,
            record: &MemoryRecord,
            vector: Option<&Embedding>,
        ) -> Result<MemoryRecord, StoreError> {
            self.0.update(record, vector).await
        }
        async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError> {
            self.0.get(owner, id).await
        }
        async fn list(
            &self,
            owner: &Owner,
            filter: &MemoryFilter,
            page: &PageRequest,
        ) -> Result<Page<MemoryRecord>, StoreError> {
            self.0.list(owner, filter, page).await
        }
        async fn query(&self, _: &Owner, _: &SemanticQuery) -> Result<Vec<Candidate>, StoreError> {
            std::future::pending().await
        }
        async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError> {
            self.0.touch(owner, ids, at).await
        }
        async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError> {
            self.0.delete(owner, id).await
        }
        async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
            self.0.erase_user(owner).await
        }
        async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
            self.0.erase_session(owner, session).await
        }
        async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
            self.0.collect(now, limit).await
        }
    }
}
