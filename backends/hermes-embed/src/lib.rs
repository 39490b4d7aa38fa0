#![doc = include_str!("../README.md")]

mod bundle;
mod embedder;
mod model;
mod pace;
mod tokenize;
mod vocab;

pub use embedder::LocalEmbedder;
