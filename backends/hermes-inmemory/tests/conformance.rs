//! The reference implementation keeps every clause of every store's contract.

use hermes_inmemory::{InMemorySemanticStore, InMemoryStore};
use hermes_testkit::Fresh;

async fn make() -> Fresh<InMemoryStore> {
    Fresh::new(InMemoryStore::new())
}

hermes_testkit::session_store_suite!(make);
hermes_testkit::lease_store_suite!(make);
hermes_testkit::idempotency_store_suite!(make);
hermes_testkit::artifact_store_suite!(make);
hermes_testkit::state_store_suite!(make);
hermes_testkit::episodic_store_suite!(make);
hermes_testkit::semantic_store_suite!(|| async { Fresh::new(InMemorySemanticStore::new()) });
