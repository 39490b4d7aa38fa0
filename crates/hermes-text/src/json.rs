//! Canonical JSON (RFC 8785) and a few questions about JSON values (T8).

use serde_json::Value;

/// The deepest nesting [`canonical`] accepts: the same as what `serde_json` accepts when it parses.
pub const MAX_DEPTH: usize = 128;

/// The largest integer a double holds exactly together with all smaller ones (2^53 - 1, RFC 7493 §2.2).
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Why a value has no canonical form.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("JSON is nested deeper than {MAX_DEPTH} levels; flatten it")]
    TooDeep,
    /// The serializer refused the value.
    #[error("JSON has no canonical form")]
    Serialize(#[source] serde_json::Error),
}

/// The canonical form of a value by RFC 8785: keys sorted, no spaces, one spelling for each number and string.
///
/// Equal values give equal text, whatever the order of their keys, so the text (or its hash) can serve as a key.
///
/// RFC 8785 writes every number as a double and leaves larger integers to strings; since two order numbers that differ
/// in the last digit must not share one key, an integer beyond ±(2^53 − 1) keeps all its digits here.
///
/// # Errors
/// [`CanonicalError::TooDeep`] beyond [`MAX_DEPTH`] levels.
///
/// ```
/// use serde_json::json;
/// let a = hermes_text::canonical(&json!({"b": 1.0, "a": [true, null]}))?;
/// assert_eq!(a, r#"{"a":[true,null],"b":1}"#);
/// # Ok::<(), hermes_text::CanonicalError>(())
/// ```
pub fn canonical(value: &Value) -> Result<String, CanonicalError> {
    let mut large_integers = false;
    walk(value, |value, depth| {
        large_integers |= is_large_integer(value);
        if depth > MAX_DEPTH { Err(CanonicalError::TooDeep) } else { Ok(()) }
    })?;
    let mut out = String::new();
    if large_integers {
        write(value, &mut out)?;
    } else {
        write_leaf(value, &mut out)?;
    }
    Ok(out)
}

/// Writes containers itself, so that large integers in them can be written exactly.
fn write(value: &Value, out: &mut String) -> Result<(), CanonicalError> {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                write(item, out)?;
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            for (index, (key, item)) in fields.iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                write_leaf(key, out)?;
                out.push(':');
                write(item, out)?;
            }
            out.push_str(if fields.is_empty() { "{}" } else { "}" });
        }
        Value::Number(number) if is_large_integer(value) => out.push_str(&number.to_string()),
        leaf => write_leaf(leaf, out)?,
    }
    Ok(())
}

fn write_leaf(value: &impl serde::Serialize, out: &mut String) -> Result<(), CanonicalError> {
    out.push_str(&serde_json_canonicalizer::to_string(value).map_err(CanonicalError::Serialize)?);
    Ok(())
}

fn is_large_integer(value: &Value) -> bool {
    let size = value.as_i64().map(i64::unsigned_abs).or(value.as_u64());
    size.is_some_and(|size| size > MAX_SAFE_INTEGER)
}

/// How deep a value is nested: 0 for a scalar, 1 for a flat or empty array or object.
#[must_use]
pub fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    walk(value, |_, depth| {
        deepest = deepest.max(depth);
        Ok::<_, std::convert::Infallible>(())
    })
    .unwrap_or_else(|never| match never {});
    deepest
}

/// Whether two values mean the same in JSON, where `1`, `1.0` and `1e0` are one number and the order of keys says nothing.
#[must_use]
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            // Integers are compared as integers: as doubles, neighbours beyond 2^53 would be equal.
            a == b || (!(is_integer(a) && is_integer(b)) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => left == right,
    }
}

fn is_integer(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64()
}

/// Visits every value with the number of containers around and including it; by a list, not by recursion, so that no depth exhausts the stack.
fn walk<E>(value: &Value, mut visit: impl FnMut(&Value, usize) -> Result<(), E>) -> Result<(), E> {
    let mut open = vec![(value, 0_usize)];
    while let Some((value, around)) = open.pop() {
        let depth = around + usize::from(value.is_array() || value.is_object());
        visit(value, depth)?;
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth))),
            Value::Object(fields) => open.extend(fields.values().map(|item| (item, depth))),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{CanonicalError, MAX_DEPTH, canonical, depth, equal};

    /// Arbitrary JSON, not too deep.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            prop::num::f64::NORMAL.prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn reversed(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(reversed).collect(),
            Value::Object(fields) => Value::Object(
                fields.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect(),
            ),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn canonical_of_canonical_is_the_same(value in value()) {
            let once = canonical(&value).unwrap();
            let parsed: Value = serde_json::from_str(&once).unwrap();
            prop_assert!(equal(&parsed, &value));
            prop_assert_eq!(canonical(&parsed).unwrap(), once);
        }

        #[test]
        fn the_order_of_keys_says_nothing(value in value()) {
            prop_assert_eq!(canonical(&reversed(&value)).unwrap(), canonical(&value).unwrap());
        }
    }

    #[test]
    fn the_examples_of_rfc_8785_hold() {
        // RFC 8785 §3.2.2 and §3.2.3 (keys sorted by UTF-16 code units).
        let input = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
            "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
        let value: Value = serde_json::from_str(input).unwrap();
        assert_eq!(
            canonical(&value).unwrap(),
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
        );
        let value =
            json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7});
        assert_eq!(
            canonical(&value).unwrap(),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
        );
    }

    #[test]
    fn integers_that_a_double_would_change_keep_their_digits() {
        let order =
            |id: u64| json!({"z": [id, -1], "\u{fb33}": {}, "\u{1f600}": [], "a\n": i64::MIN, "f": 1.0});
        assert_eq!(
            canonical(&order(9_007_199_254_740_993)).unwrap(),
            "{\"a\\n\":-9223372036854775808,\"f\":1,\"z\":[9007199254740993,-1],\"\u{1f600}\":[],\"\u{fb33}\":{}}"
        );
        assert_ne!(
            canonical(&order(9_007_199_254_740_993)).unwrap(),
            canonical(&order(9_007_199_254_740_992)).unwrap()
        );
        assert_eq!(canonical(&json!(u64::MAX)).unwrap(), "18446744073709551615");
    }

    #[test]
    fn depth_is_counted_and_limited() {
        assert_eq!((depth(&json!(1)), depth(&json!([])), depth(&json!({"a": [1]}))), (0, 1, 2));
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(canonical(&nested(MAX_DEPTH)).is_ok());
        assert!(matches!(canonical(&nested(MAX_DEPTH + 1)), Err(CanonicalError::TooDeep)));
    }

    #[test]
    fn equal_compares_meaning() {
        assert!(equal(&json!({"a": 1, "b": [2.0]}), &json!({"b": [2], "a": 1.0})));
        assert!(!equal(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64)));
        assert!(!equal(&json!([1]), &json!([1, 2])));
        assert!(!equal(&json!("1"), &json!(1)));
    }
}
