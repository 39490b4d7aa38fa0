//! What registration does with a schema beyond compiling it: bounds, local references, and closing what is silent (T2, T3).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The most bytes a schema may have: far above the 60 KB of the largest known public ones, far below what would hurt.
pub(crate) const MAX_BYTES: usize = 256 * 1024;

/// The deepest nesting of a schema. Validation recurses as deep as this.
pub(crate) const MAX_DEPTH: usize = 64;

/// How many subschemas there may be once each reference is written out, recursion cut: few schemas reach a hundred.
const MAX_EXPANDED: usize = 20_000;

/// Keywords whose value is data or text, not a schema.
const DATA: [&str; 6] = ["enum", "const", "default", "examples", "example", "description"];

/// Keywords that apply a schema to the same value.
const IN_PLACE_LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE_ONE: [&str; 4] = ["not", "if", "then", "else"];

/// Keywords whose value is a map from names to schemas.
const MAPS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Something wrong at a place of the schema.
#[derive(Debug)]
pub(crate) struct SchemaFault {
    pub(crate) pointer: String,
    pub(crate) reason: String,
}

impl SchemaFault {
    fn new(pointer: &str, reason: impl Into<String>) -> Self {
        Self { pointer: pointer.to_owned(), reason: reason.into() }
    }
}

/// Checks size, depth and references before anything is compiled.
pub(crate) fn check(root: &Value) -> Result<(), SchemaFault> {
    let depth = hermes_text::json::depth(root);
    if depth > MAX_DEPTH {
        return Err(SchemaFault::new(
            "",
            format!("it is nested {depth} levels deep; at most {MAX_DEPTH} are allowed"),
        ));
    }
    let bytes = root.to_string().len();
    if bytes > MAX_BYTES {
        return Err(SchemaFault::new("", format!("it has {bytes} bytes; at most {MAX_BYTES} are allowed")));
    }
    check_references(root, root, "")?;
    let mut sizes = BTreeMap::from([("#", None)]);
    let size = expanded(root, root, "", &mut sizes, &mut BTreeSet::from(["#"]))?;
    if size > MAX_EXPANDED {
        return Err(SchemaFault::new(
            "",
            format!("its references unfold to more than {MAX_EXPANDED} schemas; share fewer"),
        ));
    }
    Ok(())
}

/// Every `$ref` is a JSON pointer into this document that leads somewhere; names for other ways of referring are refused.
fn check_references(root: &Value, schema: &Value, pointer: &str) -> Result<(), SchemaFault> {
    let Value::Object(fields) = schema else { return Ok(()) };
    for (key, value) in fields {
        let here = format!("{pointer}/{}", escape(key));
        match (key.as_str(), value) {
            ("$ref", Value::String(target)) => {
                if target != "#" && !target.starts_with("#/") {
                    let shown = hermes_text::truncate_chars(target, 80);
                    return Err(SchemaFault::new(
                        &here,
                        format!(
                            "$ref {shown:?} is not local; only references such as #/$defs/Name are followed"
                        ),
                    ));
                }
                if resolve(root, target).is_none() {
                    let shown = hermes_text::truncate_chars(target, 80);
                    return Err(SchemaFault::new(
                        &here,
                        format!("$ref {shown:?} leads nowhere in this schema"),
                    ));
                }
            }
            ("$dynamicRef" | "$recursiveRef" | "$anchor" | "$dynamicAnchor" | "$id", Value::String(_))
                if !pointer.is_empty() || key != "$id" =>
            {
                return Err(SchemaFault::new(
                    &here,
                    format!("{key} is not supported; use $ref with a JSON pointer"),
                ));
            }
            _ => {}
        }
    }
    for (here, child) in children(fields, pointer) {
        check_references(root, child, &here)?;
    }
    Ok(())
}

