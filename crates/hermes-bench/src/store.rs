//! The stores that can be measured, and where they keep what they are given.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use hermes_core::{Owner, SessionStore, TenantId, UserId};
use hermes_inmemory::InMemoryStore;
use hermes_sqlite::{SqliteConfig, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::error::Error;

/// A store by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreName {
    Memory,
    Sqlite,
}

impl StoreName {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
        }
    }
}

/// Where a store keeps what it is given, for the time of a measure.
#[derive(Debug)]
pub(crate) struct Place {
    name: StoreName,
    folder: PathBuf,
}

impl Place {
    /// A place for fresh stores of this name, below a folder.
    pub(crate) fn new(name: StoreName, folder: &Path) -> Self {
        Self { name, folder: folder.to_owned() }
    }

    pub(crate) const fn name(&self) -> StoreName {
        self.name
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, database: &str) -> PathBuf {
        self.folder.join(format!("hermes-{database}.db"))
    }

    /// A fresh store.
    pub(crate) async fn open(&self, database: &str) -> Result<Arc<dyn SessionStore>, Error> {
        Ok(match self.name {
            StoreName::Memory => Arc::new(InMemoryStore::new()),
            StoreName::Sqlite => {
                Arc::new(SqliteStore::with_config(SqliteConfig::new(self.file(database))).await?)
            }
        })
    }

    /// How many bytes such a store has on disk; `None` for one that has none.
    pub(crate) async fn bytes(&self, database: &str) -> Result<Option<u64>, Error> {
        match self.name {
            StoreName::Memory => Ok(None),
            StoreName::Sqlite => {
                // What stands in the write-ahead log is part of it.
                let mut connection = SqliteConnectOptions::new()
                    .filename(self.file(database))
                    .read_only(true)
                    .disable_statement_logging()
                    .connect()
                    .await?;
                let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut connection).await?;
                let size: i64 = sqlx::query_scalar("PRAGMA page_size").fetch_one(&mut connection).await?;
                connection.close().await?;
                Ok(u64::try_from(pages.saturating_mul(size)).ok())
            }
        }
    }
}

/// Whose sessions are measured.
pub(crate) fn owner() -> Result<Owner, Error> {
    let named = TenantId::new("bench").and_then(|tenant| Ok(Owner::new(tenant, UserId::new("dana")?)));
    named.map_err(|error| Error::Usage(error.to_string()))
}

/// A folder that goes when the measure ends, below `parent` or where the system keeps such.
pub(crate) fn scratch(parent: Option<&Path>) -> Result<tempfile::TempDir, Error> {
    let made = match parent {
        Some(parent) => tempfile::tempdir_in(parent),
        None => tempfile::tempdir(),
    };
    made.map_err(|source| Error::Io { what: "no scratch folder can be made".to_owned(), source })
}
