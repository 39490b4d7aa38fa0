use proptest::prelude::*;

use super::*;
use crate::given::given;
use crate::wire;

fn tools(id: &str) -> Vec<wire::WireTool> {
    let page = wire::tool_page(&given(id)["input"]).unwrap();
    assert!(page.odd.is_empty());
    page.tools
}

fn converted(id: &str, name: &str) -> Result<Value, String> {
    let tools = tools(id);
    input(tools.iter().find(|tool| tool.name == name).unwrap().input_schema.as_ref())
}

/// All keys and values that stand for `key` anywhere.
fn all<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if name == key {
                    found.push(field);
                }
                all(field, key, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| all(item, key, found)),
        _ => {}
    }
}

#[test]
fn g12_references_keep_their_definitions() {
    for name in ["create_order", "old_style"] {
        let schema = converted("g12", name).unwrap();
        let mut references = Vec::new();
        all(&schema, "$ref", &mut references);
        assert!(!references.is_empty());
        for reference in references {
            let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
            assert!(schema.pointer(pointer).is_some(), "{reference}");
        }
    }
    let order = converted("g12", "create_order").unwrap();
    assert_eq!(order.pointer("/properties/order/description"), Some(&json!("要创建的订单")));
    assert_eq!(order["additionalProperties"], json!(false));
    assert_eq!(order.pointer("/$defs/Mode/enum"), Some(&json!(["fast", "cheap"])));
    assert_eq!(converted("g12", "old_style").unwrap()["$schema"], json!(DRAFT_7));
}

#[test]
fn g13_odd_tops_are_mended_or_refused() {
    let case = given("g13");
    for tool in tools("g13") {
        let offered = case["expect"]["values"]["offered"]
            .as_array()
            .unwrap()
            .contains(&json!(format!("t_{}", tool.name)));
        match input(tool.input_schema.as_ref()) {
            Ok(schema) => {
                assert!(offered, "{} is not to be offered", tool.name);
                assert_eq!(schema["type"], json!("object"));
                assert!(schema["properties"].is_object());
            }
            Err(reason) => {
                assert!(!offered, "{}: {reason}", tool.name);
            }
        }
    }
    assert!(converted("g13", "f").unwrap_err().contains("\"array\""));
    assert!(converted("g13", "g").unwrap_err().contains("/properties/n has the type \"strng\""));
}

#[test]
fn g14_boolean_bounds_become_numbers() {
    let ttl = converted("g14", "set_ttl").unwrap();
    assert_eq!(
        ttl.pointer("/properties/ttl"),
        Some(&json!({ "type": "integer", "exclusiveMinimum": 0, "maximum": 86400 }))
    );
    let weight = converted("g14", "set_weight").unwrap();
    assert_eq!(weight.pointer("/properties/w"), Some(&json!({ "type": "number", "minimum": 0 })));
    assert!(converted("g14", "ping").is_ok());
}

#[test]
fn g08_what_null_means_is_left_alone() {
    let schema = given("g08")["input"]["tools"][0]["input_schema"].clone();
    let converted = input(Some(&schema)).unwrap();
    for field in ["scope", "owner", "after", "filters"] {
        assert_eq!(converted["properties"][field], schema["properties"][field]);
    }
}

