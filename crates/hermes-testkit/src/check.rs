//! What the cases are written with: every complaint begins with the clause that is broken.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::join_all;
use hermes_core::{Cursor, Limit, Page, PageRequest, StoreError};
use tokio::sync::Barrier;

/// The value of a call that has to succeed.
#[track_caller]
pub(crate) fn ok<T, E: Debug>(clause: &str, result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{clause}: the call has to succeed, and failed with {error:?}"),
    }
}

/// The error of a call that has to fail in a certain way, or what a pattern took from it.
macro_rules! refused {
    ($clause:expr, $result:expr, $pattern:pat $(if $guard:expr)?) => {
        refused!($clause, $result, $pattern $(if $guard)? => ())
    };
    ($clause:expr, $result:expr, $pattern:pat $(if $guard:expr)? => $value:expr) => {
        match $result {
            Err($pattern) $(if $guard)? => $value,
            other => panic!("{}: the call has to fail with {}, and gave {other:?}", $clause, stringify!($pattern)),
        }
    };
}
pub(crate) use refused;

/// Walks a listing to its end, `limit` at a time, and gives all items in order.
///
/// Checks what holds of every page: at most `limit` items, none empty but the only one, and no cursor after the last.
pub(crate) async fn walk<T, F>(clause: &str, limit: usize, mut page: impl FnMut(PageRequest) -> F) -> Vec<T>
where
    F: Future<Output = Result<Page<T>, StoreError>>,
{
    let mut items = Vec::new();
    let mut cursor: Option<Cursor> = None;
    for number in 1.. {
        assert!(number <= 1_000, "{clause}: the listing does not end");
        let found = ok(clause, page(PageRequest { cursor: cursor.take(), limit: Limit::new(limit) }).await);
        assert!(
            found.items.len() <= limit,
            "{clause}: page {number} holds {} of at most {limit}",
            found.items.len()
        );
        assert!(
            number == 1 || !found.items.is_empty(),
            "{clause}: the page before an empty one has a cursor"
        );
        assert!(
            found.items.len() == limit || found.next.is_none(),
            "{clause}: page {number} holds {} of {limit} and is not the last",
            found.items.len()
        );
        items.extend(found.items);
        cursor = found.next;
        if cursor.is_none() {
            break;
        }
    }
    items
}

/// A cursor that no store makes.
pub(crate) fn strange_page() -> PageRequest {
    PageRequest { cursor: Some(Cursor::new("no store's cursor ¿%'\"")), limit: Limit::default() }
}

/// Runs `racers` tasks that all wait at one barrier and then go at once, and gives what each came to, in their order.
pub(crate) async fn race<T, F>(racers: usize, run: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(racers));
    let tasks: Vec<_> = (0..racers)
        .map(|racer| {
            let (barrier, run) = (Arc::clone(&barrier), run(racer));
            tokio::spawn(async move {
                barrier.wait().await;
                run.await
            })
        })
        .collect();
    join_all(tasks).await.into_iter().map(|task| task.expect("a racer does not stop")).collect()
}
