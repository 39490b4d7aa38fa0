//! Races: many tasks at one barrier, so that they really meet. Every case takes an `Arc`, since its tasks run on several threads.

pub mod claim;
pub mod memory;
pub mod session;
pub mod state;
