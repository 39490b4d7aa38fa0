//! The store: its connections, and how a call waits for its turn.

use std::future::Future;
use std::time::Duration;

use hermes_core::clock::later;
use hermes_core::{Clock, StoreError, SystemClock};
use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqliteSynchronous};
use sqlx::{ConnectOptions, Sqlite, Transaction};

use crate::config::{Durability, SqliteConfig};
use crate::error::{Error, Failed};
use crate::migrate;

/// How many rows a connection's thread may be ahead of the reader: a page of the greatest size and the row that says that there is more.
const ROWS_AHEAD: usize = 1_001;

/// Every store but the semantic one, in one SQLite database. Clones share its connections.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    writer: SqlitePool,
    readers: SqlitePool,
    patience: Duration,
}

impl SqliteStore {
    /// Opens the database at an address such as `sqlite://hermes.db` or `sqlite::memory:` with the default settings; makes it if it
    /// is not there and brings its schema up to date.
    ///
    /// # Errors
    /// Those of [`SqliteStore::with_config`], and [`StoreError::Invalid`] for what is no such address.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::with_config(SqliteConfig::from_url(url)?).await
    }

    /// Opens the database of a configuration; makes it if it is not there and brings its schema up to date (B4).
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`] for a database of a newer Hermes and [`StoreError::Corrupt`] for a file that is no SQLite database or is damaged,
    /// both of which are left as they are; a failure of the backend when the file cannot be opened.
    pub async fn with_config(config: SqliteConfig) -> Result<Self, StoreError> {
        let patience = config.busy_timeout();
        let open = || async {
            let store = Self::open(&config).await;
            store.map_err(|error| match &config.path {
                Some(path) => error.opening(path),
                None => error,
            })
        };
        retry("connect", patience, open).await
    }

    async fn open(config: &SqliteConfig) -> Result<Self, Error> {
        let patience = config.busy_timeout();
        // The pools give up later than SQLite itself does, so that a call waits for the reason it can name.
        let pool = PoolOptions::<Sqlite>::new()
            .acquire_timeout(patience.saturating_mul(2).saturating_add(Duration::from_secs(1)))
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None);
        let options = SqliteConnectOptions::new()
            .foreign_keys(true)
            .busy_timeout(patience)
            .synchronous(match config.durability {
                Durability::Normal => SqliteSynchronous::Normal,
                Durability::Full => SqliteSynchronous::Full,
            })
            // What was deleted is overwritten, not only unlinked (S10).
            .pragma("secure_delete", "on")
            // A whole page of a log goes to the reader without its thread waiting half-way.
            .row_buffer_size(ROWS_AHEAD)
            .disable_statement_logging();
        let Some(path) = config.file()? else {
            // Each connection in memory is a database of its own: one serves all, and is never let go.
            let only =
                pool.max_connections(1).min_connections(1).connect_with(options.in_memory(true)).await?;
            migrate::apply(&mut *only.acquire().await?).await?;
            return Ok(Self { writer: only.clone(), readers: only, patience });
        };
        let options = options.filename(path);
        migrate::file(&options, path).await?;
        let writer = pool.clone().max_connections(1).connect_with(options.clone()).await?;
        let readers =
            pool.max_connections(config.readers.max(1)).connect_lazy_with(options.pragma("query_only", "on"));
        Ok(Self { writer, readers, patience })
    }

    /// Closes all connections of all clones, after the calls under way; what was written moves into the database file itself.
    /// Calls that come later fail. A store that is only dropped loses nothing either.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// For single reads. Never used inside a transaction: in memory it is the same single connection.
    pub(crate) fn reads(&self) -> &SqlitePool {
        &self.readers
    }

    /// Begins a transaction that may write from the start: one that began as a reader could not wait for a writer in its way.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, Error> {
        Ok(self.writer.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// Runs an operation, again when another connection was in the way; each attempt is one transaction or one read.
    pub(crate) async fn run<T, F, Fut>(&self, op: &'static str, attempt: F) -> Result<T, StoreError>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, Error>>,
    {
        retry(op, self.patience, attempt).await
    }
}

/// The first wait between two attempts; it doubles up to [`LONGEST_PAUSE`]. SQLite itself has waited before.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(160);

async fn retry<T, F, Fut>(op: &'static str, patience: Duration, attempt: F) -> Result<T, StoreError>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<T, Error>>,
{
    let deadline = later(SystemClock.now(), patience);
    let mut pause = FIRST_PAUSE;
    loop {
        match attempt().await {
            Err(error) if error.is_busy() && SystemClock.now() < deadline => {
                tracing::debug!(op, %error, "the database is busy");
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
            }
            result => return result.map_err(|error| Failed { op, error }.into()),
        }
    }
}
