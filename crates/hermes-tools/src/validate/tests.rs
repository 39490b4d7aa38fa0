use std::sync::Arc;

use hermes_core::{CallContext, ToolError, ToolSpec};
use serde_json::{Value, json};

use super::shown::shown;
use super::{Problem, Violation, fillable, violations};
use crate::contract::{Entry, compile};
use crate::func::FnTool;

fn entry(schema: Value) -> Entry {
    let spec = ToolSpec::new("t", "").input_schema(schema);
    let tool = FnTool::new(spec, |_: Value, _: CallContext| async { Ok::<Value, ToolError>(Value::Null) });
    compile(Arc::new(tool), None).unwrap()
}

fn pointers(found: &[Violation]) -> Vec<&str> {
    found.iter().map(|violation| violation.pointer.as_str()).collect()
}

#[test]
fn all_violations_are_found_at_once_and_slips_are_recognised() {
    let entry = entry(json!({ "type": "object", "properties": {
        "city": { "type": "string", "description": "the city's name" },
        "unit": { "enum": ["celsius", "fahrenheit"] },
        "days": { "type": "integer", "minimum": 1, "maximum": 10 },
        "a/b": { "type": "boolean" }
    }, "required": ["city"] }));
    let found = violations(&entry, &json!({ "citty": "Paris", "unit": "celcius", "days": "3", "a/b": 1 }));
    assert_eq!(pointers(&found), ["/a~1b", "/citty", "/city", "/days", "/unit"]);
    assert!(
        matches!(&found[1].problem, Problem::Unknown { nearest: Some(nearest), .. } if nearest == "city")
    );
    assert_eq!(
        found[2].problem,
        Problem::Missing {
            expected: "string (the city's name)".to_owned(),
            written_as: Some("citty".to_owned())
        }
    );
    assert_eq!(
        found[3].problem,
        Problem::WrongType { expected: vec!["integer".to_owned()], got: "string", shown: "\"3\"".to_owned() }
    );
    assert!(
        matches!(&found[4].problem, Problem::NotAllowed { nearest: Some(nearest), .. } if nearest == "\"celsius\"")
    );
}

#[test]
fn references_and_alternatives_are_followed_to_what_is_wrong() {
    let entry = entry(json!({ "type": "object", "properties": {
        "order": { "$ref": "#/$defs/Order" },
        "shape": { "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "circle" }, "r": { "type": "number" } }, "required": ["kind", "r"] },
            { "type": "object", "properties": { "kind": { "const": "box" }, "w": { "type": "number" } }, "required": ["kind", "w"] }
        ] },
        "id": { "anyOf": [{ "type": "string" }, { "type": "integer" }] }
    }, "$defs": {
        "Order": { "type": "object", "properties": { "id": { "type": "integer" }, "mode": { "$ref": "#/$defs/Mode" } }, "required": ["id"] },
        "Mode": { "type": "string", "enum": ["fast", "cheap"] }
    } }));
    let check = |value: Value| violations(&entry, &value);
    assert_eq!(pointers(&check(json!({ "order": { "id": 3, "mode": "slow" } }))), ["/order/mode"]);
    assert_eq!(pointers(&check(json!({ "order": 3 }))), ["/order"]);
    assert_eq!(pointers(&check(json!({ "order": { "id": 3, "x": 1 } }))), ["/order/x"]);
    assert_eq!(pointers(&check(json!({ "order": {} }))), ["/order/id"]);
    let shape = check(json!({ "shape": { "kind": "circle", "r": "2" } }));
    assert_eq!(pointers(&shape), ["/shape/r"]);
    let id = check(json!({ "id": true }));
    assert_eq!(
        id[0].problem,
        Problem::WrongType {
            expected: vec!["string".to_owned(), "integer".to_owned()],
            got: "boolean",
            shown: "true".to_owned()
        }
    );
}

#[test]
fn shown_values_are_short_and_hold_no_secret() {
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let entry = entry(json!({ "type": "object", "properties": {
        "n": { "type": "integer" }, "password": { "type": "integer" }, "pin": { "type": "integer", "writeOnly": true }
    } }));
    let found = violations(&entry, &json!({ "n": key, "password": "hunter22x", "pin": "4821" }));
    let text = format!("{found:?}");
    for secret in [key, "hunter22x", "4821"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(shown("a", &json!("长".repeat(10_000))).chars().count() <= 60);
    let wide = (0..128).fold(json!(1), |inner, _| {
        json!([inner, inner.clone()]).as_array().map(|items| json!(items[..1].to_vec())).unwrap()
    });
    assert!(shown("a", &wide).chars().count() <= 60);
}

#[test]
fn hints_are_found_where_the_missing_field_is() {
    let entry = entry(json!({ "type": "object", "properties": {
        "party_size": { "type": "integer", "x-hermes-fill": "party size" },
        "guest": { "type": "object", "properties": { "name": { "$ref": "#/$defs/Name" } }, "required": ["name"] },
        "date": { "type": "string" }
    }, "required": ["party_size", "date"], "$defs": { "Name": { "type": "string", "x-hermes-fill": "name" } } }));
    let found = fillable(&entry, &json!({ "guest": {} }));
    let mut places: Vec<(&str, &str)> =
        found.iter().map(|missing| (missing.pointer.as_str(), missing.hint.as_str())).collect();
    places.sort_unstable();
    assert_eq!(places, [("/guest/name", "name"), ("/party_size", "party size")]);
}
