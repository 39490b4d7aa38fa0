use hermes_core::{CallContext, Effect, SessionId, Tokens, Tool as _, ToolError, ToolSpec};
use hermes_testkit::sample;
use serde_json::{Value, json};

use super::{Folding, SelectInput, Selection};
use crate::builtin::FindTools;
use crate::registry::ToolRegistry;

fn registry(tools: usize) -> ToolRegistry {
    let registry = ToolRegistry::new();
    let add = |spec: ToolSpec| {
        let spec = spec.effect(Effect::ReadOnly);
        registry
            .register(spec, |_: Value, _: CallContext| async { Ok::<Value, ToolError>(Value::Null) })
            .unwrap();
    };
    for n in 0..tools {
        add(ToolSpec::new(format!("filler_{n:03}"), format!("Does job number {n}")));
    }
    add(ToolSpec::new("get_weather", "Weather forecast of a city, 查询天气"));
    add(ToolSpec::new("send_email", "Send an email to a person").group("mail"));
    add(ToolSpec::new("book_table", "Reserve a table at a restaurant"));
    add(ToolSpec::new("now", "The time").always_on());
    registry
}

fn input<'a>(session: SessionId, intent: &'a str, used: &'a [String]) -> SelectInput<'a> {
    SelectInput { session, intent, used, window: Tokens::new(128_000), folding: Folding::No }
}

async fn names(registry: &ToolRegistry, selection: &mut Selection, input: &SelectInput<'_>) -> Vec<String> {
    registry.select(selection, input).await.iter().map(|spec| spec.name.clone()).collect()
}

#[tokio::test]
async fn few_tools_are_all_sent_and_small_windows_count() {
    let registry = registry(10);
    let (session, mut selection) = (SessionId::generate(), Selection::default());
    assert_eq!(names(&registry, &mut selection, &input(session, "hi", &[])).await.len(), 14);
    let small = SelectInput { window: Tokens::new(2_000), ..input(session, "weather", &[]) };
    let mut selection = Selection::default();
    let chosen = names(&registry, &mut selection, &small).await;
    assert!(chosen.contains(&"get_weather".to_owned()) && chosen.len() < 14, "{chosen:?}");
}

#[tokio::test]
async fn many_are_chosen_grow_by_what_is_clearly_wanted_and_shrink_only_when_folding() {
    let registry = registry(60);
    let (session, mut selection) = (SessionId::generate(), Selection::default());
    let first = names(&registry, &mut selection, &input(session, "what is the weather in Paris", &[])).await;
    assert_eq!(first, ["get_weather", "now"]);
    assert_eq!(
        names(&registry, &mut selection, &input(session, "and the weather tomorrow?", &[])).await,
        first
    );
    assert_eq!(selection.changes, 0);

    let grown = names(&registry, &mut selection, &input(session, "send an email to Li", &[])).await;
    assert_eq!(grown, ["get_weather", "now", "send_email"]);
    assert_eq!(names(&registry, &mut selection, &input(session, "thanks!", &[])).await, grown);
    assert_eq!(selection.changes, 1);

    let used = ["send_email".to_owned()];
    let folding = SelectInput { folding: Folding::Yes, ..input(session, "reserve a table", &used) };
    assert_eq!(names(&registry, &mut selection, &folding).await, ["now", "send_email", "book_table"]);
    assert_eq!(selection.changes, 2);
}

#[tokio::test]
async fn the_model_asks_for_more_and_gets_it() {
    let registry = registry(60);
    registry.add(FindTools::new(&registry)).unwrap();
    let context = sample::call_context();
    let mut selection = Selection::default();
    let first = names(&registry, &mut selection, &input(context.session, "天气", &[])).await;
    assert_eq!(first, ["find_tools", "get_weather", "now"]);
    let tool = registry.get("find_tools").unwrap();
    let found =
        tool.call(sample::json(r#"{"query":"write a mail","group":"mail"}"#), context.clone()).await.unwrap();
    assert_eq!(
        found.value,
        json!({ "tools": [{ "name": "send_email", "description": "Send an email to a person" }] })
    );
    let grown = names(&registry, &mut selection, &input(context.session, "天气", &[])).await;
    assert_eq!(grown, ["find_tools", "get_weather", "now", "send_email"]);
}

#[tokio::test]
async fn the_choice_keeps_to_its_tokens() {
    let mut config = crate::ToolConfig::default();
    // Three quarters of it are for the first choice: room for one.
    config.select.tokens = 80;
    let registry = ToolRegistry::with_config(config);
    for n in 0..30 {
        let spec = ToolSpec::new(format!("weather_{n}"), "weather".repeat(8)).effect(Effect::ReadOnly);
        registry
            .register(spec, |_: Value, _: CallContext| async { Ok::<Value, ToolError>(Value::Null) })
            .unwrap();
    }
    let mut selection = Selection::default();
    let chosen = names(&registry, &mut selection, &input(SessionId::generate(), "weather 3", &[])).await;
    assert_eq!(chosen.len(), 1, "{chosen:?}");
}

#[tokio::test]
async fn meaning_helps_words_and_neither_is_needed() {
    let plain = registry(60);
    let meaning = plain.clone().with_embedder(hermes_testkit::fake::HashEmbedder::new());
    for registry in [&plain, &meaning] {
        let found = registry.find("weather forecast of a city", 1).await;
        assert_eq!(found[0].name, "get_weather");
    }
    assert!(plain.find("?!", 5).await.is_empty());
}
