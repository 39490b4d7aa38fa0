//! Whether a case passes on a store, and what it complains about.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

/// The complaint of a case, or `None` when it passes.
pub(crate) async fn complaint(case: impl Future<Output = ()>) -> Option<String> {
    let caught = AssertUnwindSafe(case).catch_unwind().await.err()?;
    let text = caught.downcast_ref::<String>().cloned();
    Some(
        text.or_else(|| caught.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .expect("a panic with a text"),
    )
}

/// Checks that a case fails, and that its complaint names the clause.
pub(crate) async fn breaks(clause: &str, case: impl Future<Output = ()>) {
    let text = complaint(case)
        .await
        .unwrap_or_else(|| panic!("a store that breaks {clause} passes the case for it"));
    let named = text.match_indices(clause).any(|(place, _)| {
        // SS1 is not named by SS13.
        !text[place + clause.len()..].starts_with(|c: char| c.is_ascii_digit())
    });
    assert!(named, "the complaint does not name {clause}: {text}");
}

/// Checks that a case passes.
pub(crate) async fn keeps(clause: &str, case: impl Future<Output = ()>) {
    if let Some(text) = complaint(case).await {
        panic!("the case for {clause} fails: {text}");
    }
}
