use serde_json::{Value, json};

use super::{check, closed};

fn accepts(schema: &Value, value: &Value) -> bool {
    jsonschema::options().build(&closed(schema)).unwrap().is_valid(value)
}

#[test]
fn references_are_local_end_and_stay_small() {
    let good = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/Node" }, "$ref": { "type": "string" } },
        "$defs": { "Node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/Node" } } } } });
    assert!(check(&good).is_ok());
    let tree = json!({ "type": "object", "properties": { "child": { "$ref": "#" } } });
    assert!(check(&tree).is_ok());
    for (schema, word) in [
        (json!({ "properties": { "a": { "$ref": "https://example.test/x.json" } } }), "not local"),
        (json!({ "properties": { "a": { "$ref": "file:///etc/passwd" } } }), "not local"),
        (json!({ "properties": { "a": { "$ref": "#/$defs/None" } } }), "leads nowhere"),
        (json!({ "properties": { "a": { "$dynamicRef": "#x" } } }), "not supported"),
        (json!({ "allOf": [{ "$ref": "#" }] }), "without end"),
        (
            json!({ "$defs": { "A": { "anyOf": [{ "$ref": "#/$defs/B" }] }, "B": { "$ref": "#/$defs/A" } }, "$ref": "#/$defs/A" }),
            "without end",
        ),
    ] {
        let fault = check(&schema).unwrap_err();
        assert!(fault.reason.contains(word), "{fault:?}");
    }
    // Each definition uses the next one twice: small to write, enormous to follow.
    let mut defs = serde_json::Map::new();
    for n in 0..40 {
        let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        defs.insert(format!("d{n}"), json!({ "type": "object", "properties": { "a": next, "b": next } }));
    }
    defs.insert("d40".to_owned(), json!({}));
    let bomb = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": defs });
    assert!(check(&bomb).unwrap_err().reason.contains("unfold"));
    let deep = (0..70).fold(json!({}), |inner, _| json!({ "not": inner }));
    assert!(check(&deep).unwrap_err().reason.contains("nested"));
    assert!(check(&json!({ "description": "x".repeat(300_000) })).unwrap_err().reason.contains("bytes"));
}

#[test]
fn silence_forbids_fields_where_an_object_names_some() {
    let schema = json!({ "type": "object",
        "properties": {
            "order": { "$ref": "#/$defs/Order" },
            "open": { "type": "object", "properties": { "a": {} }, "additionalProperties": true },
            "map": { "type": "object" },
            "list": { "type": "array", "items": { "type": "object", "properties": { "t": {} } } },
            "one": { "anyOf": [{ "$ref": "#/$defs/Order" }, { "type": "null" }] }
        },
        "$defs": { "Order": { "type": "object", "properties": { "id": {} } } } });
    assert!(accepts(
        &schema,
        &json!({ "order": { "id": 1 }, "open": { "z": 1 }, "map": { "z": 1 }, "list": [{ "t": 1 }], "one": null })
    ));
    for wrong in [
        json!({ "x": 1 }),
        json!({ "order": { "x": 1 } }),
        json!({ "list": [{ "x": 1 }] }),
        json!({ "one": { "x": 1 } }),
    ] {
        assert!(!accepts(&schema, &wrong), "{wrong}");
    }
    assert!(!accepts(&json!({ "type": "object" }), &json!({ "x": 1 })));
}

#[test]
fn fields_spread_over_several_schemas_are_counted_together() {
    let schema = json!({ "type": "object", "properties": { "a": {} },
        "allOf": [{ "$ref": "#/$defs/Base" }, { "type": "object", "properties": { "c": {} } }],
        "$defs": { "Base": { "type": "object", "properties": { "b": {} } } } });
    assert!(accepts(&schema, &json!({ "a": 1, "b": 1, "c": 1 })));
    assert!(!accepts(&schema, &json!({ "d": 1 })));
    // Draft 7 has no keyword for that: better open than wrong.
    let mut old = schema;
    old["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    assert!(accepts(&old, &json!({ "a": 1, "b": 1, "d": 1 })));
    let conditional = json!({ "type": "object", "properties": { "kind": {} },
        "if": { "properties": { "kind": { "const": "x" } } }, "then": { "properties": { "only": {} } } });
    assert!(accepts(&conditional, &json!({ "kind": "x", "only": 1 })));
    assert!(!accepts(&conditional, &json!({ "kind": "y", "only": 1 })));
    let variants = json!({ "type": "object", "properties": { "v": { "oneOf": [
        { "type": "object", "properties": { "a": {} }, "required": ["a"] }, { "type": "object", "properties": { "b": {} }, "required": ["b"] }
    ] } } });
    assert!(accepts(&variants, &json!({ "v": { "a": 1 } })));
    assert!(!accepts(&variants, &json!({ "v": { "a": 1, "z": 1 } })));
}
