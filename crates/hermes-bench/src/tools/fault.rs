//! A catalogue of realistic faults, injected into valid calls: each is refused or mended, with the right explanation.

use std::collections::BTreeMap;

use hermes_core::{BoxError, UnknownFields};
use hermes_tools::{ArgumentFault, Problem, Repair, Verdict, Violation};
use serde_json::{Map, Value, json};

use super::call::Recorded;

/// At most this many places of one call get the same kind of fault.
const PLACES: usize = 4;

/// What became of one kind of fault.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) kind: &'static str,
    pub(crate) injected: usize,
    pub(crate) refused: usize,
    pub(crate) repaired: usize,
    pub(crate) explained: usize,
}

/// What became of all faults.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) rows: Vec<Row>,
    /// Valid calls with a field that their schema does not name.
    pub(crate) strict_refused: usize,
    /// The faults that were not caught or not explained, in words.
    pub(crate) shown: Vec<String>,
}

impl Faults {
    pub(crate) fn injected(&self) -> usize {
        self.rows.iter().map(|row| row.injected).sum()
    }

    pub(crate) fn caught(&self) -> usize {
        self.rows.iter().map(|row| row.refused + row.repaired).sum()
    }

    pub(crate) fn explained(&self) -> usize {
        self.rows.iter().map(|row| row.explained).sum()
    }
}

/// Arguments with one fault, and what should be said or done about it.
struct Faulty {
    kind: &'static str,
    text: String,
    wanted: Wanted,
}

/// The right answer to a fault.
enum Wanted {
    /// It is mended to exactly this, and the report names the place.
    Mended { arguments: Value, place: String },
    /// It is refused as no JSON.
    NotJson,
    /// It is refused for these reasons and no others.
    Refused(Vec<(String, Reason)>),
}

/// A reason for a refusal, as a model must read it.
enum Reason {
    Missing { written_as: Option<String> },
    Unknown { nearest: Option<String> },
    Type { expected: String },
    Value { nearest: Option<String> },
}

/// Injects every fault of the catalogue into the valid calls, in strict mode.
pub(crate) fn inject(calls: &[Recorded]) -> Result<Faults, BoxError> {
    let mut rows: BTreeMap<&'static str, Row> = BTreeMap::new();
    let (mut strict_refused, mut shown) = (0, Vec::new());
    for recorded in calls.iter().filter(|recorded| recorded.valid) {
        let registry = recorded.registry(UnknownFields::Forbid, Repair::On)?;
        let plain = recorded.call(recorded.arguments.to_string());
        if !matches!(registry.check(&plain), Some(Verdict::Fits { .. })) {
            strict_refused += 1;
            continue;
        }
        for faulty in catalogue(recorded) {
            let row = rows.entry(faulty.kind).or_insert_with(|| Row { kind: faulty.kind, ..Row::default() });
            row.injected += 1;
            let verdict = registry.check(&recorded.call(faulty.text.as_str())).ok_or("no such tool")?;
            let (caught, explained) = judge(&verdict, &faulty.wanted);
            match &verdict {
                Verdict::Fits { .. } => row.repaired += usize::from(caught),
                _ => row.refused += usize::from(caught),
            }
            row.explained += usize::from(caught && explained);
            if !(caught && explained) {
                shown.push(format!("{} in {}: {}\n    {verdict:?}", faulty.kind, recorded.id, faulty.text));
            }
        }
    }
    Ok(Faults { rows: rows.into_values().collect(), strict_refused, shown })
}

/// Whether a fault was dealt with, and whether what is said is exactly what is wrong.
fn judge(verdict: &Verdict, wanted: &Wanted) -> (bool, bool) {
    match (verdict, wanted) {
        (Verdict::Fits { arguments, repaired, .. }, Wanted::Mended { arguments: right, place }) => {
            let same = arguments.read::<Value>().is_ok_and(|made| made == *right);
            (same, matches!(repaired.as_slice(), [only] if only.contains(place.as_str())))
        }
        (Verdict::Refused { fault, feedback, .. }, Wanted::NotJson) => {
            (true, matches!(fault, ArgumentFault::NotJson { .. }) && feedback.contains("not valid JSON"))
        }
        (
            Verdict::Refused { fault: ArgumentFault::Violations(violations), feedback, .. },
            Wanted::Refused(reasons),
        ) => {
            let all = reasons.iter().all(|(pointer, reason)| {
                violations
                    .iter()
                    .any(|violation| violation.pointer == *pointer && reason.is(violation, feedback))
            });
            (true, all && violations.len() == reasons.len())
        }
        (Verdict::Refused { .. }, Wanted::Refused(_)) => (true, false),
        _ => (false, false),
    }
}