/// How many schemas this one stands for with its references written out.
///
/// A reference that leads back to itself without going deeper into the value would never end and is refused; one that goes deeper, as
/// in a recursive type, grows with the value alone and counts once. `in_place` holds the references entered for the present value.
fn expanded<'a>(
    root: &'a Value,
    schema: &'a Value,
    pointer: &str,
    sizes: &mut BTreeMap<&'a str, Option<usize>>,
    in_place: &mut BTreeSet<&'a str>,
) -> Result<usize, SchemaFault> {
    let Value::Object(fields) = schema else { return Ok(1) };
    let mut size = 1_usize;
    if let Some(Value::String(target)) = fields.get("$ref") {
        if !in_place.insert(target) {
            return Err(SchemaFault::new(pointer, format!("$ref {target:?} refers to itself without end")));
        }
        let referred = match sizes.get(target.as_str()) {
            Some(known) => known.unwrap_or(1),
            None => {
                sizes.insert(target, None);
                let next = resolve(root, target).unwrap_or(&Value::Null);
                let counted = expanded(root, next, target.trim_start_matches('#'), sizes, in_place)?;
                sizes.insert(target, Some(counted));
                counted
            }
        };
        in_place.remove(target.as_str());
        size = size.saturating_add(referred);
    }
    for (key, here, child) in keyed_children(fields, pointer) {
        if matches!(key, "$defs" | "definitions") {
            continue;
        }
        let same_value =
            IN_PLACE_LIST.contains(&key) || IN_PLACE_ONE.contains(&key) || key == "dependentSchemas";
        let counted = if same_value {
            expanded(root, child, &here, sizes, in_place)?
        } else {
            expanded(root, child, &here, sizes, &mut BTreeSet::new())?
        };
        size = size.saturating_add(counted);
    }
    Ok(size)
}

/// The schemas inside one schema object, with their places.
fn children<'a>(fields: &'a Map<String, Value>, pointer: &str) -> Vec<(String, &'a Value)> {
    keyed_children(fields, pointer).into_iter().map(|(_, here, child)| (here, child)).collect()
}

fn keyed_children<'a>(fields: &'a Map<String, Value>, pointer: &str) -> Vec<(&'a str, String, &'a Value)> {
    let mut found = Vec::new();
    for (key, value) in fields {
        let here = format!("{pointer}/{}", escape(key));
        match value {
            _ if DATA.contains(&key.as_str()) => {}
            Value::Object(map) if MAPS.contains(&key.as_str()) => {
                found.extend(
                    map.iter().map(|(name, child)| (key.as_str(), format!("{here}/{}", escape(name)), child)),
                );
            }
            Value::Object(_) => found.push((key.as_str(), here, value)),
            Value::Array(items) => {
                found.extend(
                    items.iter().enumerate().map(|(at, child)| (key.as_str(), format!("{here}/{at}"), child)),
                );
            }
            _ => {}
        }
    }
    found
}

/// What a local reference points at.
pub(crate) fn resolve<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    let pointer = target.strip_prefix('#')?;
    // A reference is a URI fragment: `%25` and the like may stand for letters of a name.
    root.pointer(pointer).or_else(|| root.pointer(&percent_decoded(pointer)))
}

/// Follows references until there is a schema that is none; a few steps, since cycles are refused.
pub(crate) fn resolved<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    for _ in 0..MAX_DEPTH {
        match schema.get("$ref").and_then(Value::as_str).and_then(|target| resolve(root, target)) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One segment of a JSON pointer, escaped (RFC 6901).
pub(crate) fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

/// The reverse of [`escape`].
pub(crate) fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// The names that a schema gives to fields, following references and alternatives.
pub(crate) fn field_names(root: &Value, schema: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect_names(root, schema, &mut names, MAX_DEPTH);
    names
}

fn collect_names(root: &Value, schema: &Value, names: &mut BTreeSet<String>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let schema = resolved(root, schema);
    if let Some(Value::Object(properties)) = schema.get("properties") {
        names.extend(properties.keys().cloned());
    }
    for key in IN_PLACE_LIST {
        for branch in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            collect_names(root, branch, names, depth);
        }
    }
    for branch in ["if", "then", "else"].iter().filter_map(|key| schema.get(*key)) {
        collect_names(root, branch, names, depth);
    }
}

