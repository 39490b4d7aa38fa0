//! The file of a semantic store: what was written is there again, whatever happened to the process.

#![expect(clippy::unwrap_used, reason = "a test stops where something is wrong")]

use std::io::Write as _;
use std::path::Path;

use hermes_core::{
    EmbedderId, Embedding, Limit, MemoryFilter, PageRequest, SemanticQuery, SemanticStore, StoreError,
};
use hermes_inmemory::InMemorySemanticStore;
use hermes_testkit::sample;

fn space() -> EmbedderId {
    EmbedderId::new("test-2").unwrap()
}

fn vector(x: f32, y: f32) -> Embedding {
    Embedding::new(vec![x, y]).unwrap()
}

async fn filled(path: &Path) -> InMemorySemanticStore {
    let store = InMemorySemanticStore::open(path).unwrap();
    store.bind(&space(), 2).await.unwrap();
    store.create(&sample::memory("likes tea"), &vector(3.0, 4.0)).await.unwrap();
    store.create(&sample::memory("has a cat"), &vector(1.0, 0.0)).await.unwrap();
    store
}

async fn contents(store: &InMemorySemanticStore) -> Vec<String> {
    let page = store.list(&sample::owner(), &MemoryFilter::default(), &PageRequest::default()).await.unwrap();
    let mut contents: Vec<String> = page.items.into_iter().map(|record| record.content).collect();
    contents.sort();
    contents
}

#[tokio::test]
async fn what_was_written_is_there_again_with_its_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.jsonl");
    drop(filled(&path).await);
    let store = InMemorySemanticStore::open(&path).unwrap();
    assert_eq!(contents(&store).await, ["has a cat", "likes tea"]);
    let query = SemanticQuery {
        vector: Some(vector(3.0, 4.0)),
        terms: Vec::new(),
        filter: MemoryFilter::default(),
        limit: Limit::new(1),
    };
    let found = store.query(&sample::owner(), &query).await.unwrap();
    assert_eq!(found[0].record.content, "likes tea");
    assert!((found[0].cosine.unwrap() - 1.0).abs() < 1e-6);
}

#[tokio::test]
async fn a_line_that_a_crash_cut_off_is_dropped_and_the_rest_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.jsonl");
    drop(filled(&path).await);
    let whole = std::fs::read(&path).unwrap();
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"put\":{\"rec").unwrap();
    drop(InMemorySemanticStore::open(&path).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

#[tokio::test]
async fn a_second_process_is_told_that_the_file_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.jsonl");
    let _held = filled(&path).await;
    let error = InMemorySemanticStore::open(&path).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.ends_with("memory.jsonl is in use by another process"), "{source}");
}

#[tokio::test]
async fn what_is_no_memory_file_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.jsonl");
    for text in ["not a memory file\n", "{\"hermes_memory\":1}\n{\"nonsense\":1}\n"] {
        std::fs::write(&path, text).unwrap();
        assert!(matches!(InMemorySemanticStore::open(&path), Err(StoreError::Corrupt { .. })), "{text}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    std::fs::write(&path, "{\"hermes_memory\":2}\n").unwrap();
    let newer = InMemorySemanticStore::open(&path);
    assert!(matches!(newer, Err(StoreError::NewerSchema { found: 2, supported: 1, .. })));
}

#[tokio::test]
async fn what_was_erased_is_gone_from_the_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.jsonl");
    let store = filled(&path).await;
    assert_eq!(store.erase_user(&sample::owner()).await.unwrap(), 2);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("likes tea"), "{text}");
    drop(store);
    assert!(contents(&InMemorySemanticStore::open(&path).unwrap()).await.is_empty());
}
