//! The program itself, run as a person would run it: its output, its exit codes and the files that it leaves behind.

#![expect(clippy::unwrap_used, reason = "tests say what they expect by stopping")]
#![expect(clippy::indexing_slicing, reason = "an event without the field that is asked for fails the test")]
#![expect(clippy::panic, reason = "tests say what they expect by stopping")]

mod bad_input;
mod cancel;
mod chat;
mod demo;
mod events;
mod live;
mod program;
mod secret;
mod service;
mod sessions;
mod story;
