//! A future that is dropped has done its work wholly or not at all.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use hermes_core::SessionStore;
use hermes_postgres::PostgresStore;

use crate::fixture::{ground, guard, last, log, owner, session, texts, two};

/// Polls a future `times` times, with other tasks in between, and drops it.
async fn poll_and_drop<F: Future>(future: F, times: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..times {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

#[tokio::test]
async fn a_dropped_append_is_whole_or_absent() {
    let Some(ground) = ground() else { return };
    // One connection, so that each call gets the one that the call before has dropped.
    let store = PostgresStore::with_config(ground.config().with_connections(1)).await.unwrap();
    let id = session(&store).await;
    let mut finished = 0;
    for times in 0..120 {
        let expected = last(&store, id).await;
        let turn = two(format!("ask {expected}"), format!("answer {expected}"));
        let output = poll_and_drop(store.append(&owner(), id, expected, &turn, guard()), times * times).await;
        if let Some(stored) = output {
            assert_eq!(stored.unwrap().len(), 2);
            finished += 1;
        }
        // The connection is free again, and knows of no transaction.
        let expected = last(&store, id).await;
        match store.append(&owner(), id, expected, &two("next", "one"), guard()).await {
            Ok(stored) => assert_eq!(stored.len(), 2),
            // The dropped one was committed after we had looked.
            Err(hermes_core::StoreError::Conflict { actual, .. }) => assert_eq!(actual, expected.plus(2)),
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(finished > 0, "no append came to its end: poll more often");
    for turn in texts(&log(&store, id).await).chunks(2) {
        assert!(turn[0].replace("ask", "answer") == turn[1] || *turn == ["next", "one"], "{turn:?}");
    }
}
