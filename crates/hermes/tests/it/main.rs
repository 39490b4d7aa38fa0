//! What only shows when the parts are joined.
#![cfg(feature = "full")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where something is wrong"
)]

mod given;
mod server;
