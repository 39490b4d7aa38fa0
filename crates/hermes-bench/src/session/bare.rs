//! The floor: the same inserts in a bare loop, with a table and a connection of its own.

use hermes_core::NewMessage;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, SqliteConnection};

use crate::error::Error;
use crate::store::{Place, StoreName};

/// A message as a row.
#[derive(Debug)]
pub(crate) struct Row {
    body: String,
    terms: Vec<String>,
}

/// The rows of a step.
pub(crate) fn rows(step: &[NewMessage]) -> Result<Vec<Row>, Error> {
    step.iter()
        .map(|message| {
            let terms = hermes_text::index_terms(&message.body.search_text());
            Ok(Row { body: serde_json::to_string(&message.body)?, terms })
        })
        .collect()
}

/// A bare table.
#[derive(Debug)]
pub(crate) enum Bare {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Bare {
    /// A fresh table of its own in the database of this name; `None` where there is nothing to insert into.
    pub(crate) async fn new(place: &Place, database: &str) -> Result<Option<Self>, Error> {
        match place.name() {
            StoreName::Memory => Ok(None),
            StoreName::Sqlite => {
                let mut connection = SqliteConnectOptions::new()
                    .filename(place.file(database))
                    .create_if_missing(true)
                    .journal_mode(SqliteJournalMode::Wal)
                    .synchronous(SqliteSynchronous::Full)
                    .disable_statement_logging()
                    .connect()
                    .await?;
                for sql in [
                    "CREATE TABLE entry (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT",
                    "CREATE TABLE conversation (id INTEGER PRIMARY KEY, last INTEGER NOT NULL) STRICT",
                    "INSERT INTO conversation (id, last) VALUES (1, 0)",
                    "CREATE VIRTUAL TABLE term USING fts5 (terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')",
                ] {
                    sqlx::query(sql).execute(&mut connection).await?;
                }
                Ok(Some(Self::Sqlite(connection)))
            }
            StoreName::Postgres => {
                let mut connection = place.postgres().await?;
                let schema = Place::schema(database);
                for sql in [
                    format!("CREATE SCHEMA {schema}"),
                    format!("SET search_path TO {schema}"),
                    "CREATE TABLE entry (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL)".to_owned(),
                    "CREATE TABLE found (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL, terms text[] NOT NULL)".to_owned(),
                    "CREATE INDEX ON found USING gin (terms)".to_owned(),
                    "CREATE TABLE conversation (id bigint PRIMARY KEY, last bigint NOT NULL)".to_owned(),
                    "INSERT INTO conversation (id, last) VALUES (1, 0)".to_owned(),
                ] {
                    // The schema's name is made of a number and a name of this program.
                    sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await?;
                }
                Ok(Some(Self::Postgres(connection)))
            }
        }
    }

    /// Inserts the rows in one transaction.
    pub(crate) async fn append(&mut self, rows: &[Row]) -> Result<(), Error> {
        match self {
            Self::Sqlite(connection) => {
                let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
                for row in rows {
                    sqlx::query("INSERT INTO entry (body) VALUES (?)")
                        .bind(&row.body)
                        .execute(&mut *tx)
                        .await?;
                }
                tx.commit().await?;
            }
            Self::Postgres(connection) => {
                let mut tx = connection.begin().await?;
                for row in rows {
                    sqlx::query("INSERT INTO entry (body) VALUES ($1)")
                        .bind(&row.body)
                        .execute(&mut *tx)
                        .await?;
                }
                tx.commit().await?;
            }
        }
        Ok(())
    }

    /// The same with the terms of each row and the conversation's last place.
    pub(crate) async fn append_indexed(&mut self, rows: &[Row]) -> Result<(), Error> {
        match self {
            Self::Sqlite(connection) => {
                let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
                for row in rows {
                    let id = sqlx::query("INSERT INTO entry (body) VALUES (?)")
                        .bind(&row.body)
                        .execute(&mut *tx)
                        .await?
                        .last_insert_rowid();
                    if !row.terms.is_empty() {
                        sqlx::query("INSERT INTO term (rowid, terms) VALUES (?, ?)")
                            .bind(id)
                            .bind(row.terms.join(" "))
                            .execute(&mut *tx)
                            .await?;
                    }
                }
                sqlx::query("UPDATE conversation SET last = last + 1 WHERE id = 1").execute(&mut *tx).await?;
                tx.commit().await?;
            }
            Self::Postgres(connection) => {
                let mut tx = connection.begin().await?;
                for row in rows {
                    sqlx::query("INSERT INTO found (body, terms) VALUES ($1, $2)")
                        .bind(&row.body)
                        .bind(&row.terms)
                        .execute(&mut *tx)
                        .await?;
                }
                sqlx::query("UPDATE conversation SET last = last + 1 WHERE id = 1").execute(&mut *tx).await?;
                tx.commit().await?;
            }
        }
        Ok(())
    }

    /// Ends it.
    pub(crate) async fn close(self) -> Result<(), Error> {
        match self {
            Self::Sqlite(connection) => connection.close().await?,
            Self::Postgres(connection) => connection.close().await?,
        }
        Ok(())
    }
}
