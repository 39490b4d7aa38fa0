//! Tools that Hermes brings along.

mod find_tools;
pub(crate) mod read_artifact;

pub use find_tools::FindTools;
pub use read_artifact::ReadArtifact;
