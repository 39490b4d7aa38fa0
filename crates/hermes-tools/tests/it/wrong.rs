//! The calls that a strong model really made against the servers' own schemas: from each piece of feedback the right call can be made.

use std::fmt::Write as _;

use hermes_core::{CallContext, Effect, ToolError, ToolSpec, UnknownFields};
use hermes_tools::{Language, ToolRegistry, Verdict};
use serde::Deserialize;
use serde_json::Value;

const CALLS: &str = include_str!("../data/livemcp_wrong_calls.jsonl");

#[derive(Debug, Deserialize)]
struct Line {
    tool: String,
    #[serde(rename = "inputSchema")]
    schema: Option<Value>,
    arguments: Option<Value>,
}

/// The name as it is registered: providers refuse the colons.
fn legal(tool: &str) -> String {
    tool.replace("::", "_")
}

#[test]
fn each_wrong_call_of_a_public_run_gets_feedback_to_correct_it_by() {
    let registry = ToolRegistry::new().with_language(Language::English);
    let (mut told, mut calls) = (String::new(), 0);
    for line in CALLS.lines() {
        let line: Line = serde_json::from_str(line).unwrap();
        let name = legal(&line.tool);
        if let Some(schema) = line.schema {
            // As an MCP server's tool is registered: its schema keeps its own meaning about unknown fields.
            let spec = ToolSpec::new(name, "")
                .input_schema(schema)
                .effect(Effect::ReadOnly)
                .unknown_fields(UnknownFields::AsSchema);
            registry
                .register(spec, |_: Value, _: CallContext| async { Ok::<Value, ToolError>(Value::Null) })
                .unwrap();
            continue;
        }
        calls += 1;
        let arguments = line.arguments.unwrap().to_string();
        match registry.check(&super::call(&name, &arguments)).unwrap() {
            Verdict::Refused { feedback, .. } => {
                let shown: String = arguments.chars().take(200).collect();
                writeln!(told, "{calls}. {shown}\n{feedback}\n").unwrap();
            }
            other => panic!("{name} {arguments}: {other:?}"),
        }
    }
    assert_eq!(calls, 51);
    insta::assert_snapshot!(told);
}
