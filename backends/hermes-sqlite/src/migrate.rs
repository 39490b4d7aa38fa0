//! The schema and its versions (B4, decision 11).

use std::fs::File;
use std::path::{Path, PathBuf};

use hermes_core::{Clock, StoreError, SystemClock};
use sqlx::migrate::{Migration, MigrationType};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, Executor, SqlSafeStr};

use crate::error::{BACKEND, Error};

/// Version, name and text of every schema change, in order. What was released is never edited.
const MIGRATIONS: &[(i64, &str, &str)] = &[(1, "init", include_str!("../migrations/0001_init.sql"))];

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS hermes_migration (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum BLOB NOT NULL,
    applied INTEGER NOT NULL
) STRICT";

/// Brings a database file up to date, one process at a time.
pub(crate) async fn file(options: &SqliteConnectOptions, path: &Path) -> Result<(), Error> {
    let mut conn = options.clone().create_if_missing(true).connect().await?;
    let done = bring_up_to_date(&mut conn, path).await;
    // Closed also after a refusal, so that nothing is left beside a database that was not touched.
    let closed = conn.close().await;
    let _lock = done?;
    Ok(closed?)
}

/// Gives the lock where there was something to do, to be held until the connection is closed.
async fn bring_up_to_date(conn: &mut SqliteConnection, path: &Path) -> Result<Option<File>, Error> {
    if pending(conn).await?.is_empty() && is_wal(conn).await? {
        return Ok(None);
    }
    let lock = lock(path).await?;
    // The switch to a write-ahead log cannot wait for other connections, which is why it happens under the lock, once; it
    // stays with the file. A database that must not be touched has been refused above.
    sqlx::query("PRAGMA journal_mode = WAL").execute(&mut *conn).await?;
    apply(conn).await?;
    Ok(Some(lock))
}

/// Applies what is missing, all or nothing.
pub(crate) async fn apply(conn: &mut SqliteConnection) -> Result<(), Error> {
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    for migration in pending(&mut tx).await? {
        tracing::info!(version = migration.version, name = %migration.description, "migrating the database");
        tx.execute(CREATE_TABLE).await?;
        sqlx::raw_sql(migration.sql).execute(&mut *tx).await?;
        sqlx::query("INSERT INTO hermes_migration (version, name, checksum, applied) VALUES (?, ?, ?, ?)")
            .bind(migration.version)
            .bind(&*migration.description)
            .bind(&*migration.checksum)
            .bind(SystemClock.now().as_microsecond())
            .execute(&mut *tx)
            .await?;
    }
    Ok(tx.commit().await?)
}

/// What has not been applied yet. Refuses a database that this program does not know.
async fn pending(conn: &mut SqliteConnection) -> Result<Vec<Migration>, Error> {
    let mut known: Vec<Migration> = MIGRATIONS
        .iter()
        .map(|&(version, name, sql)| {
            Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
        })
        .collect();
    let supported = known.iter().map(|migration| migration.version).max().unwrap_or_default();
    for (version, checksum) in applied(conn).await? {
        if version > supported {
            return Err(StoreError::NewerSchema { backend: BACKEND, found: version, supported }.into());
        }
        let same = |migration: &Migration| migration.version == version && *migration.checksum == *checksum;
        if !known.iter().any(same) {
            return Err(Error::damaged(
                "schema",
                format_args!(
                    "its version {version} is not the one of this program: it was made by another build"
                ),
            ));
        }
        known.retain(|migration| migration.version != version);
    }
    Ok(known)
}

/// Version and checksum of what was applied, in order.
async fn applied(conn: &mut SqliteConnection) -> Result<Vec<(i64, Vec<u8>)>, Error> {
    let there: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'hermes_migration')",
    )
    .fetch_one(&mut *conn)
    .await?;
    if !there {
        return Ok(Vec::new());
    }
    // The newest first, so that a newer schema is told from a changed one.
    let rows = sqlx::query_as("SELECT version, checksum FROM hermes_migration ORDER BY version DESC");
    Ok(rows.fetch_all(conn).await?)
}

async fn is_wal(conn: &mut SqliteConnection) -> Result<bool, Error> {
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(conn).await?;
    Ok(mode == "wal")
}

/// Locks a file beside the database, for as long as it is kept open; the operating system frees it when the process dies.
/// The file stays: removing it would let two processes lock two files of one name.
async fn lock(database: &Path) -> Result<File, Error> {
    let mut name = database.as_os_str().to_owned();
    name.push(".migrate-lock");
    let path = PathBuf::from(name);
    let file = path.clone();
    let locked = tokio::task::spawn_blocking(move || {
        let file = File::options().create(true).truncate(false).write(true).open(file)?;
        file.lock()?;
        Ok(file)
    });
    let locked = locked.await.unwrap_or_else(|stopped| Err(std::io::Error::other(stopped)));
    locked.map_err(|source| Error::Lock { path, source })
}
