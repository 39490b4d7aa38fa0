use std::sync::Arc;
use std::time::Duration;

use hermes_core::{CallContext, KeyRule, KeyScope, RetryPolicy, ToolError, ToolSpec};
use serde_json::{Value, json};

use super::compile;
use crate::func::FnTool;

fn refused(spec: ToolSpec) -> String {
    let tool = FnTool::new(spec, |_: Value, _: CallContext| async { Ok::<Value, ToolError>(Value::Null) });
    compile(Arc::new(tool), None).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_bad_contract_is_refused_with_the_reason() {
    let spec = || ToolSpec::new("t", "");
    for name in ["", "a b", "é", "a.b", &"x".repeat(65)] {
        assert!(refused(ToolSpec::new(name, "")).contains("1 to 64"), "{name}");
    }
    for (schema, word) in [
        (json!({ "type": "array" }), "\"type\": \"object\""),
        (json!({ "properties": {} }), "\"type\": \"object\""),
        (json!(true), "\"type\": \"object\""),
        (json!({ "type": "object", "properties": { "n": { "type": "strng" } } }), "/properties/n/type"),
        (json!({ "type": "object", "properties": { "n": { "minimum": "1" } } }), "/properties/n/minimum"),
        (json!({ "type": "object", "properties": { "n": { "pattern": "(?=x)" } } }), "pattern"),
        (json!({ "type": "object", "properties": { "n": { "$ref": "http://localhost/x" } } }), "not local"),
    ] {
        let reason = refused(spec().input_schema(schema));
        assert!(reason.contains(word), "{reason}");
    }
    assert!(refused(spec().output_schema(json!({ "type": 1 }))).contains("output schema"));
    assert!(refused(spec().timeout(Duration::ZERO)).contains("timeout"));
    assert!(
        refused(spec().retry(RetryPolicy { retries: 3, ..RetryPolicy::default() })).contains("at most 2")
    );
    let rule = KeyRule { scope: KeyScope::User, arguments: Some(vec!["order".to_owned()]) };
    assert!(refused(spec().key(rule)).contains("no JSON pointer"));
    assert!(refused(spec().example(json!({ "x": 1 }))).contains("example 1"));
}
