//! Every clause of every contract, on a database file and in memory.

#![expect(clippy::expect_used, reason = "without a store there is nothing to test")]

use hermes_sqlite::{SqliteConfig, SqliteStore};
use hermes_testkit::Fresh;

async fn fresh() -> Fresh<SqliteStore> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let store = SqliteStore::with_config(SqliteConfig::new(folder.path().join("hermes.db"))).await;
    Fresh::guarded(store.expect("the database can be made"), folder)
}

hermes_testkit::session_store_suite!(fresh);
hermes_testkit::lease_store_suite!(fresh);
hermes_testkit::idempotency_store_suite!(fresh);
hermes_testkit::artifact_store_suite!(fresh);
hermes_testkit::state_store_suite!(fresh);
hermes_testkit::episodic_store_suite!(fresh);

mod in_memory {
    use super::*;

    async fn fresh() -> Fresh<SqliteStore> {
        Fresh::new(SqliteStore::connect("sqlite::memory:").await.expect("there is memory"))
    }

    hermes_testkit::session_store_suite!(fresh);
    hermes_testkit::episodic_store_suite!(fresh);
}