#[test]
fn dialects_are_converted() {
    for (from, to) in [
        (json!(true), json!({ "type": "object", "properties": {} })),
        (json!({ "type": ["object", "null"] }), json!({ "type": "object", "properties": {} })),
        (json!({ "$schema": "https://example.com/mine" }), json!({ "type": "object", "properties": {} })),
        (
            json!({ "$schema": "http://json-schema.org/draft-04/schema#", "id": "urn:x", "type": "object", "properties": {
                "a": { "type": "number", "maximum": 1, "exclusiveMaximum": true },
                "b": { "type": "array", "items": [{ "type": "string" }], "additionalItems": false } } }),
            json!({ "$schema": DRAFT_7, "$id": "urn:x", "type": "object", "properties": {
                "a": { "type": "number", "exclusiveMaximum": 1 },
                "b": { "type": "array", "items": [{ "type": "string" }], "additionalItems": false } } }),
        ),
        (
            json!({ "type": "object", "properties": { "b": { "items": [{ "type": "string" }], "additionalItems": false } },
                "dependencies": { "b": ["c"], "c": { "minProperties": 2 } } }),
            json!({ "type": "object", "properties": { "b": { "prefixItems": [{ "type": "string" }], "items": false } },
                "dependentRequired": { "b": ["c"] }, "dependentSchemas": { "c": { "minProperties": 2 } } }),
        ),
        (
            json!({ "type": "object", "required": true, "properties": { "a": { "type": "string", "required": true }, "b": { "required": false } } }),
            json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string" }, "b": {} } }),
        ),
        (
            json!({ "type": "object", "$defs": { "D": {} }, "properties": {
                "a": { "type": "string", "nullable": true, "enum": ["x"] }, "b": { "$ref": "#/$defs/D", "nullable": true },
                "c": { "type": "string", "nullable": false }, "d": { "oneOf": [{ "type": "string" }], "nullable": true } } }),
            json!({ "type": "object", "$defs": { "D": {} }, "properties": {
                "a": { "type": ["string", "null"], "enum": ["x", null] }, "b": { "anyOf": [{ "$ref": "#/$defs/D" }, { "type": "null" }] },
                "c": { "type": "string" }, "d": { "oneOf": [{ "type": "string" }, { "type": "null" }] } } }),
        ),
        (
            json!({ "properties": { "description": { "description": "a\u{200b}b", "type": "string" } } }),
            json!({ "type": "object", "properties": { "description": { "description": "ab", "type": "string" } } }),
        ),
    ] {
        assert_eq!(input(Some(&from)).unwrap(), to, "{from}");
        assert_eq!(input(Some(&to)).unwrap(), to, "converting again changes nothing");
    }
    assert_eq!(input(None).unwrap(), json!({ "type": "object", "properties": {} }));
}

#[test]
fn what_cannot_be_used_says_why() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "not": inner }));
    let large = json!({ "type": "object", "const": "x".repeat(MAX_BYTES) });
    for (schema, reason) in [
        (json!("object"), "no object"),
        (json!(false), "no object"),
        (json!({ "type": "string" }), "\"string\""),
        (json!({ "type": [] }), "its top has the type []"),
        (json!({ "properties": [] }), "its top has properties, which is no object"),
        (json!({ "properties": { "a/b": 3 } }), "/properties/a~1b is no schema"),
        (json!({ "properties": { "a": { "enum": "x" } } }), "/properties/a has an enum"),
        (json!({ "properties": { "a": { "minimum": "1" } } }), "/properties/a has minimum"),
        (json!({ "properties": { "a": { "exclusiveMinimum": "1" } } }), "/properties/a has exclusiveMinimum"),
        (json!({ "properties": { "a": { "anyOf": {} } } }), "/properties/a has anyOf"),
        (json!({ "required": "a" }), "its top has a required"),
        (json!({ "properties": { "a": { "$ref": "#/$defs/A" } } }), "/properties/a refers to #/$defs/A"),
        (json!({ "properties": { "a": { "$ref": "https://example.com/a.json" } } }), "refers to https://"),
        (deep, "deeper"),
        (large, "larger"),
    ] {
        let error = input(Some(&schema)).unwrap_err();
        assert!(error.contains(reason), "{error} should say {reason}");
    }
}

#[test]
fn references_of_every_form_resolve() {
    for schema in [
        json!({ "$defs": { "A b": {} }, "properties": { "a": { "$ref": "#/$defs/A%20b" } } }),
        json!({ "$defs": { "N": { "$anchor": "n" } }, "properties": { "a": { "$ref": "#n" } } }),
        json!({ "$defs": { "N": { "$id": "n.json" } }, "properties": { "a": { "$ref": "n.json" } } }),
        json!({ "properties": { "child": { "$ref": "#" } } }),
    ] {
        assert!(input(Some(&schema)).is_ok(), "{schema}");
    }
}

fn any_schema() -> impl Strategy<Value = Value> {
    let keyword = prop::sample::select(vec![
        "type",
        "properties",
        "items",
        "anyOf",
        "$ref",
        "$schema",
        "required",
        "exclusiveMinimum",
        "minimum",
        "nullable",
        "dependencies",
        "enum",
        "additionalItems",
        "$defs",
        "description",
        "a",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::sample::select(vec!["object", "string", "#/$defs/a", "#", "", "\u{202e}x"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keyword.clone(), inner, 0..5).prop_map(|map| Value::Object(
                map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_comes_is_converted_for_good_or_refused(schema in any_schema()) {
        if let Ok(once) = input(Some(&schema)) {
            prop_assert_eq!(&once["type"], &json!("object"));
            prop_assert!(once["properties"].is_object());
            prop_assert_eq!(input(Some(&once)), Ok(once.clone()));
        }
    }
}