impl Reason {
    /// Whether a violation states this reason, and the feedback says so at the place.
    fn is(&self, violation: &Violation, feedback: &str) -> bool {
        let line = feedback.lines().find(|line| line.starts_with(&format!("- {}:", violation.pointer)));
        let Some(line) = line else { return false };
        match (self, &violation.problem) {
            (Self::Missing { written_as }, Problem::Missing { written_as: said, .. }) => {
                written_as == said && line.contains("missing")
            }
            (Self::Unknown { nearest }, Problem::Unknown { nearest: said, .. }) => {
                let named = nearest.as_ref().is_none_or(|nearest| line.contains(&format!("{nearest:?}")));
                (nearest.is_none() || nearest == said) && named && line.contains("unknown field")
            }
            (Self::Type { expected }, Problem::WrongType { expected: said, .. }) => {
                said.iter().any(|said| said.starts_with(expected.as_str()))
                    && line.contains(expected.as_str())
            }
            // Where values are listed, they say the type as well.
            (Self::Type { .. } | Self::Value { nearest: None }, Problem::NotAllowed { .. }) => {
                line.contains("Allowed:")
            }
            (Self::Value { nearest: Some(right) }, Problem::NotAllowed { .. }) => {
                line.contains(&format!("did you mean {right}?"))
            }
            _ => false,
        }
    }
}

/// A place of the arguments whose schema says plainly what belongs there.
struct Site<'a> {
    pointer: String,
    schema: &'a Value,
    value: &'a Value,
    /// The field's name and whether it is required; `None` for an item of an array.
    field: Option<(String, bool)>,
}

fn sites<'a>(
    schema: &'a Value,
    value: &'a Value,
    pointer: &str,
    field: Option<(String, bool)>,
    found: &mut Vec<Site<'a>>,
) {
    // Only what is said plainly can be judged without a validator: one type, and no alternatives.
    let plain = ["$ref", "anyOf", "oneOf", "allOf", "if", "not"].iter().all(|key| schema.get(key).is_none());
    if !plain || !schema.get("type").is_some_and(Value::is_string) {
        return;
    }
    found.push(Site { pointer: pointer.to_owned(), schema, value, field });
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let Some(child) = schema.pointer(&format!("/properties/{}", escape(name))) else { continue };
                let required = required(schema).any(|required| required == name);
                sites(
                    child,
                    value,
                    &format!("{pointer}/{}", escape(name)),
                    Some((name.clone(), required)),
                    found,
                );
            }
        }
        Value::Array(items) => {
            if let (Some(first), Some(child)) =
                (items.first(), schema.get("items").filter(|items| items.is_object()))
            {
                sites(child, first, &format!("{pointer}/0"), None, found);
            }
        }
        _ => {}
    }
}

