//! What is known about a context.

use hermes_core::{ContextMetadata, Seq, SessionStore, WriteGuard};

use super::{create_with, log_of, stored, texts};
use crate::check::ok;
use crate::sample::{at, context, session};

/// SS16: the context metadata reads back equal, and nothing else moves.
pub async fn put_context_reads_back_equal(store: &dyn SessionStore) {
    let new = session("S");
    let log = create_with("SS16", store, &new, &texts(&["one", "two", "three"])).await;
    let mut expected = stored("SS16", store, &new.owner, new.id).await;
    expected.state.context = context(2);
    ok("SS16", store.put_context(&new.owner, new.id, &context(2), WriteGuard::unleased(at(99))).await);
    let got = stored("SS16", store, &new.owner, new.id).await;
    assert_eq!(got, expected, "SS16: the context, and neither updated nor anything else");
    assert_eq!(log_of("SS16", store, &new.owner, new.id).await, log, "SS16: no message changes");
}

/// SS16: putting replaces all of it, what is now empty included.
pub async fn put_context_replaces_all_of_it(store: &dyn SessionStore) {
    let new = session("S");
    create_with("SS16", store, &new, &texts(&["one", "two", "three"])).await;
    let later = ContextMetadata { sticky: vec![Seq::new(2)], ..ContextMetadata::default() };
    for (now, context) in (2..).zip([context(2), later, context(1), ContextMetadata::default()]) {
        ok("SS16", store.put_context(&new.owner, new.id, &context, WriteGuard::unleased(at(now))).await);
        assert_eq!(
            stored("SS16", store, &new.owner, new.id).await.state.context,
            context,
            "SS16: it is replaced"
        );
    }
}
