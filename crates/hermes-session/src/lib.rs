//! Sessions whose context always fits and whose tool calls always pair.
//!
//! A conversation's log only grows, and nothing in it changes (S3). What is sent to the model for one step, the [`Context`], is assembled
//! anew each time: the last turns whole, what is older as a summary, what the user laid down word for word, all within a token budget, and every
//! tool call followed by exactly its results.
//!
//! # Reading order
//! 1. [`Sessions`] creates, opens, lists, searches and imports; [`Session`] appends, reads, forks, leases, exports, and gives the [`Context`].
//! 2. [`assemble`] is the heart: a pure function from a [`WindowView`] and a [`ContextSpec`] to a [`Context`], with the order of giving way.
//! 3. [`repair`] keeps pairs whole; [`StickyPolicy`] decides what is never trimmed; [`SessionConfig`] holds the numbers.
//!
//! # What this crate does not do
//! It drives no model and runs no tool; it knows no database, no tokenizer and no network. What it needs of them are traits of `hermes_core`.
//!
//! # Example
//! ```
//! use hermes_core::{NewMessage, Owner, TenantId, UserId};
//! use hermes_inmemory::InMemoryStore;
//! use hermes_session::{Budget, Sessions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sessions = Sessions::new(InMemoryStore::new());
//! let owner = Owner::new(TenantId::new("acme")?, UserId::new("dana")?);
//!
//! let session = sessions.create(&owner, "Dinner").await?;
//! session.append(NewMessage::user("I am allergic to peanuts. Where can I eat tonight?")).await?;
//!
//! let context = session.context(Budget::new(8_000)).await?; // always fits, always paired
//! assert_eq!(context.messages().len(), 1);
//! println!("{}", context.explain());
//! # Ok(())
//! # }
//! ```

mod anchor;
mod assemble;
mod budget;
mod config;
mod context;
mod count;
mod digest;
mod error;
mod explain;
mod export;
mod fit;
mod fold;
mod load;
mod pairs;
mod session;
mod sessions;
mod sticky;
mod summary;
mod window;

pub use assemble::assemble;
pub use budget::{Beside, Budget, BudgetExceeded, Composition, ContextSpec, Folding, Part};
pub use config::SessionConfig;
pub use context::Context;
pub use count::{EstimateCounter, count_message};
pub use error::Error;
pub use explain::{Explanation, PartLine, ShrinkReason, Trim};
pub use pairs::{paired, repair};
pub use session::{Batch, Session};
pub use sessions::Sessions;
pub use sticky::{NeverSticky, RuleSticky, StickyPolicy};
pub use window::WindowView;
