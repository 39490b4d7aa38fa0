//! What a test stands on: a schema of its own, removed at the end.

use hermes_postgres::PostgresConfig;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// A schema on the server, which the store makes and this drops.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) url: String,
    pub(crate) schema: String,
}

impl Ground {
    pub(crate) fn new(url: &str) -> Self {
        let schema = format!("hermes_test_{}", uuid::Uuid::now_v7().simple());
        Self { url: url.to_owned(), schema }
    }

    /// The server has a hundred connections for all tests that run at the same time.
    pub(crate) fn config(&self) -> PostgresConfig {
        PostgresConfig::new(&self.url).with_schema(&self.schema).with_connections(3)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
        let url = self.url.clone();
        // A runtime of its own: this one may be the test's, and about to end.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut conn = PgConnection::connect(&url).await.unwrap();
                conn.execute(AssertSqlSafe(sql)).await.unwrap();
                conn.close().await.unwrap();
            });
        });
        if dropped.join().is_err() && !std::thread::panicking() {
            panic!("the schema {} is left", self.schema);
        }
    }
}
