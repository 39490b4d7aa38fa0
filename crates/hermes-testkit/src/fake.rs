//! Stand-ins for tests: they do what they are told and remember what was asked of them.

mod clock;
mod embedder;
mod model;
mod store;
mod tool;

pub use clock::ManualClock;
pub use embedder::HashEmbedder;
pub use model::{Answer, ScriptedModel};
pub use store::{FailingStore, Fault};
pub use tool::{RecordedCall, RecordingTool};
