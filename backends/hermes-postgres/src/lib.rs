#![doc = include_str!("../README.md")]

mod artifact;
mod config;
mod cursor;
mod episodic;
mod error;
mod escape;
mod filter;
mod fork;
mod idempotency;
mod lease;
mod log;
mod migrate;
mod row;
mod search;
mod session;
mod state;
mod store;
mod term;

pub use config::PostgresConfig;
pub use store::PostgresStore;
