//! The chat's agent, put together.

use std::path::Path;

use hermes::agent::{Agent, AgentConfig};
use hermes::core::{ChatModel as _, Clock as _, GenerationOptions, StoreError, SystemClock, Tokens};
use hermes::embed::LocalEmbedder;
use hermes::inmemory::InMemorySemanticStore;
use hermes::mcp::{ConfigError, McpClient, McpConfig, connect_all};
use hermes::memory::{Memory, ModelExtractor};
use hermes::openai::OpenAiModel;
use hermes::prelude::{CallContext, Effect, ToolError, ToolRegistry, ToolSpec};
use hermes::sqlite::SqliteStore;
use hermes::tiktoken::TiktokenCounter;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Value, json};

use super::config::{Config, time_zone};
use super::model;
use crate::error::Error;
use crate::output::{Output, warn};

const SYSTEM: &str = "You are a helpful assistant. Answer in the language of the user.";

/// The agent with what has to be shut down behind it.
pub(crate) struct Parts {
    pub(crate) agent: Agent,
    pub(crate) model_name: String,
    store: SqliteStore,
    servers: Vec<McpClient>,
}

impl Parts {
    pub(crate) async fn build(config: &Config, out: Output) -> Result<Self, Error> {
        // What can be told from files alone is told before anyone is asked.
        let servers = servers(config)?;
        let database = config.data_dir.join("hermes.db");
        let store =
            SqliteStore::connect(&format!("sqlite://{}", database.display())).await.map_err(|error| {
                match error {
                    // Of all that can be wrong with a database, this alone does not name the file.
                    StoreError::NewerSchema { .. } => Error::file(&database, error),
                    other => other.into(),
                }
            })?;
        match Self::with_store(config, servers, store.clone(), out).await {
            Ok(parts) => Ok(parts),
            Err(error) => {
                // Closed, it leaves no files of its own beside the database.
                store.close().await;
                Err(error)
            }
        }
    }

    async fn with_store(
        config: &Config,
        servers: Option<(&Path, McpConfig)>,
        store: SqliteStore,
        out: Output,
    ) -> Result<Self, Error> {
        let model = model::connect(config).await?;
        let model_name = model.info().id.clone();
        let tools = ToolRegistry::new();
        tools.register(clock_contract(), |zone: Zone, _context: CallContext| async move {
            current_time(&zone)
        })?;
        let servers = match servers {
            Some((path, servers)) => attach(path, servers, &tools, out).await?,
            None => Vec::new(),
        };

        let counter = TiktokenCounter::for_model(&model_name).unwrap_or_else(TiktokenCounter::estimate);
        let mut options = AgentConfig::default();
        options.options = GenerationOptions {
            temperature: config.temperature,
            max_output: config.max_output.map(Tokens::new),
            ..GenerationOptions::default()
        };
        let mut builder = Agent::builder()
            .model(model.clone())
            .store(store.clone())
            .tools(tools)
            .counter(counter)
            .system_prompt(config.system.as_deref().unwrap_or(SYSTEM))
            .config(options);
        if let Some(memory) = memory(config, &store, model) {
            builder = builder.memory(memory);
        }
        Ok(Self { agent: builder.build()?, model_name, store, servers })
    }

    /// Waits for what is still being written, ends the servers and closes the database.
    pub(crate) async fn shut_down(self) {
        self.agent.settled().await;
        for server in &self.servers {
            server.shutdown().await;
        }
        self.store.close().await;
    }
}

/// The memory; without it the chat goes on, and says why.
fn memory(config: &Config, store: &SqliteStore, model: OpenAiModel) -> Option<Memory> {
    if !config.memory {
        return None;
    }
    match InMemorySemanticStore::open(config.data_dir.join("memory.jsonl")) {
        Ok(semantic) => Some(
            Memory::new(store.clone(), semantic, LocalEmbedder::bundled())
                .with_state(store.clone())
                .with_extractor(ModelExtractor::new(model).with_structured_output()),
        ),
        Err(error) => {
            warn(&format!("hermes: going on without long-term memory: {}", Error::from(error).sentence()));
            None
        }
    }
}

/// The MCP servers of the configured file.
fn servers(config: &Config) -> Result<Option<(&Path, McpConfig)>, Error> {
    let Some(path) = &config.mcp else { return Ok(None) };
    let servers = McpConfig::load(path).map_err(|error| match &error {
        // This one names the file itself.
        ConfigError::Read { .. } => Error::Usage(Error::with_causes(&error)),
        _ => Error::file(path, Error::with_causes(&error)),
    })?;
    for warning in servers.warnings() {
        warn(&format!("hermes: {}: {warning}", path.display()));
    }
    Ok(Some((path, servers)))
}

/// Connects MCP servers; one that is not there costs its own tools only, unless it is required (M7).
async fn attach(
    path: &Path,
    servers: McpConfig,
    tools: &ToolRegistry,
    out: Output,
) -> Result<Vec<McpClient>, Error> {
    let connected = connect_all(servers).await.map_err(|e| Error::file(path, Error::with_causes(&e)))?;
    for failure in &connected.failures {
        let later = if failure.error.is_transient() {
            "its tools join when it answers"
        } else {
            "the chat goes on without its tools"
        };
        warn(&format!("hermes: {}; {later}", Error::with_causes(&failure.error)));
    }
    for client in &connected.clients {
        let attached = tools.attach(client.clone())?;
        let failed = connected.failures.iter().any(|failure| failure.server == attached.source);
        if !failed {
            out.aside(&format!("{}: {} tools", attached.source, attached.added.len()))?;
        }
        for skipped in attached.skipped {
            warn(&format!(
                "hermes: MCP server {}: {} is left out: {}",
                attached.source, skipped.name, skipped.reason
            ));
        }
    }
    Ok(connected.clients)
}

#[derive(Debug, Deserialize)]
struct Zone {
    time_zone: Option<String>,
}

fn clock_contract() -> ToolSpec {
    ToolSpec::new("current_time", "Get the current date and time")
        .input_schema(json!({
            "type": "object",
            "properties": {
                "time_zone": { "type": "string", "description": "IANA name such as Asia/Shanghai; the user's own when left out" }
            }
        }))
        .effect(Effect::ReadOnly)
        .always_on()
}

fn current_time(zone: &Zone) -> Result<Value, ToolError> {
    let name = zone.time_zone.clone().unwrap_or_else(time_zone);
    let zone = TimeZone::get(&name).map_err(|_| ToolError::InvalidArguments {
        message: format!(
            "there is no time zone {name:?}: use an IANA name such as Europe/Paris, or leave it out"
        ),
    })?;
    let now = SystemClock.now().to_zoned_datetime(zone);
    Ok(json!({
        "time": now.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        "weekday": now.strftime("%A").to_string(),
        "time_zone": name,
    }))
}
