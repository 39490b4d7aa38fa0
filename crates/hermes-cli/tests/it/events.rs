//! Looking at events.

use serde_json::Value;

/// The events of one kind, in order.
pub(crate) fn all<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// The one event of a kind.
#[track_caller]
pub(crate) fn only<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let found = all(events, kind);
    let [event] = found.as_slice() else { panic!("{} events {kind} instead of one", found.len()) };
    event
}

/// Where the first event stands that is as wanted.
#[track_caller]
pub(crate) fn place(events: &[Value], wanted: impl Fn(&Value) -> bool) -> usize {
    events.iter().position(wanted).unwrap_or_else(|| panic!("no such event"))
}

/// JSON text in a field of an event, such as a call's arguments.
#[track_caller]
pub(crate) fn inner(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

/// The calls that started, by tool.
pub(crate) fn started<'a>(events: &'a [Value], tool: &str) -> Vec<&'a Value> {
    all(events, "call_started").into_iter().filter(|event| event["tool"] == tool).collect()
}

/// The session that the first turn was in.
#[track_caller]
pub(crate) fn session(events: &[Value]) -> String {
    all(events, "turn_started")[0]["session"].as_str().unwrap().to_owned()
}
