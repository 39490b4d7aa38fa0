//! The measure `trim`.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::{assert_keys, measured};

/// A log of so many turns, each with a call.
fn log(id: &str, turns: usize) -> Value {
    let mut messages = vec![json!({"role": "system", "content": "Help.", "tokens": 6})];
    for n in 0..turns {
        let id = format!("k{n}");
        let call = json!({"id": id, "type": "function", "function": {"name": "find", "arguments": "{}"}});
        messages.push(json!({"role": "user", "content": format!("question {n}"), "tokens": 7}));
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call], "tokens": 14}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": "found", "tokens": 5}));
        messages.push(json!({"role": "assistant", "content": "It is there.", "tokens": 8}));
    }
    json!({"id": id, "messages": messages})
}

fn write(folder: &Path, name: &str, lines: &[Value]) {
    let text = lines.iter().fold(String::new(), |mut text, line| {
        writeln!(text, "{line}").unwrap();
        text
    });
    std::fs::write(folder.join(name), text).unwrap();
}

#[test]
fn trim_replays_each_set_as_it_is_and_joined() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "sessions_tau_airline.jsonl", &[log("a", 12), log("b", 12), log("c", 2)]);
    write(folder.path(), "sessions_livemcp_sonnet4.jsonl", &[log("d", 1), log("e", 1)]);
    let fact = json!({"id": "f", "lang": "en", "kind": "id", "user": "My booking is QX7-11.", "ack": "Noted.", "keep": "QX7-11"});
    write(folder.path(), "planted.jsonl", &[fact]);
    let (data, out) = (folder.path().to_str().unwrap(), folder.path().join("run.jsonl"));
    let found = measured(&["trim", "--data", data, "--join", "2", "--out", out.to_str().unwrap()]);
    let sets = found["sets"].as_array().unwrap();
    let names: Vec<_> = sets.iter().map(|set| set["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["airline", "airline_joined", "livemcp", "livemcp_joined"]);
    let keys = [
        "name",
        "requests",
        "tokens_full",
        "tokens_sent",
        "share",
        "invalid",
        "over_budget",
        "summariser_calls",
        "prefix_share",
        "planted",
        "planted_kept",
    ];
    for set in sets {
        assert_keys(set, &keys);
        assert_eq!((&set["invalid"], &set["over_budget"]), (&json!(0), &json!(0)), "{set}");
    }
    // 26 turns with two answers each; the ten planted turns of the joined set are in a replay of their own.
    assert_eq!((&sets[0]["requests"], &sets[1]["requests"]), (&json!(52), &json!(52)));
    // Before the first request of the first log stand its system message and one user message; the second has the step and its result as well.
    let lines = std::fs::read_to_string(out).unwrap();
    let full: Vec<_> = lines
        .lines()
        .take(2)
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["full"].as_u64().unwrap())
        .collect();
    assert_eq!(full, [13, 32]);
    // Joined: 24 turns and 10 facts; those whose 20th turn after is still there count, and the digest keeps them.
    assert_eq!((&sets[1]["planted"], &sets[1]["planted_kept"]), (&json!(4), &json!(4)));
}
