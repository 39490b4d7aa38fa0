//! Given cases in which an MCP server's schema meets the checks of the tool layer.

use hermes::core::{CallId, Outcome, Owner, Seq, SessionId, StepId, ToolCall, ToolHost as _, ToolOutcome};
use hermes::inmemory::InMemoryStore;
use hermes::prelude::{CallContext, ToolRegistry};
use serde_json::{Value, json};

use crate::server::connect;

/// A given case by its id.
pub(crate) fn case(id: &str) -> Value {
    let cases = include_str!("../../../../cases/given.jsonl");
    let mut cases = cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.find(|case| case["id"] == id).unwrap()
}

/// A registry with the tools of a case, served by another process.
async fn registry(prefix: &str, id: &str) -> ToolRegistry {
    let tools = ToolRegistry::new().with_idempotency(InMemoryStore::new());
    tools.attach(connect(prefix, id).await).unwrap();
    tools
}

/// Calls a tool, each time in a turn of its own.
async fn call(tools: &ToolRegistry, turn: u64, name: &str, arguments: &str) -> ToolOutcome {
    let owner = Owner::new("acme".parse().unwrap(), "dana".parse().unwrap());
    let call = ToolCall::new(CallId::generate(), name, arguments);
    let context =
        CallContext::new(owner, SessionId::generate(), Seq::new(turn), StepId::generate(), call.id.clone());
    tools.call(&call, context).await
}

/// What the server got.
fn came(outcome: &ToolOutcome) -> Value {
    match &outcome.result {
        Outcome::Success { output, .. } => output["came"].clone(),
        Outcome::Failure { error, .. } => panic!("refused: {error}"),
    }
}

/// What the model is told about a call that did not run.
fn refusal(outcome: &ToolOutcome) -> &str {
    match &outcome.result {
        Outcome::Success { output, .. } => panic!("it ran: {output}"),
        Outcome::Failure { error, .. } => error,
    }
}

/// Runs the calls of a case and compares which run and which are refused, and with which pointers.
async fn check_calls(tools: &ToolRegistry, case: &Value, verdicts: &Value) {
    for (n, made) in (0_u64..).zip(case["input"]["calls"].as_array().unwrap()) {
        let name = made[0].as_str().unwrap();
        let outcome = call(tools, n + 1, name, &made[1].to_string()).await;
        match verdicts["refused"].get(n.to_string()) {
            Some(pointers) => {
                for pointer in pointers.as_array().unwrap() {
                    let field = pointer.as_str().unwrap();
                    assert!(
                        refusal(&outcome).contains(field),
                        "call {n}: {} does not name {field}",
                        refusal(&outcome)
                    );
                }
            }
            None => {
                assert!(verdicts["runs"].as_array().unwrap().contains(&json!(n)), "call {n}");
                assert_eq!(came(&outcome), made[1], "call {n}");
            }
        }
    }
}

#[tokio::test]
async fn g08_nulls_are_dropped_only_where_the_schema_refuses_them() {
    let case = case("g08");
    let values = &case["expect"]["values"];
    let tools = registry("repo", "g08").await;
    for (n, raw) in (0_u64..).zip(case["input"]["raw_calls"].as_array().unwrap()) {
        let outcome = call(&tools, n + 1, "repo_repo_search", raw[1].as_str().unwrap()).await;
        match values["sent"].get(n.to_string()) {
            Some(sent) => assert_eq!(&came(&outcome), sent, "call {n}"),
            None => {
                let error = refusal(&outcome);
                assert!(
                    error.contains("/query") && error.contains("string") && error.contains("null"),
                    "{error}"
                );
            }
        }
        let dropped = if n == 0 { values["dropped"].as_array().unwrap().as_slice() } else { &[] };
        let report = outcome.report.repaired.join("\n");
        assert!(dropped.iter().all(|field| report.contains(field.as_str().unwrap())), "call {n}: {report}");
        assert_eq!(outcome.report.repaired.is_empty(), dropped.is_empty(), "call {n}: {report}");
    }
}

#[tokio::test]
async fn g12_definitions_stay_with_the_references_to_them() {
    let case = case("g12");
    let values = &case["expect"]["values"];
    let tools = registry("shop", "g12").await;
    assert_eq!(tools.len(), 2);
    check_calls(&tools, &case, values).await;
    for (n, allowed) in values["allowed"].as_object().unwrap() {
        let made = &case["input"]["calls"][n.parse::<usize>().unwrap()];
        let outcome = call(&tools, 100, made[0].as_str().unwrap(), &made[1].to_string()).await;
        for value in allowed.as_array().unwrap() {
            assert!(refusal(&outcome).contains(value.as_str().unwrap()), "call {n}: {}", refusal(&outcome));
        }
    }
    let spec = tools.spec("shop_create_order").unwrap();
    assert_eq!(spec.input_schema["properties"]["order"]["description"], "要创建的订单");
    assert_eq!(spec.input_schema["additionalProperties"], false);
}

#[tokio::test]
async fn g13_one_odd_tool_costs_one_tool() {
    let case = case("g13");
    let values = &case["expect"]["values"];
    let client = connect("t", "g13").await;
    let tools = ToolRegistry::new().with_idempotency(InMemoryStore::new());
    let attached = tools.attach(client.clone()).unwrap();

    let offered: Vec<String> = tools.specs().iter().map(|spec| spec.name.clone()).collect();
    assert_eq!(json!(offered), values["offered"]);
    for spec in tools.specs() {
        assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
        assert!(spec.input_schema["properties"].is_object(), "{}", spec.name);
    }
    let skipped: Vec<_> =
        attached.skipped.iter().chain(&client.skipped()).map(|skipped| skipped.name.clone()).collect();
    for name in values["skipped"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        assert!(
            skipped.iter().any(|skipped| skipped == name || skipped == &format!("t_{name}")),
            "{name}: {skipped:?}"
        );
    }
    for (n, name) in (1..).zip(["t_a", "t_b", "t_c", "t_d"]) {
        assert_eq!(came(&call(&tools, n, name, "{}").await), json!({}), "{name}");
    }
    let refused = call(&tools, 10, "t_e", "{}").await;
    assert!(refusal(&refused).contains("/q"), "{}", refusal(&refused));
    assert_eq!(came(&call(&tools, 11, "t_e", r#"{"q":"x"}"#).await), json!({ "q": "x" }));
}

#[tokio::test]
async fn g14_a_bound_is_never_dropped_in_silence() {
    let case = case("g14");
    let tools = registry("dns", "g14").await;
    let offered: Vec<String> = tools.specs().iter().map(|spec| spec.name.clone()).collect();
    assert_eq!(offered, ["dns_ping", "dns_set_ttl", "dns_set_weight"]);
    for spec in tools.specs() {
        assert!(
            !spec.input_schema.to_string().contains("\"exclusiveMinimum\":true"),
            "{}",
            spec.input_schema
        );
        assert!(
            !spec.input_schema.to_string().contains("\"exclusiveMinimum\":false"),
            "{}",
            spec.input_schema
        );
    }
    check_calls(&tools, &case, &case["expect"]["values"]["if_offered"]).await;
}
