use serde_json::{Value, json};

use super::*;
use crate::given::given;
use crate::wire;

fn page(result: &Value) -> Vec<WireTool> {
    wire::tool_page(result).unwrap().tools
}

fn built(prefix: &str, settings: &Settings, result: &Value) -> Catalog {
    build(prefix, settings, page(result), Vec::new(), &BTreeSet::new()).unwrap()
}

fn names(catalog: &Catalog) -> Vec<String> {
    catalog.definitions.iter().map(|definition| definition.spec.name.clone()).collect()
}

#[test]
fn g13_one_odd_tool_costs_one_tool() {
    let case = given("g13");
    let catalog = built("t", &Settings::default(), &case["input"]);
    assert_eq!(json!(names(&catalog)), case["expect"]["values"]["offered"]);
    assert_eq!(
        json!(catalog.skipped.iter().map(|tool| &tool.name).collect::<Vec<_>>()),
        case["expect"]["values"]["skipped"]
    );
    for skipped in &catalog.skipped {
        assert!(skipped.reason.contains(&format!("schema of {} ", skipped.name)), "{}", skipped.reason);
    }
    assert_ne!(catalog.skipped[0].reason, catalog.skipped[1].reason);
}

#[test]
fn g15_long_names_are_short_distinct_stable_and_reversible() {
    let case = given("g15");
    let mut reversed = case["input"].clone();
    reversed["tools"].as_array_mut().unwrap().reverse();
    let settings = Settings::default();
    let catalog = built("billing", &settings, &case["input"]);
    assert_eq!(names(&catalog), names(&built("billing", &settings, &reversed)));
    let mut originals = BTreeSet::new();
    for definition in &catalog.definitions {
        let spec = &definition.spec;
        assert!(spec.name.len() <= 64 && spec.name.starts_with("billing_"), "{}", spec.name);
        assert!(spec.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'));
        let origin = spec.origin.as_ref().unwrap();
        assert_eq!((origin.source.as_str(), &origin.name), ("billing", &definition.tool));
        assert!(originals.insert(definition.tool.clone()));
    }
    for (name, length) in case["expect"]["values"]["original_lengths"].as_object().unwrap() {
        assert_eq!(json!(name.len()), *length);
        assert!(originals.contains(name));
    }
    assert_eq!(originals.len(), 3);
    assert!(names(&catalog).contains(&"billing_ping".to_owned()));
    // Another process gives the same names: they are part of stored sessions.
    assert_eq!(
        crate::namespace::expose(
            "billing",
            "generate_quarterly_reserved_capacity_utilisation_report_for_one_account"
        ),
        "billing_generate_quarterly_reserved_capacity_utilisat_e2e3e67c82"
    );
}

#[test]
fn hints_are_believed_only_of_a_trusted_server() {
    let tools = json!({ "tools": [
        { "name": "look", "annotations": { "readOnlyHint": true } },
        { "name": "set", "annotations": { "idempotentHint": true, "readOnlyHint": false } },
        { "name": "pay" },
    ] });
    let effects = |settings: &Settings| -> Vec<Effect> {
        built("s", settings, &tools).definitions.iter().map(|definition| definition.spec.effect).collect()
    };
    assert_eq!(effects(&Settings::default()), [Effect::SideEffect; 3]);
    let trusted = Settings { trust_annotations: true, ..Settings::default() };
    assert_eq!(effects(&trusted), [Effect::ReadOnly, Effect::SideEffect, Effect::Idempotent]);
    // What says that it only looks is never answered from the record of an earlier look.
    let keys: Vec<Option<KeyRule>> = built("s", &Settings::default(), &tools)
        .definitions
        .iter()
        .map(|definition| definition.spec.key.clone())
        .collect();
    assert_eq!(keys, [Some(KeyRule { scope: KeyScope::Call, arguments: None }), None, None]);
}

#[test]
fn contracts_say_where_they_come_from() {
    let tools = json!({ "tools": [{
        "name": "find", "title": "Find", "description": format!("Finds\u{200b} things{}", "!".repeat(10_000)),
        "inputSchema": { "type": "object" }, "outputSchema": { "type": "object", "properties": { "n": { "type": "integer" } } },
    }] });
    let catalog = built("shop", &Settings::default(), &tools);
    let spec = &catalog.definitions[0].spec;
    assert!(spec.description.starts_with("Finds things!"));
    assert!(spec.description.chars().count() <= clean::MAX_DESCRIPTION);
    assert_eq!(spec.unknown_fields, UnknownFields::AsSchema);
    assert_eq!(spec.groups, ["shop"]);
    assert_eq!(spec.timeout, Some(Settings::default().total_timeout));
    assert_eq!(spec.output_schema.as_ref().unwrap()["properties"]["n"]["type"], "integer");
}

#[test]
fn what_is_left_out_has_a_reason() {
    let tools = json!({ "tools": [{ "name": "a" }, { "name": "b" }, { "name": "a" }, { "name": "c" }, { "name": "d" }] });
    let settings = Settings {
        only: Some(["a", "b", "c"].map(str::to_owned).to_vec()),
        without: vec!["b".to_owned()],
        ..Settings::default()
    };
    let withheld = BTreeSet::from(["c".to_owned()]);
    let catalog =
        build("s", &settings, page(&tools), vec![("#5".to_owned(), "odd".to_owned())], &withheld).unwrap();
    assert_eq!(names(&catalog), ["s_a"]);
    let reasons: Vec<(&str, bool)> =
        [("b", "configuration"), ("a", "twice"), ("c", "changed"), ("d", "configuration"), ("#5", "odd")]
            .iter()
            .zip(&catalog.skipped)
            .map(|((name, part), skipped)| (*name, skipped.name == *name && skipped.reason.contains(part)))
            .collect();
    assert!(reasons.len() == 5 && reasons.iter().all(|(_, fits)| *fits), "{reasons:?} {:?}", catalog.skipped);
}

#[test]
fn a_collision_within_a_server_is_an_error() {
    let shortened = crate::namespace::expose("s", "x.y");
    let twin = shortened.strip_prefix("s_").unwrap();
    let tools = page(&json!({ "tools": [{ "name": "x.y" }, { "name": twin }] }));
    let error = build("s", &Settings::default(), tools, Vec::new(), &BTreeSet::new()).unwrap_err();
    assert!(matches!(error, Error::Collision { .. }));
}
