//! The store that fails when it is told to.

use hermes_core::{Clock as _, SessionStore, StateStore, StoreError, WriteGuard};
use hermes_inmemory::InMemoryStore;
use hermes_testkit::fake::{FailingStore, Fault, ManualClock};
use hermes_testkit::sample;

fn failure(result: Result<impl std::fmt::Debug, StoreError>) -> (bool, &'static str) {
    match result {
        Err(StoreError::Backend { transient, op, .. }) => (transient, op),
        other => panic!("the call has to fail, and gave {other:?}"),
    }
}

#[tokio::test]
async fn it_fails_at_the_call_it_was_told_to() {
    let store = FailingStore::new(InMemoryStore::new());
    let get = async || StateStore::get(&store, &sample::owner(), &sample::state_key("k")).await;
    store.fail_at(2, Fault::Transient);
    get().await.expect("the first call");
    assert_eq!(failure(get().await), (true, "StateStore::get"));
    get().await.expect("the third call");

    store.fail_call("SessionStore::create", 1, Fault::Permanent);
    get().await.expect("another method");
    let session = sample::session("S");
    assert_eq!(failure(store.create(&session).await), (false, "SessionStore::create"));
    assert!(
        SessionStore::get(store.inner(), &session.owner, session.id).await.expect("it is read").is_none(),
        "nothing has happened"
    );
    store.create(&session).await.expect("the second call");

    store.fail_always(Fault::Transient);
    failure(get().await);
    failure(get().await);
    store.heal();
    get().await.expect("healed");
    let calls = store.calls();
    assert_eq!((calls.len(), calls[4]), (9, "SessionStore::create"));
}

#[tokio::test]
async fn an_answer_can_be_lost_after_the_deed() {
    let store = FailingStore::new(InMemoryStore::new());
    let session = sample::session("Before");
    store.create(&session).await.expect("it is made");
    store.fail_call("SessionStore::rename", 1, Fault::AnswerLost);
    let guard = WriteGuard::unleased(ManualClock::default().now());
    failure(store.rename(&session.owner, session.id, "After", guard).await);
    let title = SessionStore::get(store.inner(), &session.owner, session.id)
        .await
        .expect("it is read")
        .map(|stored| stored.record.title);
    assert_eq!(title.as_deref(), Some("After"));
}

/// A decorator that is idle keeps every clause of what it wraps.
mod idle {
    use super::{FailingStore, InMemoryStore};
    use hermes_inmemory::InMemorySemanticStore;
    use hermes_testkit::Fresh;

    async fn make() -> Fresh<FailingStore<InMemoryStore>> {
        Fresh::new(FailingStore::new(InMemoryStore::new()))
    }

    hermes_testkit::session_store_suite!(make);
    hermes_testkit::lease_store_suite!(make);
    hermes_testkit::idempotency_store_suite!(make);
    hermes_testkit::artifact_store_suite!(make);
    hermes_testkit::state_store_suite!(make);
    hermes_testkit::episodic_store_suite!(make);
    hermes_testkit::semantic_store_suite!(|| async {
        Fresh::new(FailingStore::new(InMemorySemanticStore::new()))
    });
}
