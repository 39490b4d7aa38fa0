//! The given cases, for tests by their ids.

use serde_json::Value;

/// The case with an id of `cases/given.jsonl`.
pub(crate) fn given(id: &str) -> Value {
    include_str!("../../../cases/given.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|case| case["id"] == id)
        .unwrap()
}