fn catalogue(recorded: &Recorded) -> Vec<Faulty> {
    let mut places = Vec::new();
    sites(&recorded.schema, &recorded.arguments, "", None, &mut places);
    let arguments = &recorded.arguments;
    let mut found = texts(arguments);
    for site in &places {
        objects(arguments, site, &mut found);
        values(arguments, site, &mut found);
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    found.retain(|faulty| {
        let count = counts.entry(faulty.kind).or_default();
        *count += 1;
        *count <= PLACES
    });
    found
}

/// Faults of the text as a whole.
fn texts(arguments: &Value) -> Vec<Faulty> {
    let text = arguments.to_string();
    let same = |place: &str| Wanted::Mended { arguments: arguments.clone(), place: place.to_owned() };
    let mut found = vec![
        Faulty { kind: "double encoding", text: json!(text).to_string(), wanted: same("JSON string") },
        Faulty { kind: "broken JSON", text: format!("```json\n{text}\n```"), wanted: same("fence") },
        Faulty { kind: "broken JSON", text: format!("The arguments are {text}"), wanted: Wanted::NotJson },
    ];
    let inside = text.strip_suffix('}').unwrap_or(&text);
    found.push(Faulty { kind: "broken JSON", text: inside.to_owned(), wanted: Wanted::NotJson });
    if arguments.as_object().is_some_and(|fields| !fields.is_empty()) {
        found.push(Faulty { kind: "broken JSON", text: format!("{inside},}}"), wanted: same("comma") });
    }
    found
}

/// Faults of an object's fields: one missing, one too many, one under a slip of its name.
fn objects(arguments: &Value, site: &Site<'_>, found: &mut Vec<Faulty>) {
    let Some(fields) = site.value.as_object() else { return };
    let (schema, at) = (site.schema, site.pointer.as_str());
    let declared = schema.get("properties").and_then(Value::as_object);
    let knows = |name: &str| declared.is_some_and(|declared| declared.contains_key(name));
    let open = schema.get("additionalProperties").is_some_and(|rest| *rest != Value::Bool(false))
        || schema.get("patternProperties").is_some()
        || (declared.is_none_or(Map::is_empty) && !at.is_empty());
    let with = |change: &dyn Fn(&mut Map<String, Value>)| {
        changed(arguments, at, |value| {
            if let Some(fields) = value.as_object_mut() {
                change(fields);
            }
        })
    };
    for name in required(schema).filter(|name| fields.contains_key(*name) && knows(name)) {
        let text = with(&|fields| drop(fields.remove(name)));
        let reason = (format!("{at}/{}", escape(name)), Reason::Missing { written_as: None });
        found.push(Faulty { kind: "missing", text, wanted: Wanted::Refused(vec![reason]) });
    }
    if open {
        return;
    }
    if !knows("extra_note") {
        let text = with(&|fields| drop(fields.insert("extra_note".to_owned(), json!("please"))));
        let reason = (format!("{at}/extra_note"), Reason::Unknown { nearest: None });
        found.push(Faulty { kind: "unknown", text, wanted: Wanted::Refused(vec![reason]) });
    }
    for name in fields.keys().filter(|name| knows(name)) {
        let slip = slip(name);
        if knows(&slip) {
            continue;
        }
        let text = with(&|fields| {
            if let Some(value) = fields.remove(name) {
                fields.insert(slip.clone(), value);
            }
        });
        let mut reasons =
            vec![(format!("{at}/{}", escape(&slip)), Reason::Unknown { nearest: Some(name.clone()) })];
        if required(schema).any(|required| required == name) {
            let missing = Reason::Missing { written_as: Some(slip.clone()) };
            reasons.push((format!("{at}/{}", escape(name)), missing));
        }
        found.push(Faulty { kind: "misspelt", text, wanted: Wanted::Refused(reasons) });
    }
    // A model fills optional fields that it does not need with null, present or not.
    let optional = declared
        .into_iter()
        .flatten()
        .filter(|(name, _)| !required(schema).any(|required| required == *name));
    for (name, _) in optional.filter(|(_, field)| refuses_null(field)) {
        let text = with(&|fields| drop(fields.insert(name.clone(), Value::Null)));
        let without = with(&|fields| drop(fields.remove(name)));
        let arguments = serde_json::from_str(&without).unwrap_or_default();
        let place = format!("null at {at}/{}", escape(name));
        found.push(Faulty { kind: "null optional", text, wanted: Wanted::Mended { arguments, place } });
    }
}

/// Faults of one value.
fn values(arguments: &Value, site: &Site<'_>, found: &mut Vec<Faulty>) {
    let (at, value) = (site.pointer.as_str(), site.value);
    if at.is_empty() {
        return;
    }
    let kind = site.schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let options = site.schema.get("enum").and_then(Value::as_array);
    let replaced = |new: &Value| changed(arguments, at, |value| *value = new.clone());
    let mut refused = |fault, new: &Value, reason| {
        found.push(Faulty {
            kind: fault,
            text: replaced(new),
            wanted: Wanted::Refused(vec![(at.to_owned(), reason)]),
        });
    };
    let expected = || Reason::Type { expected: kind.to_owned() };
    let wrong = match kind {
        "string" => json!(7),
        "boolean" => json!("yes"),
        "integer" | "number" => json!("many"),
        "array" => value.get(0).filter(|first| !first.is_array()).cloned().unwrap_or_else(|| json!("text")),
        _ => json!("text"),
    };
    refused("wrong type", &wrong, expected());
    if value.is_number() && matches!(kind, "integer" | "number") {
        refused("number as string", &json!(value.to_string()), expected());
    }
    if site.field.as_ref().is_some_and(|(_, required)| *required) && refuses_null(site.schema) {
        refused("null required", &Value::Null, expected());
    }
    if let (Some(options), Some(word)) = (options, value.as_str()) {
        let bad = slip(word);
        if !options.iter().any(|option| option.as_str() == Some(&bad)) {
            refused("bad enum", &json!(bad), Reason::Value { nearest: Some(json!(word).to_string()) });
        }
        refused("bad enum", &json!("no such value"), Reason::Value { nearest: None });
    }
    if matches!((kind, value), ("array", Value::Array(_)) | ("object", Value::Object(_))) {
        let wanted = Wanted::Mended { arguments: arguments.clone(), place: format!("at {at}") };
        found.push(Faulty { kind: "double encoding", text: replaced(&json!(value.to_string())), wanted });
    }
}

/// A slip of the pen: a letter too many, or the plural forgotten.
fn slip(word: &str) -> String {
    match word.strip_suffix('s').filter(|rest| rest.len() > 3) {
        Some(rest) => rest.to_owned(),
        None => format!("{word}s"),
    }
}

fn refuses_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "null")
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn changed(arguments: &Value, pointer: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut copy = arguments.clone();
    if let Some(value) = copy.pointer_mut(pointer) {
        change(value);
    }
    copy.to_string()
}

fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}
