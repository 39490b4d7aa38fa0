//! Sessions as a whole: the given cases, flows through a store, properties of every context, and texts.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says what is wrong by stopping"
)]

mod explain;
mod export;
mod flow;
mod given;
mod prefix;
mod property;
mod support;
