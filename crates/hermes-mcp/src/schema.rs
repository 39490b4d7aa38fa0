//! From the schemas that servers send to schemas that providers and validators take (M2). Pure.
//!
//! What is converted:
//!
//! | found | becomes |
//! |---|---|
//! | no schema, `true`, no `type`, `"type": ["object", "null"]` at the top | an object |
//! | no `properties` at the top | `{}` |
//! | boolean `exclusiveMinimum` and `exclusiveMaximum` (draft 4), whatever the label says | the numeric form, or nothing for `false` |
//! | `"nullable": true` (OpenAPI) | `null` among the types, or beside the reference |
//! | boolean `required` on a field (draft 3) | the field's name in the object's `required` |
//! | `items` as a list, `additionalItems`, `dependencies` under 2019-09, 2020-12 or no label | `prefixItems`, `items`, `dependentRequired`, `dependentSchemas` |
//! | the label of draft 3 or 4, with `id` | draft 7, with `$id` |
//! | an unknown label | none, which means 2020-12 |
//!
//! `$defs`, `definitions` and references are kept as they are. What would change the meaning is refused with a reason, and the tool is
//! skipped: a top that is no object, unknown types, references that lead nowhere or out of the schema, and what is too large or deep.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::clean;

/// The deepest and the largest schema that is taken, in levels and bytes of compact JSON.
const MAX_DEPTH: usize = 64;
const MAX_BYTES: usize = 256 * 1024;

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Keywords that hold one schema, a list of schemas, or schemas by name.
const ONE: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const NAMED: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// A schema for arguments; the reason when it cannot be used.
pub(crate) fn input(schema: Option<&Value>) -> Result<Value, String> {
    let mut schema = match schema {
        None | Some(Value::Bool(true)) => json!({}),
        Some(schema) => schema.clone(),
    };
    convert(&mut schema)?;
    let Value::Object(top) = &mut schema else { return Err("it is no object".to_owned()) };
    match top.get("type") {
        None => {
            top.insert("type".to_owned(), json!("object"));
        }
        Some(Value::String(kind)) if kind == "object" => {}
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {
            top.insert("type".to_owned(), json!("object"));
        }
        Some(kind) => return Err(format!("it takes the type {kind}, and arguments are always an object")),
    }
    top.entry("properties").or_insert_with(|| json!({}));
    Ok(schema)
}

/// A schema for results; the reason when it cannot be used.
pub(crate) fn output(schema: &Value) -> Result<Value, String> {
    let mut schema = schema.clone();
    convert(&mut schema)?;
    Ok(schema)
}

fn convert(schema: &mut Value) -> Result<(), String> {
    if !schema.is_object() {
        return Err("it is no object".to_owned());
    }
    if hermes_text::json::depth(schema) > MAX_DEPTH {
        return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
    }
    if schema.to_string().len() > MAX_BYTES {
        return Err(format!("it is larger than {MAX_BYTES} bytes"));
    }
    let old = relabel(schema);
    let mut walk = Walk { old, references: Vec::new(), anchors: BTreeSet::new() };
    walk.schema(schema, &mut Path::default())?;
    for (at, reference) in &walk.references {
        if !resolves(schema, reference, &walk.anchors) {
            return Err(format!("{at} refers to {reference}, which is not in it"));
        }
    }
    Ok(())
}

/// Makes the label one that validators know; says whether the old keywords for arrays and dependencies keep their meaning.
fn relabel(schema: &mut Value) -> bool {
    let label = schema.get("$schema").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(top) = schema.as_object_mut() else { return false };
    if ["draft-03", "draft-04"].iter().any(|old| label.contains(old)) {
        top.insert("$schema".to_owned(), json!(DRAFT_7));
        if let Some(id) = top.remove("id").filter(Value::is_string) {
            top.insert("$id".to_owned(), id);
        }
        return true;
    }
    let old = ["draft-06", "draft-07"].iter().any(|old| label.contains(old));
    if !old && !["2019-09", "2020-12"].iter().any(|new| label.contains(new)) {
        top.remove("$schema");
    }
    old
}

