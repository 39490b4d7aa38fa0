//! What a backend's author supplies: a fresh, empty store for each case.

use std::any::Any;
use std::fmt::{self, Debug};
use std::future::Future;

/// A fresh, empty store, and what has to be kept until its case is over.
pub struct Fresh<S> {
    store: S,
    guard: Guard,
}

/// What is kept until a case is over; dropped after the store, inside the runtime.
#[must_use = "dropping the guard takes the store's ground away"]
pub struct Guard(#[expect(dead_code, reason = "it is only there to be dropped")] Box<dyn Any + Send>);

impl<S> Fresh<S> {
    /// A store that leaves nothing behind.
    #[must_use]
    pub fn new(store: S) -> Self {
        Self::guarded(store, ())
    }

    /// A store and what it stands on: a temporary folder, or something whose `Drop` removes a database.
    #[must_use]
    pub fn guarded(store: S, guard: impl Send + 'static) -> Self {
        Self { store, guard: Guard(Box::new(guard)) }
    }

    /// The store and its guard. Bind the guard first: what is bound last is dropped first.
    pub fn into_parts(self) -> (Guard, S) {
        (self.guard, self.store)
    }
}

impl<S: Debug> Debug for Fresh<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fresh").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

/// Runs a case to its end on a runtime of its own, with several threads.
///
/// # Panics
/// When the case does, or no runtime can be made.
pub fn block_on<F: Future>(case: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(4).enable_all().build().expect("a runtime can be made").block_on(case)
}

/// Makes a fresh store.
pub async fn make<S, F: Future<Output = Fresh<S>>>(make: impl FnOnce() -> F) -> Fresh<S> {
    make().await
}

/// Makes a fresh store on the server at `url`.
pub async fn make_at<S, F: Future<Output = Fresh<S>>>(
    url: String,
    make: impl FnOnce(String) -> F,
) -> Fresh<S> {
    make(url).await
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    struct Note(&'static str, Arc<Mutex<Vec<&'static str>>>);

    impl Drop for Note {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    #[test]
    fn the_guard_outlives_the_store() {
        let order = Arc::new(Mutex::new(Vec::new()));
        {
            let fresh = Fresh::guarded(Note("store", Arc::clone(&order)), Note("guard", Arc::clone(&order)));
            let (_guard, _store) = fresh.into_parts();
        }
        assert_eq!(*order.lock().unwrap(), ["store", "guard"]);
    }
}
