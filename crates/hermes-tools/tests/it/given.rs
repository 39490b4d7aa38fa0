//! The given cases of this area, by their id.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hermes_core::{
    CallContext, Effect, FailureKind, Replay, ToolError, ToolHost as _, ToolOutput, ToolSpec, UnknownFields,
};
use hermes_tools::{ArgumentFault, Repair, ToolConfig, ToolRegistry, Verdict, replayed_arguments};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{call, context, echo, error, open, output, registry, run};

fn case(id: &str) -> Value {
    let all = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/given.jsonl"));
    let found =
        all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).find(|case| case["id"] == id);
    found.unwrap_or_else(|| panic!("no case {id}"))
}

/// A registry with the case's tools, each giving its arguments back.
fn tools_of(case: &Value, config: ToolConfig) -> ToolRegistry {
    let registry = ToolRegistry::with_config(config);
    for tool in case["input"]["tools"].as_array().unwrap() {
        let mut spec = ToolSpec::new(tool["name"].as_str().unwrap(), "")
            .input_schema(tool["input_schema"].clone())
            .effect(Effect::ReadOnly);
        if tool["via"] == "mcp" {
            spec = spec.unknown_fields(UnknownFields::AsSchema);
        }
        echo(&registry, spec);
    }
    registry
}

/// The case's raw calls; an absent text is what adapters make of `null`.
fn raw_calls(case: &Value) -> Vec<(String, String)> {
    let calls = case["input"]["raw_calls"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    calls.iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

fn pointers(registry: &ToolRegistry, tool: &str, arguments: &str) -> Vec<String> {
    match registry.check(&call(tool, arguments)) {
        Some(Verdict::Refused { fault: ArgumentFault::Violations(violations), .. }) => {
            violations.into_iter().map(|violation| violation.pointer).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn g05_empty_and_absent_arguments() {
    let case = case("g05");
    let registry = tools_of(&case, ToolConfig::default());
    for (at, (tool, arguments)) in raw_calls(&case).iter().enumerate() {
        let outcome = run(&registry, &call(tool, arguments), &context()).await;
        match at {
            0..=3 => {
                assert_eq!(output(&outcome), &json!({}), "{at}");
                assert_eq!(outcome.report.repaired.is_empty(), at == 3, "{at}");
                assert_eq!(replayed_arguments(arguments), "{}");
            }
            4..=7 => {
                let (kind, said) = error(&outcome);
                assert_eq!(kind, FailureKind::InvalidArguments);
                assert!(said.contains("expected a JSON object"), "{at}: {said}");
            }
            _ => assert_eq!(pointers(&registry, tool, arguments), ["/city"]),
        }
    }
}

#[tokio::test]
async fn g06_double_encoding() {
    let case = case("g06");
    let registry = tools_of(&case, ToolConfig::default());
    let mut config = ToolConfig::default();
    config.repair = Repair::Off;
    let strict = tools_of(&case, config);
    let todos = json!([{ "title": "买牛奶", "done": false }]);
    for (at, (tool, arguments)) in raw_calls(&case).iter().enumerate() {
        let outcome = run(&registry, &call(tool, arguments), &context()).await;
        let without_repair = run(&strict, &call(tool, arguments), &context()).await;
        match at {
            0 | 1 => {
                assert_eq!(output(&outcome)["todos"], todos);
                let said = &outcome.report.repaired;
                assert!(said[0].contains(if at == 0 { "arguments" } else { "/todos" }), "{said:?}");
                assert_eq!(error(&without_repair).0, FailureKind::InvalidArguments);
            }
            2 | 3 => {
                assert_eq!(output(&outcome)["note"], case["expect"]["values"]["note"][at.to_string()]);
                assert!(outcome.report.repaired.is_empty());
                assert!(without_repair.is_success());
            }
            _ => {
                let expected = &case["expect"]["values"]["refused"][at.to_string()];
                assert_eq!(&json!(pointers(&registry, tool, arguments)), expected);
                let wanted = if at == 4 {
                    "expected boolean, got string \"false\""
                } else {
                    "expected array of object {title, done}, got string"
                };
                assert!(error(&outcome).1.contains(wanted), "{outcome:?}");
            }
        }
    }
}

#[derive(Debug, Deserialize)]
struct Wait {
    seconds: u64,
    retries: Option<u32>,
}

#[tokio::test]
async fn g07_whole_numbers_with_a_point() {
    let case = case("g07");
    let registry = ToolRegistry::new();
    let schema = case["input"]["tools"][0]["input_schema"].clone();
    registry
        .register(
            ToolSpec::new("wait", "").input_schema(schema).effect(Effect::ReadOnly),
            |wait: Wait, _: CallContext| async move {
                Ok::<Value, ToolError>(json!([wait.seconds, wait.retries]))
            },
        )
        .unwrap();
    for (at, (tool, arguments)) in raw_calls(&case).iter().enumerate() {
        let outcome = run(&registry, &call(tool, arguments), &context()).await;
        match case["expect"]["values"]["runs"].get(at.to_string()) {
            Some(seconds) => assert_eq!(output(&outcome)[0], *seconds),
            None => {
                let (kind, said) = error(&outcome);
                assert_eq!(kind, FailureKind::InvalidArguments);
                assert!(
                    said.contains("/seconds") || (at == 6 && said.contains("not valid JSON")),
                    "{at}: {said}"
                );
            }
        }
        if at == 8 {
            assert_eq!(output(&outcome)[1], 2);
        }
    }
}

#[tokio::test]
async fn g08_null_for_optional_fields() {
    let case = case("g08");
    let registry = tools_of(&case, ToolConfig::default());
    let expected = &case["expect"]["values"];
    for (at, (tool, arguments)) in raw_calls(&case).iter().enumerate() {
        let outcome = run(&registry, &call(tool, arguments), &context()).await;
        if at == 1 {
            assert_eq!(pointers(&registry, tool, arguments), ["/query"]);
            assert!(error(&outcome).1.contains("/query: expected string, got null"));
            continue;
        }
        assert_eq!(output(&outcome), &expected["sent"][at.to_string()]);
        let mut dropped: Vec<String> =
            outcome.report.repaired.iter().map(|said| said.replace("dropped null at ", "")).collect();
        let mut wanted: Vec<String> = serde_json::from_value(expected["dropped"].clone()).unwrap();
        wanted.retain(|_| at == 0);
        dropped.sort();
        wanted.sort();
        assert_eq!(dropped, wanted);
    }
}

#[tokio::test]
async fn g09_the_inside_of_strings() {
    let case = case("g09");
    let registry = tools_of(&case, ToolConfig::default());
    for (at, (tool, arguments)) in raw_calls(&case).iter().enumerate() {
        let outcome = run(&registry, &call(tool, arguments), &context()).await;
        if at == 4 {
            assert!(error(&outcome).1.contains("not valid JSON"));
            continue;
        }
        assert_eq!(output(&outcome)["content"], case["expect"]["values"]["content"][at.to_string()]);
        let repairs = &outcome.report.repaired;
        assert_eq!(repairs.len(), if at == 0 { 2 } else { 0 }, "{repairs:?}");
    }
}

#[tokio::test]
async fn g10_a_tool_that_does_not_exist() {
    let case = case("g10");
    for more in [0, 60] {
        let registry = ToolRegistry::new();
        for name in case["input"]["registered"].as_array().unwrap() {
            echo(&registry, open(name.as_str().unwrap(), Effect::ReadOnly));
        }
        for n in 0..more {
            echo(&registry, open(&format!("further_tool_{n}"), Effect::ReadOnly));
        }
        let steps: Vec<_> = case["input"]["step"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| {
                let call = call(step["name"].as_str().unwrap(), step["arguments"].as_str().unwrap());
                hermes_tools::StepCall::new(call, context(), hermes_tools::ExecuteOptions::default())
            })
            .collect();
        let results = registry.execute_step(&steps, |_, _| {}).await;
        let wrong = results[0].as_ref().unwrap().outcome().unwrap();
        let (kind, said) = error(wrong);
        assert_eq!(kind, FailureKind::UnknownTool);
        assert!(said.starts_with("没有名为 \"get_wether\" 的工具。是否想用 get_weather"), "{said}");
        assert!(said.contains("重新调用"));
        assert!(said.len() < 1_500, "{}", said.len());
        assert_eq!(output(results[1].as_ref().unwrap().outcome().unwrap()), &json!({ "q": "报告" }));
        for name in case["input"]["more_names"].as_array().unwrap() {
            let outcome = registry.call(&call(name.as_str().unwrap(), "{}"), context()).await;
            assert_eq!(error(&outcome).0, FailureKind::UnknownTool, "{name}");
        }
        let mail = registry.call(&call("send_mail", "{}"), context()).await;
        assert!(error(&mail).1.contains("Did you mean send_email"));
    }
}

#[tokio::test(start_paused = true)]
async fn g11_ambiguous_failures_of_effects() {
    let (registry, _) = registry();
    let lost = |message: &str| ToolError::Unknown { message: message.to_owned(), source: None };

    let charged = Arc::new(AtomicUsize::new(0));
    let upstream = Arc::clone(&charged);
    registry
        .register(open("charge_card", Effect::SideEffect), move |_: Value, _: CallContext| {
            upstream.fetch_add(1, Ordering::SeqCst);
            async move { Err::<Value, ToolError>(lost("connection reset")) }
        })
        .unwrap();

    // Performs on the first key it sees and answers later ones with the stored result.
    let sent = Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let upstream = Arc::clone(&sent);
    registry
        .register(
            open("send_sms", Effect::SideEffect).replay(Replay::UnderKey),
            move |_: Value, context: CallContext| {
                let mut seen = upstream.lock().unwrap();
                seen.push(context.key.unwrap().to_string());
                let answer =
                    if seen.len() == 1 { Err(lost("read time-out")) } else { Ok(json!({ "id": 17 })) };
                async move { answer }
            },
        )
        .unwrap();

    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let upstream = Arc::clone(&asked);
    registry
        .register(open("fetch_rate", Effect::ReadOnly), move |_: Value, _: CallContext| {
            let mut times = upstream.lock().unwrap();
            #[expect(clippy::disallowed_methods, reason = "the runtime's paused clock is what is measured")]
            times.push(tokio::time::Instant::now());
            let answer =
                if times.len() < 3 { Err(ToolError::transient("503")) } else { Ok(json!({ "rate": 7.1 })) };
            async move { answer }
        })
        .unwrap();

    let outcome = run(&registry, &call("charge_card", "{}"), &context()).await;
    let (kind, said) = error(&outcome);
    assert_eq!(kind, FailureKind::OutcomeUnknown);
    assert!(
        said.contains("unknown") && said.contains("not repeated") && !said.contains("try again"),
        "{said}"
    );
    assert_eq!((charged.load(Ordering::SeqCst), outcome.report.attempts), (1, 1));

    let outcome = run(&registry, &call("send_sms", "{}"), &context()).await;
    assert_eq!(output(&outcome), &json!({ "id": 17 }));
    let keys = sent.lock().unwrap().clone();
    assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");

    let outcome = run(&registry, &call("fetch_rate", "{}"), &context()).await;
    assert_eq!(output(&outcome), &json!({ "rate": 7.1 }));
    assert_eq!(outcome.report.attempts, 3);
    let times = asked.lock().unwrap().clone();
    assert!(times[2] - times[1] > times[1] - times[0], "the waits grow");
}

/// The local variant: a tool that blocks its thread costs its limit and delays nobody.
#[tokio::test]
async fn g22_a_blocking_tool_past_its_time() {
    let (registry, _) = registry();
    let (free, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = std::sync::Mutex::new(blocked);
    registry
        .register_blocking(
            open("x_slow", Effect::SideEffect).timeout(Duration::from_millis(300)),
            move |_: Value, _| {
                let _ended = blocked.lock().unwrap().recv();
                Ok::<ToolOutput, ToolError>(ToolOutput::text("late"))
            },
        )
        .unwrap();
    echo(&registry, open("quick", Effect::ReadOnly));
    let (slow, near) = (call("x_slow", "{}"), context());
    let others = async {
        let mut ended = Vec::new();
        for n in 0..4 {
            ended.push(
                output(&run(&registry, &call("quick", &format!("{{\"n\":{n}}}")), &context()).await)["n"]
                    .clone(),
            );
        }
        ended
    };
    let (outcome, others) = tokio::join!(run(&registry, &slow, &near), others);
    let (kind, said) = error(&outcome);
    assert_eq!(kind, FailureKind::OutcomeUnknown);
    assert!(said.contains("300 ms"), "{said}");
    assert_eq!(others, [0, 1, 2, 3]);
    assert_eq!(registry.stats().abandoned("x_slow"), 1);
    drop(free);
    // It is not run a second time: the unknown outcome is on record.
    let again = run(&registry, &slow, &near).await;
    assert_eq!((again.report.from_record, error(&again).0), (true, FailureKind::OutcomeUnknown));
}