/// A copy of a schema in which every object that names its fields and is silent about others forbids them (T3).
///
/// The top forbids even when it names none. A nested object that names no field is a map and stays open. Where an object's fields are
/// spread over `allOf` and the like, they are forbidden by `unevaluatedProperties`; drafts before 2019-09 do not know that keyword,
/// and such an object stays open there.
pub(crate) fn closed(root: &Value) -> Value {
    let mut shared = BTreeSet::new();
    collect_mixed(root, &mut shared);
    let old_draft = root.get("$schema").and_then(Value::as_str).is_some_and(|draft| {
        ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|old| draft.contains(old))
    });
    let closing = Closing { shared, old_draft };
    let mut copy = root.clone();
    closing.close(&mut copy, "", Position::Top);
    copy
}

/// References that are used as a part of a larger object: their targets must stay open, the larger object is closed.
fn collect_mixed(schema: &Value, shared: &mut BTreeSet<String>) {
    let Value::Object(fields) = schema else { return };
    if is_mixed(fields) {
        for (key, _, part) in keyed_children(fields, "") {
            if IN_PLACE_LIST.contains(&key) || IN_PLACE_ONE.contains(&key) || key == "dependentSchemas" {
                collect_references(part, shared);
            }
        }
        shared.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
    }
    for (_, child) in children(fields, "") {
        collect_mixed(child, shared);
    }
}

fn collect_references(schema: &Value, shared: &mut BTreeSet<String>) {
    shared.extend(schema.get("$ref").and_then(Value::as_str).map(str::to_owned));
    let Value::Object(fields) = schema else { return };
    for (key, _, part) in keyed_children(fields, "") {
        if IN_PLACE_LIST.contains(&key) || IN_PLACE_ONE.contains(&key) {
            collect_references(part, shared);
        }
    }
}

/// Whether an object's fields are spread over several schemas.
fn is_mixed(fields: &Map<String, Value>) -> bool {
    let applies = |key: &&str| fields.contains_key(*key);
    let own = fields.contains_key("properties");
    let alternatives = ["anyOf", "oneOf", "if", "$ref", "dependentSchemas"].iter().any(applies);
    fields.contains_key("allOf") || (own && alternatives) || fields.contains_key("if")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// The whole of the arguments.
    Top,
    /// The schema of a value of its own.
    Value,
    /// A part of a larger object, which is closed itself.
    Part,
}

struct Closing {
    shared: BTreeSet<String>,
    old_draft: bool,
}

impl Closing {
    fn close(&self, schema: &mut Value, pointer: &str, position: Position) {
        let Value::Object(fields) = schema else { return };
        let mixed = is_mixed(fields);
        let part = position == Position::Part || self.shared.contains(&format!("#{pointer}"));
        for (key, value) in fields.iter_mut() {
            let here = format!("{pointer}/{}", escape(key));
            let inside = match key.as_str() {
                "anyOf" | "oneOf" if !mixed && !part => Position::Value,
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas" => {
                    Position::Part
                }
                _ => Position::Value,
            };
            match value {
                _ if DATA.contains(&key.as_str()) => {}
                Value::Object(map) if MAPS.contains(&key.as_str()) => {
                    for (name, child) in map.iter_mut() {
                        self.close(child, &format!("{here}/{}", escape(name)), inside);
                    }
                }
                // `not` means the opposite: nothing inside it is closed.
                Value::Object(_) if key != "not" => self.close(value, &here, inside),
                Value::Array(items) => {
                    for (at, child) in items.iter_mut().enumerate() {
                        self.close(child, &format!("{here}/{at}"), inside);
                    }
                }
                _ => {}
            }
        }
        let silent =
            !fields.contains_key("additionalProperties") && !fields.contains_key("unevaluatedProperties");
        let names_fields = fields.contains_key("properties") || (mixed && is_object_schema(fields));
        if !silent || part || !(names_fields || position == Position::Top) {
            return;
        }
        if !mixed {
            fields.insert("additionalProperties".to_owned(), Value::Bool(false));
        } else if !self.old_draft {
            fields.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
        }
    }
}

/// Whether a schema that combines others speaks of an object with named fields somewhere in them.
fn is_object_schema(fields: &Map<String, Value>) -> bool {
    keyed_children(fields, "").iter().any(|(key, _, part)| {
        (IN_PLACE_LIST.contains(key) || matches!(*key, "then" | "else"))
            && part.as_object().is_some_and(|part| part.contains_key("properties") || is_object_schema(part))
    })
}

#[cfg(test)]
mod tests;
