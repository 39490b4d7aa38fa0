//! What can go wrong here, and what it becomes for callers.

use std::path::PathBuf;

use hermes_core::{BoxError, StoreError};

/// The name of this backend in errors.
pub(crate) const BACKEND: &str = "sqlite";

/// Why a step towards an answer failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The contract says no.
    #[error(transparent)]
    Refused(#[from] StoreError),
    /// SQLite or its driver says no.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    /// The database file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: sqlx::Error,
    },
    /// The file that is locked while migrating cannot be used.
    #[error("cannot lock {}", path.display())]
    Lock {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    /// Something stored cannot be read back.
    pub(crate) fn damaged(what: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Refused(StoreError::Corrupt { what, reason: reason.to_string() })
    }

    /// Says which file the driver's failure is about.
    pub(crate) fn opening(self, path: &std::path::Path) -> Self {
        match self {
            Self::Sql(source) => Self::Open { path: path.to_owned(), source },
            other => other,
        }
    }

    /// Whether another connection was in the way.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.code().map(primary), Some(SQLITE_BUSY | SQLITE_LOCKED))
    }

    fn driver(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Sql(error) | Self::Open { source: error, .. } => Some(error),
            Self::Refused(_) | Self::Lock { .. } => None,
        }
    }

    fn code(&self) -> Option<u32> {
        self.driver()?.as_database_error()?.code()?.parse().ok()
    }
}

// Result codes, from <https://www.sqlite.org/rescode.html>.
const SQLITE_BUSY: u32 = 5;
const SQLITE_LOCKED: u32 = 6;
const SQLITE_CORRUPT: u32 = 11;
const SQLITE_NOTADB: u32 = 26;

/// The lower byte of an extended result code is the primary one.
fn primary(code: u32) -> u32 {
    code & 0xff
}

/// A failed operation.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) op: &'static str,
    pub(crate) error: Error,
}

impl From<Failed> for StoreError {
    fn from(Failed { op, error }: Failed) -> Self {
        let file = match &error {
            Error::Open { path, .. } => path.display().to_string(),
            _ => "the database file".to_owned(),
        };
        match (error.code().map(primary), error) {
            (_, Error::Refused(refusal)) => refusal,
            (Some(SQLITE_NOTADB), _) => Self::Corrupt {
                what: "database",
                reason: format!(
                    "{file} is not a SQLite database; nothing was changed: name another file or move this one away"
                ),
            },
            (Some(SQLITE_CORRUPT), error) => Self::Corrupt {
                what: "database",
                reason: format!("{file} has damaged pages ({error}): restore it from a copy"),
            },
            (_, Error::Sql(error @ (sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)))) => {
                Self::Corrupt { what: "row", reason: error.to_string() }
            }
            (_, error) => {
                let waited = matches!(error.driver(), Some(sqlx::Error::PoolTimedOut));
                let transient = waited || error.is_busy();
                Self::Backend { backend: BACKEND, op, transient, source: BoxError::from(error) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_that_is_used_up_is_worth_another_try() {
        let error = StoreError::from(Failed { op: "append", error: sqlx::Error::PoolTimedOut.into() });
        assert!(error.is_transient());
        assert_eq!(error.to_string(), "sqlite: append failed");
    }

    #[test]
    fn a_refusal_stays_what_it_is() {
        let refusal = StoreError::Invalid { what: "title", reason: "long".to_owned() };
        let error = StoreError::from(Failed { op: "create", error: refusal.into() });
        assert_eq!(error.to_string(), "invalid title: long");
    }
}
