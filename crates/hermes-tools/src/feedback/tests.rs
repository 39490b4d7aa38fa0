use std::time::Duration;

use hermes_core::{FailureKind, ToolOutcome};
use hermes_text::Language;
use insta::assert_snapshot;
use serde_json::json;

use super::{Unknown, Wording};
use crate::{ToolConfig, ToolRegistry, Verdict};
use hermes_core::{CallContext, ToolCall, ToolError, ToolSpec};
use serde_json::Value;

fn registry(language: Language, config: ToolConfig) -> ToolRegistry {
    let registry = ToolRegistry::with_config(config).with_language(language);
    let schema = json!({ "type": "object", "properties": {
        "city": { "type": "string", "description": "the city's name", "minLength": 2 },
        "unit": { "enum": ["celsius", "fahrenheit"] },
        "days": { "type": "integer", "minimum": 1, "maximum": 10 },
        "tags": { "type": "array", "items": { "type": "string" }, "maxItems": 2 },
        "at": { "anyOf": [{ "type": "string", "pattern": "^[0-9]{4}$" }, { "type": "integer" }] }
    }, "required": ["city"] });
    let spec =
        ToolSpec::new("get_weather", "").input_schema(schema).example(json!({ "city": "Paris", "days": 2 }));
    registry
        .register(spec, |_: Value, _: CallContext| async { Ok::<Value, ToolError>(Value::Null) })
        .unwrap();
    registry
}

fn feedback(registry: &ToolRegistry, arguments: &str) -> String {
    let call = ToolCall::new(hermes_core::CallId::generate(), "get_weather", arguments);
    match registry.check(&call).unwrap() {
        Verdict::Refused { feedback, .. } => feedback,
        Verdict::Fits { .. } => panic!("it fits"),
    }
}

const ALL_WRONG: &str = r#"{"citty": "Paris", "unit": "celcius", "days": "3", "tags": ["a", "b", 3], "at": "noon", "zip": 75001}"#;

#[test]
fn violations_in_english() {
    assert_snapshot!(feedback(&registry(Language::English, ToolConfig::default()), ALL_WRONG));
}

#[test]
fn violations_in_chinese() {
    assert_snapshot!(feedback(&registry(Language::Chinese, ToolConfig::default()), ALL_WRONG));
}

#[test]
fn faults_of_the_whole() {
    let mut said = String::new();
    for language in [Language::English, Language::Chinese] {
        for arguments in [
            "{\"city\": Paris}",
            "[1]",
            "null",
            r#"{"city":"P","days":0}"#,
            r#"{"city":"Paris","city":"Rome"}"#,
        ] {
            said.push_str(&feedback(&registry(language, ToolConfig::default()), arguments));
            said.push_str("\n\n");
        }
    }
    assert_snapshot!(said);
}

#[test]
fn everything_else_that_is_said() {
    let mut said = String::new();
    for wording in [Wording::new(Language::English), Wording::new(Language::Chinese)] {
        let outcomes: Vec<ToolOutcome> = vec![
            wording.timed_out("t", Duration::from_millis(300)),
            wording.unknown("t", &Unknown::TimedOut(Duration::from_secs(10))),
            wording.unknown("t", &Unknown::Lost("connection reset".to_owned())),
            wording.unknown("t", &Unknown::Cancelled),
            wording.unknown("t", &Unknown::Crashed),
            wording.unknown("t", &Unknown::Panicked),
            wording.panicked("t"),
            wording.denied("t", "over the limit"),
            wording.cancelled("t"),
            wording.in_progress("t"),
            wording.no_store("t"),
            wording.not_started("t", &"the database is locked"),
            wording.refused_by_tool("t", "no such table"),
            wording.unknown_tool("get_wether", &["get_weather", "get_weekday", "send_email"]),
            wording.unknown_tool("x", &["get_weather"]),
            wording.unknown_tool("x", &[]),
        ];
        for outcome in outcomes {
            let text = outcome.to_model_text();
            said.push_str(&format!("{:?}: {text}\n", outcome.failure_kind().unwrap()));
        }
        said.push_str(&wording.cut(120, 400, Some("artifact:1")));
        said.push_str(&wording.cut(120, 400, None));
        said.push_str(&wording.kept("log:7"));
        said.push_str(&wording.confirm_filled("t", "/party_size = 2"));
        said.push('\n');
    }
    assert_snapshot!(said);
}

#[test]
fn feedback_is_bounded_and_always_ends_in_the_request() {
    let fields: Vec<String> = (0..5_000).map(|n| format!("\"unknown_field_{n}\": {n}")).collect();
    let arguments = format!("{{{}}}", fields.join(","));
    for limit in [1, 60, 200, 500] {
        let config = ToolConfig { feedback_tokens: limit, ..ToolConfig::default() };
        let registry = registry(Language::English, config);
        let said = feedback(&registry, &arguments);
        assert!(said.ends_with("Correct this and call get_weather again."), "{said}");
        assert!(said.contains("more"), "{said}");
        // At least one violation is told, whatever the limit.
        assert!(registry.settings.count(&said) <= usize::try_from(limit).unwrap().max(150), "{said}");
    }
}

#[test]
fn a_schema_of_any_size_gives_a_line_of_bounded_length() {
    let long = |n: usize| format!("option_{n}_{}", "x".repeat(500));
    let options: Vec<String> = (0..500).map(long).collect();
    let fields: serde_json::Map<String, Value> = (0..500).map(|n| (long(n), json!({}))).collect();
    let mut properties = fields;
    properties.insert("pick".to_owned(), json!({ "enum": options }));
    let registry = ToolRegistry::new();
    let spec = ToolSpec::new("t", "").input_schema(json!({ "type": "object", "properties": properties }));
    let entry =
        registry.register(spec, |_: Value, _: CallContext| async { Ok::<Value, ToolError>(Value::Null) });
    // Beyond 256 KiB the schema itself is refused, so this one has half of that.
    assert!(entry.unwrap_err().to_string().contains("bytes"));
    let spec = ToolSpec::new("get_weather", "").input_schema(json!({ "type": "object", "properties": {
        "pick": { "enum": options[..200] }, long(1): {}, long(2): {}
    } }));
    registry
        .register(spec, |_: Value, _: CallContext| async { Ok::<Value, ToolError>(Value::Null) })
        .unwrap();
    let said = feedback(&registry, &json!({ "pick": "option", "other": 1 }).to_string());
    assert!(said.lines().all(|line| line.chars().count() <= 800) && said.len() < 3_000, "{said}");
}

#[test]
fn a_wrong_name_is_never_a_way_to_flood() {
    let names: Vec<String> = (0..64).map(|n| format!("tool_number_{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).chain(["get_weather"]).collect();
    let outcome = Wording::new(Language::English).unknown_tool(&"get_wether".repeat(50_000), &names);
    assert!(outcome.to_model_text().len() < 1_000);
    let outcome = Wording::new(Language::English).unknown_tool("get_wether", &names);
    assert_eq!(outcome.failure_kind(), Some(FailureKind::UnknownTool));
    assert!(
        outcome.to_model_text().contains(r#"There is no tool \"get_wether\". Did you mean get_weather?"#)
    );
}
