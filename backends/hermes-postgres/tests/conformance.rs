//! Every clause of every contract, on a server, in a schema of its own for each case.

#![expect(clippy::unwrap_used, clippy::panic, reason = "without a store there is nothing to test")]

use hermes_postgres::PostgresStore;
use hermes_testkit::Fresh;

#[path = "it/ground.rs"]
mod ground;

async fn fresh(url: String) -> Fresh<PostgresStore> {
    let ground = ground::Ground::new(&url);
    let store = PostgresStore::with_config(ground.config()).await;
    Fresh::guarded(store.unwrap(), ground)
}

hermes_testkit::session_store_suite!(requires "postgres", fresh);
hermes_testkit::lease_store_suite!(requires "postgres", fresh);
hermes_testkit::idempotency_store_suite!(requires "postgres", fresh);
hermes_testkit::artifact_store_suite!(requires "postgres", fresh);
hermes_testkit::state_store_suite!(requires "postgres", fresh);
hermes_testkit::episodic_store_suite!(requires "postgres", fresh);
