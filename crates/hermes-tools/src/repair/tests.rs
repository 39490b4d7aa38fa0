use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Read, Repaired, mend_values, parse, read_repaired, read_text};

fn validator(schema: &Value) -> Validator {
    jsonschema::options().build(schema).unwrap()
}

fn mended(schema: &Value, text: &str) -> Read {
    mend_values(&validator(schema), read_repaired(text).unwrap())
}

#[test]
fn the_syntax_of_the_whole_is_mended() {
    let fenced = "```json\n{\"a\": [1, 2,],}\n```";
    let read = read_repaired(fenced).unwrap();
    assert_eq!(read.value, json!({ "a": [1, 2] }));
    assert_eq!(read.repaired, [Repaired::Fence, Repaired::TrailingCommas { count: 2 }]);
    assert_eq!(read.text, "{\"a\": [1, 2]}");
    assert_eq!(read_repaired("```{\"a\":1}```").unwrap().repaired, [Repaired::Fence]);
    assert_eq!(read_repaired(" \n").unwrap().repaired, [Repaired::Empty]);
    let doubled = read_repaired(r#""{\"a\": 12345678901234567890123}""#).unwrap();
    assert_eq!(doubled.text, r#"{"a": 12345678901234567890123}"#);
    assert_eq!(doubled.repaired, [Repaired::Decoded { pointer: String::new() }]);
}

#[test]
fn what_has_no_evident_meaning_is_refused() {
    for text in [
        "{a: 1}",
        "{'a': 1}",
        "{\"a\": True}",
        "[1,,2]",
        "[,]",
        "{,}",
        "{\"a\":,}",
        "{\"a\":1",
        "```\nhello\n```",
        "{\"a\":1} {}",
        "{\"a\":1e400}",
    ] {
        assert!(read_repaired(text).is_err(), "{text}");
    }
    // Which of two was meant would be a guess, also deep inside.
    assert!(read_repaired(r#"{"a": [{"b": 1, "b": 2}]}"#).is_err());
    // Not an object, and left as it is: the check of the whole says so.
    for text in ["null", "[]", "5", "\"text\"", "\"null\"", "\"\"", "\"[1]\""] {
        assert!(read_repaired(text).unwrap().repaired.is_empty(), "{text}");
    }
}

#[test]
fn a_string_is_decoded_only_where_no_string_is_taken_and_what_is_inside_fits() {
    let schema = json!({ "type": "object", "properties": {
        "items": { "type": "array", "items": { "type": "integer" } },
        "either": { "anyOf": [{ "type": "string", "maxLength": 3 }, { "type": "array" }] },
        "maybe": { "anyOf": [{ "type": "object" }, { "type": "null" }] },
        "number": { "type": "integer" }
    }});
    let read = mended(&schema, r#"{"items": "[1, 2]", "maybe": "{\"x\": 1}"}"#);
    assert_eq!(read.value, json!({ "items": [1, 2], "maybe": { "x": 1 } }));
    assert_eq!(read.repaired.len(), 2);
    for text in [
        r#"{"items":"[\"x\"]"}"#,
        r#"{"either":"[1,2,3]"}"#,
        r#"{"number":"5"}"#,
        r#"{"items":"5"}"#,
        r#"{"items":"[1,"}"#,
    ] {
        let read = mended(&schema, text);
        assert_eq!((read.text.as_str(), read.repaired.len()), (text, 0));
    }
}

#[test]
fn null_is_dropped_only_where_it_is_refused_and_the_field_is_optional() {
    let schema = json!({ "type": "object", "properties": {
        "a": { "type": "string" }, "b": { "type": ["string", "null"] }, "c": { "enum": ["x"] }, "d": { "type": "string" }
    }, "required": ["d"] });
    let read = mended(&schema, r#"{"a":null,"b":null,"c":null,"d":null}"#);
    assert_eq!(read.value, json!({ "b": null, "d": null }));
    let dropped: Vec<String> = read.repaired.iter().map(ToString::to_string).collect();
    assert_eq!(dropped, ["dropped null at /a", "dropped null at /c"]);
}

#[test]
fn numbers_that_would_lose_digits_stay_as_they_came() {
    let schema =
        json!({ "type": "object", "properties": { "a": { "type": "string" }, "n": { "type": "number" } } });
    let text = r#"{"a":null,"n":123456789012345678901234567890}"#;
    assert_eq!(mended(&schema, text).text, text);
}

/// JSON in any spelling: the printed value with white space and, where told, a comma before closing brackets.
fn spelled(value: &Value, commas: bool, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { " " } else { " ,\n" });
                spelled(item, commas, out);
            }
            out.push_str(if commas && !items.is_empty() { " , ]" } else { "]" });
        }
        Value::Object(fields) => {
            out.push('{');
            for (at, (name, item)) in fields.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push_str(": ");
                spelled(item, commas, out);
            }
            out.push_str(if commas && !fields.is_empty() { ",}" } else { "\n}" });
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}

fn value() -> impl Strategy<Value = Value> {
    // Strings are made of what repair by search-and-replace would stumble over.
    let text = "([,\\]}{\\[\":`\\\\ \n]|True|null|//|```|\\PC){0,8}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text, inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn valid_json_is_never_touched(value in value()) {
        let mut text = String::new();
        spelled(&value, false, &mut text);
        let read = read_text(&text).unwrap();
        prop_assert_eq!(&read.value, &value);
        prop_assert!(read.repaired.is_empty());
        prop_assert_eq!(read.text.as_str(), text.trim());
    }

    #[test]
    fn commas_and_fences_are_taken_off_and_nothing_else(value in value(), fence in any::<bool>()) {
        let mut text = String::new();
        spelled(&value, true, &mut text);
        if fence {
            text = format!("```json\n{text}\n```");
        }
        let read = read_text(&text).unwrap();
        prop_assert_eq!(&read.value, &value);
        prop_assert_eq!(parse(&read.text), Ok(value));
    }

    #[test]
    fn any_text_is_read_strictly_or_refused(text in "\\PC{0,40}|[\\[\\]{}\",:`\\\\ a1\n]{0,24}") {
        if let Ok(read) = read_repaired(&text) {
            prop_assert_eq!(parse(&read.text).unwrap(), read.value);
        }
    }

    #[test]
    fn mending_by_the_schema_never_makes_things_worse(value in value()) {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "array" } }, "additionalProperties": { "type": ["integer", "object"] } });
        let validator = validator(&schema);
        let before = validator.iter_errors(&value).count();
        let read = Read { text: value.to_string(), value, repaired: Vec::new() };
        let after = mend_values(&validator, read.clone());
        prop_assert!(validator.iter_errors(&after.value).count() + after.repaired.len() <= before.max(after.repaired.len()));
        prop_assert_eq!(after.repaired.is_empty(), after.value == read.value);
    }
}
