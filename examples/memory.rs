//! What is recalled for a message, in English and Chinese, and why it is known.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use hermes::embed::LocalEmbedder;
use hermes::inmemory::{InMemorySemanticStore, InMemoryStore};
use hermes::memory::{Dictated, RecallRequest};
use hermes::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dana = Owner::new("acme".parse()?, "dana".parse()?);
    let memory = Memory::new(InMemoryStore::new(), InMemorySemanticStore::new(), LocalEmbedder::bundled());
    for sentence in
        ["Prefers window seats on planes", "用户最喜欢的川菜馆是「川香阁」", "Has a daughter named Lucy"]
    {
        memory.add(&dana, Dictated::preference(sentence)).await?;
    }

    for message in
        ["Which seat shall I book on the plane?", "帮我订川菜馆的位子", "How do I sort a list in Rust?"]
    {
        println!("{message}");
        let recall = memory.recall(&dana, &RecallRequest::new(message)).await;
        for item in &recall.items {
            println!("   {} (score {:.2}, by {:?})", item.record.content, item.score.get(), item.gate);
        }
        if recall.is_empty() {
            println!("   nothing");
        }
    }
    Ok(())
}
