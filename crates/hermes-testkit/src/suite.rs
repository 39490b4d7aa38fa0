//! The macros that turn the lists of cases into named tests.
//!
//! Each takes what makes a [`Fresh`](crate::Fresh) store: an async closure or function. With `requires "name"` before it, the cases
//! need the [server](crate::server) of that name, and the closure gets its address:
//! ```
//! # use hermes_inmemory::InMemoryStore;
//! # use hermes_testkit::Fresh;
//! hermes_testkit::state_store_suite!(|| async { Fresh::new(InMemoryStore::new()) });
//!
//! mod on_a_server {
//!     # use hermes_inmemory::InMemoryStore;
//!     # use hermes_testkit::Fresh;
//!     hermes_testkit::state_store_suite!(requires "postgres", |url: String| async move {
//!         # let _ = url;
//!         Fresh::new(InMemoryStore::new()) // or a store in a new schema of the database at `url`
//!     });
//! }
//! ```
//! Every case becomes a test of its own, on a runtime with several threads. `through_arc` and `through_box` run some cases
//! again through `Arc<dyn Trait>` and `Box<dyn Trait>`, as applications hold their stores.

mod memory;
mod record;
mod service;
mod session;

/// Writes the tests of a suite. Not for use from outside.
#[doc(hidden)]
#[macro_export]
macro_rules! __suite {
    (
        $name:ident: $trait:ident;
        cases { $($in:tt $($case:ident),+;)+ }
        shared { $($shared_in:tt $($shared:ident),+;)+ }
        races { $($race_in:tt $($race:ident),+;)* }
        make $make:tt
    ) => {
        mod $name {
            #[allow(unused_imports, reason = "the constructor may name everything in full")]
            use super::*;

            $($($crate::__case! { plain $trait $in $case $make })+)+
            $($($crate::__case! { race $trait $race_in $race $make })+)*

            mod through_arc {
                #[allow(unused_imports, reason = "the constructor may name everything in full")]
                use super::*;

                $($($crate::__case! { arc $trait $shared_in $shared $make })+)+
            }

            mod through_box {
                #[allow(unused_imports, reason = "the constructor may name everything in full")]
                use super::*;

                $($($crate::__case! { boxed $trait $shared_in $shared $make })+)+
            }
        }
    };
}

/// Writes the test of a case. Not for use from outside.
#[doc(hidden)]
#[macro_export]
macro_rules! __case {
    ($form:ident $trait:ident [$($module:tt)+] $case:ident { requires $server:literal, $make:expr $(,)? }) => {
        #[test]
        fn $case() {
            let test = concat!(module_path!(), "::", stringify!($case));
            let Some(url) = $crate::server::url_for($server, test) else { return };
            $crate::fresh::block_on(async {
                let (_guard, store) = $crate::fresh::make_at(url, $make).await.into_parts();
                $crate::__run!($form $trait store, $($module)+::$case);
            });
        }
    };
    ($form:ident $trait:ident [$($module:tt)+] $case:ident { $make:expr $(,)? }) => {
        #[test]
        fn $case() {
            $crate::fresh::block_on(async {
                let (_guard, store) = $crate::fresh::make($make).await.into_parts();
                $crate::__run!($form $trait store, $($module)+::$case);
            });
        }
    };
}

/// Runs a case on a store held in one of four ways. Not for use from outside.
#[doc(hidden)]
#[macro_export]
macro_rules! __run {
    (plain $trait:ident $store:ident, $case:path) => {
        $case(&$store).await
    };
    (arc $trait:ident $store:ident, $case:path) => {
        let store: ::std::sync::Arc<dyn $crate::core::$trait> = ::std::sync::Arc::new($store);
        $case(&store).await
    };
    (boxed $trait:ident $store:ident, $case:path) => {
        let store: ::std::boxed::Box<dyn $crate::core::$trait> = ::std::boxed::Box::new($store);
        $case(&store).await
    };
    (race $trait:ident $store:ident, $case:path) => {
        $case(::std::sync::Arc::new($store)).await
    };
}
