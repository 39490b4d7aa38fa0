//! Why a measure could not be taken.

use std::path::PathBuf;

/// Why a measure could not be taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("{what}")]
    Io { what: String, source: std::io::Error },
    #[error("{} does not read as expected, line {line}: {reason}", path.display())]
    Data { path: PathBuf, line: usize, reason: String },
    #[error("a session failed")]
    Session(#[from] hermes_session::Error),
    #[error("a store failed")]
    Store(#[from] hermes_core::StoreError),
    #[error("the bare loop failed")]
    Sql(#[from] sqlx::Error),
    #[error("tools could not be measured")]
    Tools(#[source] hermes_core::BoxError),
    #[error("a figure cannot be written as JSON")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// The error with its causes, as one sentence.
    pub(crate) fn sentence(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}
