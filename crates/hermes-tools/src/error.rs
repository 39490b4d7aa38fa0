//! Why a tool or a source of tools was not taken (T2).

use hermes_core::BoxError;

/// A tool that cannot be registered, by name and reason.
#[derive(Debug, thiserror::Error)]
#[error("tool {tool:?} cannot be registered: {problem}")]
pub struct RegisterError {
    /// The name it came with.
    pub tool: String,
    /// What is wrong.
    #[source]
    pub problem: ContractError,
}

/// What is wrong with a tool's contract.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The name would be refused by providers.
    #[error("the name must be 1 to 64 of the characters A-Z, a-z, 0-9, _ and -")]
    Name,
    /// Another tool has the name.
    #[error(
        "the name is taken by a tool of {holder}; rename one of the two, or give its source another prefix"
    )]
    Duplicate {
        /// Who has it: `this registry`, or a source's name.
        holder: String,
    },
    /// A schema that JSON Schema does not allow.
    #[error("its {which} schema is not valid at {pointer:?}: {reason}")]
    Schema {
        /// `input` or `output`.
        which: &'static str,
        /// Where in the schema, as a JSON pointer.
        pointer: String,
        /// What is wrong there.
        reason: String,
        /// The validator's own error, where it is the cause.
        #[source]
        source: Option<BoxError>,
    },
    /// An example that the schema or the function refuses.
    #[error("example {number} does not fit: {reason}")]
    Example {
        /// Which one, from 1.
        number: usize,
        /// What the schema or the function's argument type says.
        reason: String,
    },
    /// A setting that cannot be.
    #[error("{field}: {reason}")]
    Setting {
        /// Which field of the contract.
        field: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
}

/// A source that cannot be attached; nothing of it was taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// A source of this name is attached.
    #[error("a source named {source_name:?} is attached already; detach it first or choose another name")]
    Attached {
        /// The name.
        source_name: String,
    },
    /// A tool's name is taken (M4).
    #[error("source {source_name:?} collides with what is registered")]
    Collision {
        /// The source.
        source_name: String,
        /// Which tool, and with what.
        #[source]
        tool: Box<RegisterError>,
    },
}
