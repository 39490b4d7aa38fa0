use std::sync::Arc;

use hermes_core::{ArtifactStore as _, CallContext, ToolOutput};
use hermes_inmemory::InMemoryStore;
use hermes_testkit::sample;
use hermes_text::Language;
use serde_json::{Value, json};

use super::{shorten, shorten_error};
use crate::feedback::Wording;
use crate::registry::{Settings, ToolRegistry};

fn settings(tokens: u32, store: &InMemoryStore) -> Arc<Settings> {
    let config =
        crate::ToolConfig { result_tokens: tokens, feedback_tokens: tokens, ..crate::ToolConfig::default() };
    ToolRegistry::with_config(config).with_artifacts(store.clone()).settings
}

fn context() -> CallContext {
    sample::call_context()
}

/// g34: head and tail are whole characters of the original at every limit, the handle gives the original back, and the marker says
/// how much is missing.
#[tokio::test]
async fn g34_no_limit_breaks_a_character() {
    let texts =
        ["始🌏".repeat(6_000), "👨\u{200d}👩\u{200d}👧\u{200d}👦".repeat(2_000), "시간 é→".repeat(5_000)];
    let store = InMemoryStore::new();
    let context = context();
    for text in &texts {
        for limit in (0..=64).chain([2_000]) {
            let settings = settings(limit, &store);
            let wording = Wording::new(Language::Chinese);
            let short = shorten(
                &settings,
                wording,
                "t",
                &context,
                &ToolOutput::text(text.clone()),
                usize::try_from(limit).unwrap(),
            )
            .await;
            let shown = short.value.as_str().unwrap();
            assert!(short.truncated && !shown.contains('\u{fffd}'));
            let quoted = Value::from(shown).to_string();
            assert!(
                settings.count(&quoted[1..quoted.len() - 1]) <= usize::try_from(limit).unwrap(),
                "{limit}"
            );
            let (head, tail) = shown.split_once("\n[……").map_or((shown, ""), |(head, rest)| {
                let (marker, tail) = rest.split_once("……]\n").unwrap();
                assert!(marker.contains(&text.chars().count().to_string()));
                (head, tail)
            });
            assert!(text.starts_with(head) && text.ends_with(tail));
            let whole = store
                .read(&context.owner, context.session, short.artifact.unwrap(), 0, usize::MAX)
                .await
                .unwrap();
            assert_eq!(whole, text.as_bytes());
            assert!(settings.count(&shorten_error(&settings, text)) <= usize::try_from(limit).unwrap());
        }
    }
}

#[tokio::test]
async fn what_fits_stays_and_a_long_raw_form_is_named() {
    let store = InMemoryStore::new();
    let settings = settings(40, &store);
    let wording = Wording::new(Language::English);
    let small = shorten(&settings, wording, "t", &context(), &json!({ "n": 1 }).into(), 40).await;
    assert_eq!((small.value, small.truncated, small.artifact), (json!({ "n": 1 }), false, None));

    let cleaned = ToolOutput { raw: Some("<b>sunny</b>".to_owned()), ..ToolOutput::text("sunny") };
    let cleaned = shorten(&settings, wording, "t", &context(), &cleaned, 40).await;
    assert_eq!((cleaned.value, cleaned.truncated), (json!("sunny"), false));
    assert!(cleaned.artifact.is_some());

    let summary = ToolOutput { raw: Some("word ".repeat(500)), ..ToolOutput::text("a summary") };
    let summary = shorten(&settings, wording, "t", &context(), &summary, 40).await;
    let text = summary.value.as_str().unwrap();
    assert!(
        text.starts_with("a summary\n[") && text.contains(&format!("artifact:{}", summary.artifact.unwrap())),
        "{text}"
    );
    assert!(summary.truncated);
}

#[tokio::test]
async fn without_a_store_the_preview_says_that_the_whole_is_gone() {
    let config = crate::ToolConfig { result_tokens: 100, ..crate::ToolConfig::default() };
    let settings = ToolRegistry::with_config(config).settings;
    let long = ToolOutput::text("line\n".repeat(1_000));
    let short = shorten(&settings, Wording::new(Language::English), "t", &context(), &long, 100).await;
    assert!(
        short
            .value
            .as_str()
            .unwrap()
            .contains("of 5000 characters left out by Hermes; the whole was not kept")
    );
}