/// A place in the schema, as a JSON pointer.
#[derive(Default)]
struct Path(Vec<String>);

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("its top");
        }
        for step in &self.0 {
            write!(f, "/{}", step.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

struct Walk {
    /// The label is draft 6 or 7 (or was 3 or 4), so old keywords mean what they did.
    old: bool,
    references: Vec<(String, String)>,
    anchors: BTreeSet<String>,
}

impl Walk {
    fn schema(&mut self, schema: &mut Value, path: &mut Path) -> Result<(), String> {
        let object = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(object) => object,
            _ => return Err(format!("{path} is no schema")),
        };
        check_types(object, path)?;
        bound(object, "exclusiveMinimum", "minimum", path)?;
        bound(object, "exclusiveMaximum", "maximum", path)?;
        required(object, path)?;
        if !self.old {
            modernise(object);
        }
        nullable(object);
        for key in ["description", "title"] {
            if let Some(Value::String(text)) = object.get_mut(key) {
                *text = clean::description(text, clean::MAX_FIELD_DESCRIPTION);
            }
        }
        self.note_names(object, path);
        for key in ONE {
            if let Some(inner) = object.get_mut(key) {
                if let (Value::Array(items), "items") = (&mut *inner, key) {
                    self.list(items, key, path)?;
                } else {
                    self.step(inner, key, path)?;
                }
            }
        }
        for key in LIST {
            match object.get_mut(key) {
                None => {}
                Some(Value::Array(items)) => self.list(items, key, path)?,
                Some(_) => return Err(format!("{path} has {key}, which is no list")),
            }
        }
        for key in NAMED {
            match object.get_mut(key) {
                None => {}
                Some(Value::Object(named)) => {
                    path.0.push(key.to_owned());
                    for (name, inner) in named.iter_mut() {
                        self.step(inner, name, path)?;
                    }
                    path.0.pop();
                }
                Some(_) => return Err(format!("{path} has {key}, which is no object")),
            }
        }
        Ok(())
    }

    fn step(&mut self, inner: &mut Value, name: &str, path: &mut Path) -> Result<(), String> {
        path.0.push(name.to_owned());
        self.schema(inner, path)?;
        path.0.pop();
        Ok(())
    }

    fn list(&mut self, items: &mut [Value], key: &str, path: &mut Path) -> Result<(), String> {
        path.0.push(key.to_owned());
        for (place, item) in items.iter_mut().enumerate() {
            self.step(item, &place.to_string(), path)?;
        }
        path.0.pop();
        Ok(())
    }

    fn note_names(&mut self, object: &Map<String, Value>, path: &Path) {
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(Value::String(reference)) = object.get(key) {
                self.references.push((path.to_string(), reference.clone()));
            }
        }
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(anchor)) = object.get(key) {
                self.anchors.insert(format!("#{anchor}"));
            }
        }
        if let Some(Value::String(id)) = object.get("$id") {
            self.anchors.insert(id.clone());
        }
    }
}

fn check_types(object: &Map<String, Value>, path: &Path) -> Result<(), String> {
    let known = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    match object.get("type") {
        None => {}
        Some(kind @ Value::String(_)) if known(kind) => {}
        Some(Value::Array(kinds)) if !kinds.is_empty() && kinds.iter().all(known) => {}
        Some(kind) => return Err(format!("{path} has the type {kind}, which JSON Schema does not know")),
    }
    if object.get("enum").is_some_and(|allowed| !allowed.is_array()) {
        return Err(format!("{path} has an enum that is no list"));
    }
    for key in ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "multipleOf"] {
        if object.get(key).is_some_and(|limit| !limit.is_number()) {
            return Err(format!("{path} has {key}, which is no number"));
        }
    }
    Ok(())
}

