//! The store: its connections, and how a call is tried again.

use std::future::Future;
use std::time::Duration;

use hermes_core::StoreError;
use sqlx::pool::PoolOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool};
use sqlx::{ConnectOptions, Connection, Postgres, Transaction};

use crate::config::{PostgresConfig, place};
use crate::error::{Error, Failed};
use crate::migrate;

/// Every store but the semantic one, in one PostgreSQL database. Clones share its connections.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    pool: PgPool,
}

impl PostgresStore {
    /// Connects to the database at an address such as `postgres://user:password@host/database` with the default settings, and brings
    /// its schema up to date.
    ///
    /// # Errors
    /// Those of [`PostgresStore::with_config`].
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::with_config(PostgresConfig::new(url)).await
    }

    /// Connects to the database of a configuration and brings its schema up to date (B4).
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for an address or a schema name that is none, and for a database that is not in UTF-8;
    /// [`StoreError::NewerSchema`] for a database of a newer Hermes, which is left as it is; a failure of the backend when no
    /// connection can be made.
    pub async fn with_config(config: PostgresConfig) -> Result<Self, StoreError> {
        let options = config.options()?;
        let wait = config.acquire_timeout();
        retry("connect", || async {
            let mut conn = open(&options, wait).await?;
            migrate::apply(&mut conn, &config.schema).await?;
            Ok(conn.close().await?)
        })
        .await?;
        let pool = PoolOptions::<Postgres>::new()
            .max_connections(config.connections.max(1))
            .acquire_timeout(wait)
            // One that was used a moment ago is taken without asking the server first.
            .test_before_acquire(false)
            .before_acquire(|conn, meta| {
                Box::pin(async move {
                    if meta.idle_for >= STALE {
                        conn.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(options);
        Ok(Self { pool })
    }

    /// Closes all connections of all clones, after the calls under way. Calls that come later fail. A store that is only
    /// dropped loses nothing either.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// For single reads, outside of transactions.
    pub(crate) fn reads(&self) -> &PgPool {
        &self.pool
    }

    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Postgres>, Error> {
        Ok(self.pool.begin().await?)
    }

    /// Runs an operation, again when another transaction was in the way; each attempt is one transaction or only reads.
    pub(crate) async fn run<T, F, Fut>(&self, op: &'static str, attempt: F) -> Result<T, StoreError>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, Error>>,
    {
        retry(op, attempt).await
    }
}

/// A connection that was idle for this long is tested before it is used: the server may have been started anew meanwhile.
const STALE: Duration = Duration::from_secs(1);

/// Makes the first connection, whose failure is told with the place; the pool would wait and say only that it has waited.
async fn open(options: &PgConnectOptions, wait: Duration) -> Result<PgConnection, Error> {
    let connected = match tokio::time::timeout(wait, options.connect()).await {
        Ok(connected) => connected,
        Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
    };
    connected.map_err(|source| Error::Connect { place: place(options), source })
}

/// How often an operation is tried before its caller hears that others were in the way.
const ATTEMPTS: u32 = 10;

/// The wait after the second attempt; it doubles up to [`LONGEST_PAUSE`]. After the first there is none.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(128);

async fn retry<T, F, Fut>(op: &'static str, attempt: F) -> Result<T, StoreError>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<T, Error>>,
{
    let mut pause = Duration::ZERO;
    for _ in 1..ATTEMPTS {
        match attempt().await {
            Err(error) if error.is_contention() => {
                tracing::debug!(op, %error, "another transaction was in the way");
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
            }
            result => return result.map_err(|error| Failed { op, error }.into()),
        }
    }
    attempt().await.map_err(|error| Failed { op, error }.into())
}
