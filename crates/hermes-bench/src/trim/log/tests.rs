//! Where logs are joined and facts planted.

use super::{Log, PlantedFact, RawLog, joined, planted};

fn log(id: &str, users: usize) -> Log {
    let mut messages = vec![r#"{"role":"system","content":"s","tokens":5}"#.to_owned()];
    for n in 0..users {
        messages.push(format!(r#"{{"role":"user","content":"u{n}","tokens":5}}"#));
        messages.push(
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"k","function":{"name":"f","arguments":"{}"}}],"tokens":9}"#
                .to_owned(),
        );
        messages.push(r#"{"role":"tool","tool_call_id":"k","content":"r","tokens":5}"#.to_owned());
    }
    let raw: RawLog =
        serde_json::from_str(&format!(r#"{{"id":"{id}","messages":[{}]}}"#, messages.join(","))).unwrap();
    Log::read(raw).unwrap()
}

/// Each message in short: what is said, or the call it belongs to.
fn short(log: &Log) -> String {
    let words: Vec<_> = log
        .entries
        .iter()
        .map(|entry| match &entry.message.body {
            hermes_core::Body::ToolResult(result) => format!("{}={}", result.tool, result.call),
            body if !body.calls().is_empty() => format!("{}?", body.calls()[0].id),
            body => hermes_core::text_of(body.content()),
        })
        .collect();
    words.join(" ")
}

#[test]
fn joined_logs_keep_one_system_message_and_their_calls_apart() {
    let logs = [log("a", 1), log("b", 1), log("c", 1)];
    let joined = joined(&logs, 2);
    assert_eq!(joined.len(), 2);
    assert_eq!(short(&joined[0]), "u0 k-0? f=k-0 u0 k-1? f=k-1");
    assert_eq!((joined[0].id.as_str(), joined[0].system.as_str(), joined[0].system_tokens), ("a+b", "s", 5));
}

#[test]
fn facts_are_turns_of_their_own_before_each_log_and_after_every_third_turn() {
    let facts: Vec<PlantedFact> = [0, 1]
        .iter()
        .map(|n| {
            serde_json::from_str(&format!(r#"{{"kind":"id","user":"F{n}","ack":"ok","keep":"F{n}"}}"#))
                .unwrap()
        })
        .collect();
    let planted = planted(&[log("a", 4), log("b", 3)], 2, &facts);
    let turn = |n: usize, at: usize| format!("u{n} k-{at}? f=k-{at}");
    let expected = [
        "F0 ok".to_owned(),
        turn(0, 0),
        turn(1, 0),
        turn(2, 0),
        "F1 ok".to_owned(),
        turn(3, 0),
        "F0 ok".to_owned(),
        turn(0, 1),
        turn(1, 1),
        turn(2, 1),
        "F1 ok".to_owned(),
    ];
    assert_eq!(short(&planted[0]), expected.join(" "));
    let facts_in: Vec<_> = planted[0].entries.iter().filter_map(|entry| entry.fact).collect();
    assert_eq!(facts_in, [0, 1, 0, 1]);
}
