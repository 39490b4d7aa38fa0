//! How to prove a backend of Hermes, and what tests of Hermes are made of.
//!
//! **Who should depend on this crate:** authors of backends and of anything that is built on the traits of `hermes-core`, as a
//! dev-dependency. It knows `hermes-core` and no backend.
//!
//! # A backend in ten lines
//! The documentation of each store trait numbers what an implementation must do (**SS1**, **SS2**, …). A suite has at least one
//! case for each clause; a backend is done when its suites pass against the real thing. Its whole `tests/conformance.rs`:
//! ```
//! # // Stands for the backend that is to be proved.
//! # use hermes_inmemory::InMemoryStore as MyStore;
//! use hermes_testkit::Fresh;
//!
//! /// A fresh, empty store for each case. `Fresh::guarded` keeps something, such as a temporary folder, until the case is over.
//! async fn make() -> Fresh<MyStore> {
//!     Fresh::new(MyStore::new())
//! }
//!
//! hermes_testkit::session_store_suite!(make);
//! hermes_testkit::lease_store_suite!(make);
//! hermes_testkit::idempotency_store_suite!(make);
//! ```
//! Each case becomes a test with a name, such as `session_store::append_refuses_a_stale_place`, and its complaint begins with the
//! clause that is broken. Where a server is needed, `session_store_suite!(requires "postgres", make_at)` hands its address to an
//! `async fn make_at(url: String)`; [`server`] says where the address comes from and what happens without one.
//!
//! | suite | proves | clauses |
//! |---|---|---|
//! | [`session_store_suite!`] | [`SessionStore`](hermes_core::SessionStore) | SS1–SS23 |
//! | [`lease_store_suite!`] | [`LeaseStore`](hermes_core::LeaseStore), of a store that keeps sessions | LE1–LE10 |
//! | [`idempotency_store_suite!`] | [`IdempotencyStore`](hermes_core::IdempotencyStore) | ID1–ID12 |
//! | [`artifact_store_suite!`] | [`ArtifactStore`](hermes_core::ArtifactStore) | AR1–AR7 |
//! | [`state_store_suite!`] | [`StateStore`](hermes_core::StateStore) | ST1–ST8 |
//! | [`episodic_store_suite!`] | [`EpisodicStore`](hermes_core::EpisodicStore) | EP1–EP10 |
//! | [`semantic_store_suite!`] | [`SemanticStore`](hermes_core::SemanticStore) | SE1–SE7 |
//! | [`embedder_suite!`] | [`Embedder`](hermes_core::Embedder) | EM1–EM4 |
//! | [`token_counter_suite!`] | [`TokenCounter`](hermes_core::TokenCounter) | TC1–TC4 |
//! | [`chat_model_suite!`] | [`ChatModel`](hermes_core::ChatModel), one that is really there | CM1–CM4 |
//!
//! The cases are plain functions as well ([`session_store`], [`race`], …), for a backend that wants one of them alone.
//!
//! # What else is here
//! - [`fake`]: a model that answers from a script, a tool that remembers its calls, a clock that is moved by hand, an embedder
//!   without a model, a store that fails when told to.
//! - [`endurance`]: how long a test goes on.
//! - [`sample`]: records that are alike everywhere. [`mod@gen`]: strategies for property tests over logs, windows and budgets.
//!
//! # What this crate does not do
//! It starts no server, measures no time and sleeps nowhere. It says nothing of a backend's speed or of what it does beyond the
//! contract, and it does not prove what only a recorded answer can show (CM5–CM7).

#![expect(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "saying what is wrong by stopping is what this crate is for"
)]

pub mod artifact_store;
pub mod chat_model;
mod check;
pub mod embedder;
pub mod endurance;
pub mod episodic_store;
pub mod fake;
pub mod fresh;
pub mod r#gen;
pub mod idempotency_store;
pub mod lease_store;
pub mod race;
mod records;
pub mod sample;
pub mod semantic_store;
pub mod server;
pub mod session_store;
pub mod state_store;
mod suite;
pub mod token_counter;

pub use fresh::Fresh;

/// What the macros name. Not for use from outside.
#[doc(hidden)]
pub use hermes_core as core;
