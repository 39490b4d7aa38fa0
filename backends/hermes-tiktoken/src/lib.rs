#![doc = include_str!("../README.md")]

mod counter;
mod model;
mod part;

pub use counter::TiktokenCounter;
