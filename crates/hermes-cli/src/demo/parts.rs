//! The demo's agent, put together as any program would.

use std::path::Path;

use hermes::agent::{Agent, AgentConfig};
use hermes::core::{Clock as _, Owner, StateStore as _, SystemClock};
use hermes::embed::LocalEmbedder;
use hermes::inmemory::InMemorySemanticStore;
use hermes::mcp::McpClient;
use hermes::memory::{HABIT_NAMESPACE, Memory, MemoryConfig, ModelExtractor, PathConfig, Switch};
use hermes::prelude::{CallContext, Effect, ToolError, ToolRegistry, ToolSpec};
use hermes::sqlite::SqliteStore;
use hermes::tiktoken::TiktokenCounter;
use serde::Deserialize;
use serde_json::{Value, json};

use super::habit::UsesBooking;
use super::script::{self, Sent};
use super::words::Words;
use crate::error::Error;

pub(crate) const TENANT: &str = "demo";
pub(crate) const USER: &str = "dana";

/// The agent with what has to be shut down behind it.
pub(crate) struct Parts {
    pub(crate) agent: Agent,
    pub(crate) sent: Sent,
    store: SqliteStore,
    booking: McpClient,
}

#[derive(Debug, Deserialize)]
struct Search {
    name: String,
    cuisine: Option<String>,
}

impl Parts {
    pub(crate) async fn build(folder: &Path, book: &Path, words: Words) -> Result<Self, Error> {
        let path = folder.join("demo.db");
        let store = SqliteStore::connect(&format!("sqlite://{}", path.display())).await?;
        let booking = connect_booking(book).await?;
        let tools = ToolRegistry::new();
        tools.register(
            search_contract(),
            |query: Search, _context: CallContext| async move { search(&query) },
        )?;
        tools.attach(booking.clone())?;

        let mut config = MemoryConfig::default();
        config.implicit = PathConfig { switch: Switch::On, ..config.implicit };
        let semantic = InMemorySemanticStore::open(folder.join("memory.jsonl"))?;
        let memory = Memory::new(store.clone(), semantic, LocalEmbedder::bundled())
            .with_state(store.clone())
            .with_extractor(ModelExtractor::new(script::extractor(words)))
            .with_recognizer(UsesBooking)
            .with_config(config);

        let counter = TiktokenCounter::o200k();
        // The vocabulary takes a moment to load; the first turn should not pay for it.
        tokio::task::spawn_blocking(move || counter.warm())
            .await
            .map_err(|e| Error::demo("token counter", e))?;
        let model = script::assistant(words, SystemClock.now());
        let sent = model.sent();
        let agent = Agent::builder()
            .model(model)
            .store(store.clone())
            .tools(tools)
            .memory(memory)
            .counter(counter)
            .system_prompt(words.system())
            .config(AgentConfig::default())
            .build()?;
        Ok(Self { agent, sent, store, booking })
    }

    /// Ends the server's process and closes the database.
    pub(crate) async fn shut_down(self) {
        self.agent.settled().await;
        self.booking.shutdown().await;
        self.store.close().await;
    }
}

/// Starts this same program again as the booking server, in a process of its own.
async fn connect_booking(book: &Path) -> Result<McpClient, Error> {
    let program = super::own_program()?;
    McpClient::stdio("booking", program.display().to_string())
        .arg("demo-booking")
        .arg("--book")
        .arg(book.display().to_string())
        .connect()
        .await
        .map_err(|e| Error::demo("booking server", e))
}

/// The contract of the local tool. The name may come from memory when the call leaves it out (L2).
fn search_contract() -> ToolSpec {
    ToolSpec::new("search_restaurant", "Find a restaurant by its name; gives its address and opening hours")
        .input_schema(json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The restaurant's name", "x-hermes-fill": "sichuan restaurant" },
                "cuisine": { "type": "string", "description": "The kind of food" }
            },
            "required": ["name"]
        }))
        .effect(Effect::ReadOnly)
}

fn search(query: &Search) -> Result<Value, ToolError> {
    let known = ["Chuan Xiang Ge", "川香阁"];
    let found = known.iter().filter(|name| name.eq_ignore_ascii_case(query.name.trim()));
    let found: Vec<Value> = found
        .map(|name| json!({ "name": name, "cuisine": query.cuisine, "address": "18 Nanjing Road", "open": "11:00-22:00" }))
        .collect();
    if found.is_empty() {
        Err(ToolError::failed(format!("no restaurant named {:?} was found", query.name)))
    } else {
        Ok(Value::Array(found))
    }
}

/// How often the booking service was used, as the implicit path counts (R4).
pub(crate) async fn habit_count(agent: &Agent, owner: &Owner) -> Result<u64, Error> {
    let Some(state) = agent.state() else { return Ok(0) };
    let entries = state.list(owner, HABIT_NAMESPACE, &hermes::core::PageRequest::default()).await?;
    let count = |value: Value| value.get("count").and_then(Value::as_u64).unwrap_or_default();
    Ok(entries.items.iter().filter_map(|entry| entry.value.read().ok()).map(count).sum())
}
