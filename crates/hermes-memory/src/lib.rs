//! Memory that is right rather than plentiful: extraction, recall and care of memories.
//!
//! [`Memory`] puts two stores and an embedder together and does five things with them:
//!
//! | what | where | requirement |
//! |---|---|---|
//! | finds what belongs to a message, within 300 ms and without ever failing | [`Memory::recall`], [`Recall::block`] | R6, R7 |
//! | learns from a turn what the user said about themselves, proved by their own words | [`Memory::learn`] | R3, R9, R10, R12 |
//! | counts what the user does again and again | [`Memory::observe`] | R4 |
//! | keeps what proved itself, lets go of the rest | [`Memory::tidy`], [`Memory::collect`] | R8, in part |
//! | lets the user see, correct, export and erase all of it | [`Memory::list`] … [`Memory::forget`] | R11 |
//!
//! Two layers keep records: the *episodic* one for days (preferences and events as they were said), the *semantic* one for good (facts,
//! and what was said again or asked to be remembered). The third layer, the working one, is the session itself.
//!
//! Deciding is done by pure functions, each in a file of its own: what passes and in which order (`fuse`), what the user asks for (`ask`),
//! what may be learned (`taint`), what becomes of a new memory beside an old one (`conflict`), what may fill a missing argument ([`fill`]).
//!
//! # What this crate does not do
//! It opens no store and calls no service but through the traits of `hermes-core`; it starts no task of its own: whoever calls
//! [`Memory::learn`] and [`Memory::mark_recalled`] after the reply owns that work. It never writes to a session's log.
//!
//! # Example
//! ```
//! use hermes_core::{Owner, TenantId, UserId};
//! use hermes_inmemory::{InMemorySemanticStore, InMemoryStore};
//! use hermes_memory::{Dictated, Language, Memory, RecallRequest};
//! # use hermes_testkit::fake::HashEmbedder;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let embedder = HashEmbedder::default();
//!
//! let memory = Memory::new(InMemoryStore::new(), InMemorySemanticStore::new(), embedder);
//! let dana = Owner::new(TenantId::new("acme")?, UserId::new("dana")?);
//! memory.add(&dana, Dictated::preference("The user likes the Sichuan restaurant \"Chuan Xiang Ge\"")).await?;
//!
//! let recall = memory.recall(&dana, &RecallRequest::new("Book the Sichuan restaurant for tomorrow")).await;
//! let block = recall.block(Language::English, &jiff::tz::TimeZone::UTC).unwrap_or_default();
//! assert!(block.contains("Chuan Xiang Ge"));
//! # Ok(())
//! # }
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod ask;
mod block;
mod config;
mod conflict;
mod date;
mod error;
mod extract;
pub mod fill;
mod fuse;
mod implicit;
mod janitor;
mod learn;
mod memory;
mod parse;
mod recall;
mod redact;
mod rights;
mod taint;
mod term;
mod transcript;
mod write;

pub use block::BLOCK_LABEL;
pub use config::{MemoryConfig, PathConfig, RecallConfig, Switch};
pub use conflict::{Judge, Relation};
pub use error::Error;
pub use extract::{Command, Draft, ExtractError, ExtractionInput, Extractor, Line, ModelExtractor, Speaker};
/// The languages of [`Recall::block`].
pub use hermes_text::Language;
pub use implicit::{HABIT_NAMESPACE, HabitRecognizer, Observation, Observed, Pattern, ToolHabits};
pub use janitor::{JANITOR_NAMESPACE, TidyReport};
pub use learn::{Dropped, Extraction, LearnReport};
pub use memory::Memory;
pub use recall::{Gate, Recall, RecallRequest, RecallTrouble, Recalled};
pub use rights::{Dictated, Why};
pub use taint::DropReason;
pub use transcript::{Said, ToolText, TurnTranscript, time_zone};
pub use write::Written;
