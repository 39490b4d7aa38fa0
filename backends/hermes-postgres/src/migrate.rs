//! The schema and its versions (B4, decision 11).

use hermes_core::{Clock, StoreError, SystemClock};
use sqlx::migrate::{Migration, MigrationType};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor, SqlSafeStr};

use crate::error::{BACKEND, Error};

/// Version, name and text of every schema change, in order. What was released is never edited.
const MIGRATIONS: &[(i64, &str, &str)] = &[(1, "init", include_str!("../migrations/0001_init.sql"))];

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS hermes_migration (
    version bigint PRIMARY KEY,
    name text NOT NULL,
    checksum bytea NOT NULL,
    applied bigint NOT NULL
)";

/// Brings the schema up to date, all or nothing, one process at a time. `schema` has been checked to be a plain name.
pub(crate) async fn apply(conn: &mut PgConnection, schema: &str) -> Result<(), Error> {
    check_encoding(conn).await?;
    if pending(conn).await?.is_empty() {
        return Ok(());
    }
    let mut tx = conn.begin().await?;
    // Others may take long; a connection that is lost gives its lock back.
    tx.execute("SET LOCAL statement_timeout = 0").await?;
    // Locks are the database's, and the number is the schema's.
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('hermes_migration ' || $1, 0))")
        .bind(schema)
        .execute(&mut *tx)
        .await?;
    create_schema(&mut tx, schema).await?;
    for migration in pending(&mut tx).await? {
        tracing::info!(version = migration.version, name = %migration.description, "migrating the database");
        tx.execute(CREATE_TABLE).await?;
        sqlx::raw_sql(migration.sql).execute(&mut *tx).await?;
        sqlx::query(
            "INSERT INTO hermes_migration (version, name, checksum, applied) VALUES ($1, $2, $3, $4)",
        )
        .bind(migration.version)
        .bind(&*migration.description)
        .bind(&*migration.checksum)
        .bind(SystemClock.now().as_microsecond())
        .execute(&mut *tx)
        .await?;
    }
    Ok(tx.commit().await?)
}

/// Text in another encoding could not hold what people write.
async fn check_encoding(conn: &mut PgConnection) -> Result<(), Error> {
    let encoding: String =
        sqlx::query_scalar("SELECT current_setting('server_encoding')").fetch_one(conn).await?;
    if encoding == "UTF8" {
        return Ok(());
    }
    let reason = format!("its encoding is {encoding}: make one with ENCODING 'UTF8'");
    Err(StoreError::Invalid { what: "database", reason }.into())
}

/// A role that may not make schemas can be given one.
async fn create_schema(conn: &mut PgConnection, schema: &str) -> Result<(), Error> {
    let there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)")
        .bind(schema)
        .fetch_one(&mut *conn)
        .await?;
    if !there {
        conn.execute(AssertSqlSafe(format!("CREATE SCHEMA \"{schema}\""))).await?;
    }
    Ok(())
}

/// What has not been applied yet. Refuses a database that this program does not know.
async fn pending(conn: &mut PgConnection) -> Result<Vec<Migration>, Error> {
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

/// Version and checksum of what was applied.
async fn applied(conn: &mut PgConnection) -> Result<Vec<(i64, Vec<u8>)>, Error> {
    let there: bool = sqlx::query_scalar("SELECT to_regclass('hermes_migration') IS NOT NULL")
        .fetch_one(&mut *conn)
        .await?;
    if !there {
        return Ok(Vec::new());
    }
    // The newest first, so that a newer schema is told from a changed one.
    let rows = sqlx::query_as("SELECT version, checksum FROM hermes_migration ORDER BY version DESC");
    Ok(rows.fetch_all(conn).await?)
}
