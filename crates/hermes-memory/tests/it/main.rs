//! The memory on in-memory stores.

#![expect(clippy::unwrap_used, reason = "a helper of a test stops where something is wrong")]

mod block;
mod given;
mod habit;
mod janitor;
mod learn;
mod recall;
mod rights;
mod support;
mod taint;
