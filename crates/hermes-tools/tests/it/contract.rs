//! What a contract promises about its function, its outputs and the room they take.

use hermes_core::{CallContext, Effect, ToolError, ToolSpec};
use hermes_testkit::sample;
use hermes_tools::{ExecuteOptions, ToolConfig, ToolRegistry};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{call, done, echo, open, output, registry, run};

#[derive(Debug, Deserialize)]
struct Pages {
    #[expect(dead_code, reason = "only whether it reads matters")]
    pages: u8,
}

#[test]
fn an_example_must_fit_the_functions_type_as_well_as_the_schema() {
    let spec = |pages: u32| {
        ToolSpec::new("print", "")
            .input_schema(json!({ "type": "object", "properties": { "pages": { "type": "integer" } }, "required": ["pages"] }))
            .example(json!({ "pages": pages }))
    };
    let register = |spec| {
        ToolRegistry::new()
            .register(spec, |_: Pages, _: CallContext| async { Ok::<Value, ToolError>(Value::Null) })
    };
    register(spec(7)).unwrap();
    let refused = register(spec(300)).unwrap_err().to_string();
    assert!(refused.contains("example 1 does not fit") && refused.contains("300"), "{refused}");
}

#[tokio::test]
async fn an_output_that_breaks_its_schema_is_passed_on_and_counted() {
    let (registry, _) = registry();
    let spec = open("count", Effect::ReadOnly).output_schema(json!({ "type": "object", "required": ["n"] }));
    echo(&registry, spec);
    for (arguments, counted) in [(r#"{"n":1}"#, 0), (r#"{"m":1}"#, 1)] {
        let outcome = run(&registry, &call("count", arguments), &sample::call_context()).await;
        assert_eq!(output(&outcome).to_string(), arguments);
        assert_eq!(registry.stats().misshapen_outputs("count"), counted);
    }
}

#[tokio::test]
async fn the_outputs_of_a_turn_share_their_room() {
    let mut config = ToolConfig::default();
    (config.result_tokens, config.turn_tokens) = (1_000, 2_000);
    let (_, store) = registry();
    let registry = ToolRegistry::with_config(config).with_artifacts(store);
    echo(&registry, open("say", Effect::ReadOnly));
    let context = sample::call_context();
    let long = json!({ "text": "word ".repeat(2_000) }).to_string();
    let mut lengths = Vec::new();
    for _ in 0..4 {
        let outcome = run(&registry, &call("say", &long), &context).await;
        assert!(outcome.report.truncated && outcome.report.artifact.is_some());
        lengths.push(output(&outcome).as_str().unwrap().len());
    }
    // About three bytes a token: two of a thousand tokens each, then previews of two hundred.
    assert!(lengths[1] > 2_400 && lengths[3] < 700, "{lengths:?}");
    let mut next = context.clone();
    next.turn = hermes_core::Seq::new(context.turn.get() + 1);
    let fresh = done(registry.execute(&call("say", &long), next, &ExecuteOptions::default()).await.unwrap());
    assert!(output(&fresh).as_str().unwrap().len() > 2_400);
}
