//! What can go wrong here, and what it becomes for callers.

use hermes_core::{BoxError, StoreError};

/// The name of this backend in errors.
pub(crate) const BACKEND: &str = "postgres";

/// Why a step towards an answer failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The contract says no.
    #[error(transparent)]
    Refused(#[from] StoreError),
    /// PostgreSQL or its driver says no.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    /// No connection can be made. The place is named without the password.
    #[error("cannot connect to {place}")]
    Connect {
        place: String,
        #[source]
        source: sqlx::Error,
    },
    /// Another writer came between a look and the write that followed from it.
    #[error("another writer was in the way, again and again")]
    Overtaken,
}

impl Error {
    /// Something stored cannot be read back.
    pub(crate) fn damaged(what: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Refused(StoreError::Corrupt { what, reason: reason.to_string() })
    }

    /// Whether another transaction was in the way, so that the same may succeed at once: nothing has happened.
    pub(crate) fn is_contention(&self) -> bool {
        match self {
            Self::Overtaken => true,
            // What must be there once only has been looked for before it is written, so that a second look finds it.
            _ => matches!(
                self.code().as_deref(),
                Some(SERIALIZATION_FAILURE | DEADLOCK_DETECTED | UNIQUE_VIOLATION)
            ),
        }
    }

    /// Whether the same call may succeed later.
    fn is_transient(&self) -> bool {
        let of_driver = self.driver().is_some_and(|error| {
            matches!(
                error,
                sqlx::Error::PoolTimedOut
                    | sqlx::Error::Io(_)
                    | sqlx::Error::WorkerCrashed
                    | sqlx::Error::BeginFailed
            )
        });
        let of_server = self.code().is_some_and(|code| {
            TRANSIENT_CODES.contains(&&*code) || TRANSIENT_CLASSES.iter().any(|class| code.starts_with(class))
        });
        of_driver || of_server || self.is_contention()
    }

    fn driver(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Sql(error) | Self::Connect { source: error, .. } => Some(error),
            Self::Refused(_) | Self::Overtaken => None,
        }
    }

    fn code(&self) -> Option<String> {
        self.driver()?.as_database_error()?.code().map(std::borrow::Cow::into_owned)
    }
}

// Error codes, from <https://www.postgresql.org/docs/15/errcodes-appendix.html>.
const UNIQUE_VIOLATION: &str = "23505";
const SERIALIZATION_FAILURE: &str = "40001";
const DEADLOCK_DETECTED: &str = "40P01";

/// Lock not available; cancelled, as by the statement timeout; the server stops, has crashed or is starting; a transaction that was idle for
/// too long; a server that only reads, as after a failover.
const TRANSIENT_CODES: [&str; 7] = ["55P03", "57014", "57P01", "57P02", "57P03", "25P03", "25006"];

/// Connections, and resources that are used up.
const TRANSIENT_CLASSES: [&str; 2] = ["08", "53"];

/// A limit of the server was reached by what was given.
const LIMIT_CLASS: &str = "54";

/// The server has found damaged data, or a damaged index.
const CORRUPT_CODES: [&str; 2] = ["XX001", "XX002"];

/// A failed operation.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) op: &'static str,
    pub(crate) error: Error,
}

impl From<Failed> for StoreError {
    fn from(Failed { op, error }: Failed) -> Self {
        let code = error.code().unwrap_or_default();
        match error {
            Error::Refused(refusal) => refusal,
            Error::Sql(error @ (sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_))) => {
                Self::Corrupt { what: "row", reason: error.to_string() }
            }
            error if CORRUPT_CODES.contains(&&*code) => Self::Corrupt {
                what: "database",
                reason: format!("the server says so ({error}): restore it from a copy"),
            },
            error if code.starts_with(LIMIT_CLASS) => Self::Invalid {
                what: "value",
                reason: format!("it is more than the server can keep ({error})"),
            },
            error => {
                let transient = error.is_transient();
                Self::Backend { backend: BACKEND, op, transient, source: BoxError::from(error) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_itself_is_worth_another_try() {
        for error in [Error::Overtaken, sqlx::Error::PoolTimedOut.into()] {
            let error = StoreError::from(Failed { op: "append", error });
            assert!(error.is_transient());
            assert_eq!(error.to_string(), "postgres: append failed");
        }
        let error = StoreError::from(Failed { op: "append", error: sqlx::Error::PoolClosed.into() });
        assert!(!error.is_transient());
    }

    #[test]
    fn a_refusal_stays_what_it_is() {
        let refusal = StoreError::Invalid { what: "title", reason: "long".to_owned() };
        let error = StoreError::from(Failed { op: "create", error: refusal.into() });
        assert_eq!(error.to_string(), "invalid title: long");
    }
}
