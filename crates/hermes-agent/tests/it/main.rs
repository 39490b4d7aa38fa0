//! The loop on in-memory stores, with a model that follows a script.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper of a test stops where something is wrong"
)]

mod approval;
mod cancel;
mod context;
mod crash;
mod fill;
mod guard;
mod lease;
mod memory;
mod model;
mod resume;
mod stubborn;
mod support;
mod turn;
