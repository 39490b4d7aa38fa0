//! What can go wrong when memories are written or looked after. Recall has no errors: it tells its trouble.

use hermes_core::{EmbedError, MemoryId, StoreError};
use hermes_text::SecretKind;

/// Why the memory could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A store refused or failed. [`StoreError::SpaceMismatch`] asks for [`crate::Memory::reembed`].
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A text got no vector.
    #[error("a memory could not be embedded")]
    Embed(#[from] EmbedError),
    /// The embedder gave another number of vectors than it got texts.
    #[error("the embedder gave {actual} vectors for {expected} texts")]
    VectorCount {
        /// How many texts it got.
        expected: usize,
        /// How many vectors it gave.
        actual: usize,
    },
    /// There is no such memory for this user.
    #[error("no memory {id} for this user")]
    NotFound {
        /// The id that was looked for.
        id: MemoryId,
    },
    /// The text holds a secret, and secrets are not kept (R12).
    #[error("the text holds a secret ({kind}), and secrets are not kept: leave it out")]
    Secret {
        /// What kind.
        kind: SecretKind,
    },
    /// The text cannot be a memory.
    #[error("the text cannot be kept as a memory: {reason}")]
    Unusable {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The memory does not take another's place, so there is nothing to undo.
    #[error("memory {id} superseded nothing that is still kept")]
    NothingToUndo {
        /// The memory.
        id: MemoryId,
    },
    /// Counting habits needs a state store.
    #[error("habits cannot be counted without a state store: give one with `with_state`")]
    NoState,
    /// What is stored under a key of the memory's own cannot be read.
    #[error("the stored {what} cannot be read")]
    Corrupt {
        /// Which entry.
        what: &'static str,
        /// What the parser said.
        #[source]
        source: serde_json::Error,
    },
    /// Other writers changed the same entry again and again.
    #[error("the {what} was changed by others each time it was to be changed: try again")]
    Contended {
        /// Which entry.
        what: &'static str,
    },
}
