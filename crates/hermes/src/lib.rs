#![cfg_attr(docsrs, feature(doc_cfg))]
//! Hermes is an agent framework whose worth lies in four things done properly and interlocking: **sessions** that manage
//! their context, **tools** with a contract, **MCP** as the standard socket, and **memory** that is right rather than plentiful.
//!
//! This crate joins the others: each capability and each backend is a crate, a feature here, and a module of the same name.
//! It has no behaviour of its own but [`connect`], which chooses a store by URL.
//!
//! | feature | module | what it adds | on by default |
//! |---|---|---|---|
//! | `session` | [`session`] | sessions whose context always fits and whose calls always pair | through `agent` |
//! | `tools` | [`tools`] | contracts, validation, feedback, retry, idempotency | through `agent` |
//! | `memory` | [`memory`] | extraction, recall, conflict, the user's rights | through `agent` |
//! | `agent` | [`agent`] | the loop | yes |
//! | `mcp` | `mcp` | servers of the Model Context Protocol as tools | no |
//! | `inmemory` | [`inmemory`] | every store in memory; semantic memory with a file beside | yes |
//! | `sqlite` | `sqlite` | sessions, episodic memory, idempotency, artifacts and state in SQLite | no |
//! | `postgres` | `postgres` | sessions, episodic memory, idempotency, artifacts and state in PostgreSQL | no |
//! | `openai` | `openai` | models and embeddings over any OpenAI-compatible server | no |
//! | `local-embedder` | `embed` | a bundled embedder for English and Chinese, without network or key | no |
//! | `tiktoken` | [`tiktoken`] | exact token counts | yes |
//! | `full` | | all of them | no |
//!
//! # Example
//! ```no_run
//! # #[cfg(all(feature = "agent", feature = "sqlite", feature = "openai"))]
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use hermes::prelude::*;
//!
//! let agent = Agent::builder()
//!     .model(hermes::openai::OpenAiModel::from_env()?)
//!     .store(hermes::sqlite::SqliteStore::connect("sqlite://hermes.db").await?)
//!     .build()?;
//! let session = agent.sessions().create(&Owner::new("acme".parse()?, "dana".parse()?), "Dinner").await?;
//!
//! let mut run = agent.run(&session, "What did we say about Friday?");
//! while let Some(event) = run.next().await {
//!     if let AgentEvent::Text { delta } = event? {
//!         print!("{delta}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```

/// The traits and data types that everything else is written against.
pub use hermes_core as core;

/// The loop: sessions, tools and memory working as one.
#[cfg(feature = "agent")]
#[cfg_attr(docsrs, doc(cfg(feature = "agent")))]
pub use hermes_agent as agent;
/// The bundled embedder for English and Chinese.
#[cfg(feature = "local-embedder")]
#[cfg_attr(docsrs, doc(cfg(feature = "local-embedder")))]
pub use hermes_embed as embed;
/// Every store in memory.
#[cfg(feature = "inmemory")]
#[cfg_attr(docsrs, doc(cfg(feature = "inmemory")))]
pub use hermes_inmemory as inmemory;
/// Servers of the Model Context Protocol as tools.
#[cfg(feature = "mcp")]
#[cfg_attr(docsrs, doc(cfg(feature = "mcp")))]
pub use hermes_mcp as mcp;
/// Extraction, recall and care of memories.
#[cfg(feature = "memory")]
#[cfg_attr(docsrs, doc(cfg(feature = "memory")))]
pub use hermes_memory as memory;
/// Models and embeddings over any OpenAI-compatible server.
#[cfg(feature = "openai")]
#[cfg_attr(docsrs, doc(cfg(feature = "openai")))]
pub use hermes_openai as openai;
/// Stores in PostgreSQL.
#[cfg(feature = "postgres")]
#[cfg_attr(docsrs, doc(cfg(feature = "postgres")))]
pub use hermes_postgres as postgres;
/// Sessions and their contexts.
#[cfg(feature = "session")]
#[cfg_attr(docsrs, doc(cfg(feature = "session")))]
pub use hermes_session as session;
/// Stores in SQLite.
#[cfg(feature = "sqlite")]
#[cfg_attr(docsrs, doc(cfg(feature = "sqlite")))]
pub use hermes_sqlite as sqlite;
/// Exact token counts.
#[cfg(feature = "tiktoken")]
#[cfg_attr(docsrs, doc(cfg(feature = "tiktoken")))]
pub use hermes_tiktoken as tiktoken;
/// Tools with a contract.
#[cfg(feature = "tools")]
#[cfg_attr(docsrs, doc(cfg(feature = "tools")))]
pub use hermes_tools as tools;

mod connect;
pub mod prelude;

#[cfg(doctest)]
mod docs;

pub use connect::{ConnectError, Store, connect};
