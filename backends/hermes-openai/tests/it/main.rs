//! The model and the embedder against a scripted server, and against live ones where they are.

#![expect(clippy::unwrap_used, reason = "tests say what they expect by stopping")]

mod chat;
mod embed;
mod failure;
mod live;
mod server;
