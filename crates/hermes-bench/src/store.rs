//! The stores that can be measured, and where they keep what they are given.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use hermes_core::{Owner, SessionStore, TenantId, UserId};
use hermes_inmemory::InMemoryStore;
use hermes_postgres::{PostgresConfig, PostgresStore};
use hermes_sqlite::{SqliteConfig, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};

use crate::error::Error;

/// A store by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreName {
    Memory,
    Sqlite,
    Postgres,
}

impl StoreName {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// The servers of the stores that have one.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Servers {
    /// The address of a PostgreSQL database, in which schemas are made and dropped again.
    #[arg(long, value_name = "URL", env = "HERMES_TEST_POSTGRES_URL", hide_env_values = true)]
    postgres: Option<String>,
}

/// Where a store keeps what it is given, for the time of a measure.
#[derive(Debug)]
pub(crate) struct Place {
    name: StoreName,
    folder: PathBuf,
    /// The address, where the store is a server.
    url: String,
}

impl Place {
    /// A place for fresh stores of this name, below a folder or on a server.
    pub(crate) fn new(name: StoreName, folder: &Path, servers: &Servers) -> Result<Self, Error> {
        let url = match (name, &servers.postgres) {
            (StoreName::Postgres, None) => {
                let text = "the address of a PostgreSQL database has to be given by --postgres or HERMES_TEST_POSTGRES_URL";
                return Err(Error::Usage(text.to_owned()));
            }
            (StoreName::Postgres, Some(url)) => url.clone(),
            _ => String::new(),
        };
        Ok(Self { name, folder: folder.to_owned(), url })
    }

    pub(crate) const fn name(&self) -> StoreName {
        self.name
    }

    /// The file of a database.
    pub(crate) fn file(&self, database: &str) -> PathBuf {
        self.folder.join(format!("{database}.db"))
    }

    /// The schema of a database. It carries the process, so that two measures do not meet.
    pub(crate) fn schema(database: &str) -> String {
        format!("hermes_bench_{}_{database}", std::process::id())
    }

    /// A connection past the store.
    pub(crate) async fn postgres(&self) -> Result<PgConnection, Error> {
        Ok(PgConnection::connect(&self.url).await?)
    }

    /// A fresh store.
    pub(crate) async fn open(&self, database: &str) -> Result<Arc<dyn SessionStore>, Error> {
        Ok(match self.name {
            StoreName::Memory => Arc::new(InMemoryStore::new()),
            StoreName::Sqlite => {
                Arc::new(SqliteStore::with_config(SqliteConfig::new(self.file(database))).await?)
            }
            StoreName::Postgres => {
                let config = PostgresConfig::new(self.url.as_str()).with_schema(Self::schema(database));
                Arc::new(PostgresStore::with_config(config).await?)
            }
        })
    }

    /// How many bytes such a store has on disk; `None` for one that has none.
    pub(crate) async fn bytes(&self, database: &str) -> Result<Option<u64>, Error> {
        let bytes: i64 = match self.name {
            StoreName::Memory => return Ok(None),
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
                pages.saturating_mul(size)
            }
            StoreName::Postgres => {
                let mut connection = self.postgres().await?;
                let bytes = sqlx::query_scalar(
                    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
                     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                     WHERE n.nspname = $1 AND c.relkind = 'r'",
                )
                .bind(Self::schema(database))
                .fetch_one(&mut connection)
                .await?;
                connection.close().await?;
                bytes
            }
        };
        Ok(u64::try_from(bytes).ok())
    }

    /// Removes what was made on a server; files go with their folder.
    pub(crate) async fn clear(&self, database: &str) -> Result<(), Error> {
        if self.name == StoreName::Postgres {
            let mut connection = self.postgres().await?;
            let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", Self::schema(database));
            // The schema's name is made of a number and a name of this program.
            sqlx::query(AssertSqlSafe(drop)).execute(&mut connection).await?;
            connection.close().await?;
        }
        Ok(())
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
