#![doc = include_str!("../README.md")]

mod client;
mod config;
mod embed;
mod error;
mod listing;
mod message;
mod model;
mod reasoning;
mod reply;
mod request;
mod schema;
mod stream;
mod usage;
mod vectors;
mod wire;

pub use config::{EmptyContent, Endpoint, OpenAiConfig, OutputLimit};
pub use embed::{EmbeddingFormat, OpenAiEmbedder, OpenAiEmbedderConfig, PurposeHint};
pub use listing::{ListedModel, models};
pub use model::OpenAiModel;