/// A draft-4 boolean bound as a number: `true` makes the bound beside it exclusive.
fn bound(
    object: &mut Map<String, Value>,
    exclusive: &str,
    inclusive: &str,
    path: &Path,
) -> Result<(), String> {
    match object.get(exclusive) {
        Some(Value::Bool(true)) => {
            // Without a bound beside it there is nothing to exclude.
            match object.remove(inclusive) {
                Some(limit) => object.insert(exclusive.to_owned(), limit),
                None => object.remove(exclusive),
            };
        }
        Some(Value::Bool(false)) => {
            object.remove(exclusive);
        }
        None | Some(Value::Number(_)) => {}
        Some(_) => return Err(format!("{path} has {exclusive}, which is no number")),
    }
    Ok(())
}

/// A draft-3 boolean `required` on a field moves to the object that holds it.
fn required(object: &mut Map<String, Value>, path: &Path) -> Result<(), String> {
    if object.get("required").is_some_and(Value::is_boolean) {
        // At the top, or on a schema that is no field, it says nothing.
        object.remove("required");
    }
    let mut names = Vec::new();
    if let Some(Value::Object(fields)) = object.get_mut("properties") {
        for (name, field) in fields.iter_mut() {
            if let Some(field) = field.as_object_mut()
                && let Some(Value::Bool(wanted)) = field.get("required")
            {
                if *wanted {
                    names.push(json!(name));
                }
                field.remove("required");
            }
        }
    }
    match object.get_mut("required") {
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
            for name in names {
                if !list.contains(&name) {
                    list.push(name);
                }
            }
        }
        None if names.is_empty() => {}
        None => {
            object.insert("required".to_owned(), Value::Array(names));
        }
        Some(_) => return Err(format!("{path} has a required that is no list of names")),
    }
    Ok(())
}

/// The keywords of draft 7 that 2020-12 reads otherwise or not at all.
fn modernise(object: &mut Map<String, Value>) {
    if object.get("items").is_some_and(Value::is_array) {
        if let Some(items) = object.remove("items") {
            object.entry("prefixItems").or_insert(items);
        }
        if let Some(rest) = object.remove("additionalItems") {
            object.insert("items".to_owned(), rest);
        }
    } else {
        // Beside a single schema it said nothing.
        object.remove("additionalItems");
    }
    if let Some(Value::Object(dependencies)) = object.remove("dependencies") {
        for (name, dependency) in dependencies {
            let key = if dependency.is_array() { "dependentRequired" } else { "dependentSchemas" };
            if let Value::Object(table) = object.entry(key).or_insert_with(|| json!({})) {
                table.entry(name).or_insert(dependency);
            }
        }
    }
}

/// OpenAPI's `nullable`.
fn nullable(object: &mut Map<String, Value>) {
    let Some(Value::Bool(nullable)) = object.get("nullable") else { return };
    let nullable = *nullable;
    object.remove("nullable");
    if !nullable {
        return;
    }
    match object.get_mut("type") {
        Some(Value::Array(kinds)) => {
            if !kinds.iter().any(|kind| kind == "null") {
                kinds.push(json!("null"));
            }
        }
        Some(kind) => *kind = json!([kind.take(), "null"]),
        None => {
            if let Some(reference) = object.remove("$ref") {
                object.insert("anyOf".to_owned(), json!([{ "$ref": reference }, { "type": "null" }]));
            } else if let Some(key) = ["anyOf", "oneOf"].into_iter().find(|key| object.contains_key(*key))
                && let Some(Value::Array(choices)) = object.get_mut(key)
            {
                choices.push(json!({ "type": "null" }));
            }
        }
    }
    if let Some(Value::Array(allowed)) = object.get_mut("enum")
        && !allowed.contains(&Value::Null)
    {
        allowed.push(Value::Null);
    }
}

fn resolves(schema: &Value, reference: &str, anchors: &BTreeSet<String>) -> bool {
    match reference.strip_prefix('#') {
        Some("") => true,
        Some(pointer) if pointer.starts_with('/') => schema.pointer(&decode(pointer)).is_some(),
        _ => anchors.contains(reference),
    }
}

/// A pointer in a URI may have its characters percent-encoded.
fn decode(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = (byte == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
