#![doc = include_str!("../README.md")]
//!
//! ```
//! use hermes_core::{LogQuery, Limit, NewMessage, NewSession, Owner, Seq, SessionStore, SystemClock, Clock, WriteGuard};
//! use hermes_inmemory::InMemoryStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = InMemoryStore::new();
//! let owner = Owner::new("acme".parse()?, "dana".parse()?);
//! let now = SystemClock.now();
//!
//! let session = SessionStore::create(&store, &NewSession::new(owner.clone(), "Dinner", now)).await?;
//! let id = session.record.id;
//! store.append(&owner, id, Seq::START, &[NewMessage::user("Hello")], WriteGuard::unleased(now)).await?;
//!
//! let log = store.page(&owner, id, &LogQuery::newest(Limit::new(10))).await?;
//! assert_eq!(log.messages.len(), 1);
//! # Ok(())
//! # }
//! ```

mod artifact;
mod cursor;
mod episodic;
mod idempotency;
mod journal;
mod lease;
mod records;
mod semantic;
mod session;
mod state;
mod store;

pub use semantic::InMemorySemanticStore;
pub use store::InMemoryStore;
