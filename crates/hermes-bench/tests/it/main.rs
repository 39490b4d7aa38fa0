//! Each measure on tiny data: it runs and prints the keys that it promises. What the figures are is no matter here.
#![expect(clippy::unwrap_used, reason = "a test says what it expects by stopping")]

mod session;
mod trim;

use std::process::Command;

use serde_json::Value;

/// Runs a measure and gives the JSON object that is the last line of its standard output.
fn measured(args: &[&str]) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_hermes-bench")).args(args).arg("--json").output().unwrap();
    let (told, printed) = (String::from_utf8(out.stderr).unwrap(), String::from_utf8(out.stdout).unwrap());
    assert!(out.status.success(), "{args:?}: {told}");
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

/// Stops unless the object has all these keys.
fn assert_keys(object: &Value, keys: &[&str]) {
    let missing: Vec<_> = keys.iter().filter(|key| object.get(key).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?} of {object}");
}
