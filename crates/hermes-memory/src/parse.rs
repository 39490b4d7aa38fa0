//! Reading an extractor's answer, whatever stands around the JSON (R3).

use hermes_core::{AttributeKey, MemoryKind, Score};
use serde_json::Value;

use crate::extract::{Draft, ExtractError};

/// A longer answer is not read: it is no list of a turn's memories.
const MAX_BYTES: usize = 64 * 1024;
/// How many braces are tried as the beginning of the JSON.
const MAX_TRIES: usize = 256;

/// The memories of an answer. An item that has no known type or no content is left out; a confidence that is missing or not between
/// 0 and 1 is `None`.
pub(crate) fn drafts(answer: &str) -> Result<Vec<Draft>, ExtractError> {
    let unreadable = |reason| ExtractError::Unreadable { reason };
    if answer.len() > MAX_BYTES {
        return Err(unreadable("it is longer than 64 KiB"));
    }
    let answer = without_thinking(answer).ok_or(unreadable("it is all thinking"))?;
    match memories(&answer).ok_or(unreadable("it holds no object with `memories`"))? {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => Ok(items.iter().filter_map(draft).collect()),
        _ => Err(unreadable("`memories` is not a list")),
    }
}

/// The answer without what the model thought aloud; `None` where the thinking never ends.
fn without_thinking(answer: &str) -> Option<String> {
    let mut rest = answer.to_owned();
    for tag in ["think", "thinking", "reasoning"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        // Some services cut the opening tag off.
        if let Some(end) = rest.find(&close)
            && rest.find(&open).is_none_or(|start| start > end)
        {
            rest.drain(..end + close.len());
        }
        while let Some(start) = rest.find(&open) {
            let end = rest.get(start..)?.find(&close)? + start + close.len();
            rest.drain(start..end);
        }
    }
    Some(rest)
}

/// The value of `memories` of the first whole object that has it, at the top or one level down.
fn memories(answer: &str) -> Option<Value> {
    let mut at = 0;
    for _ in 0..MAX_TRIES {
        let start = at + answer.get(at..)?.find('{')?;
        let mut values = serde_json::Deserializer::from_str(answer.get(start..)?).into_iter::<Value>();
        match values.next() {
            Some(Ok(Value::Object(mut fields))) => {
                if let Some(found) = fields.remove("memories") {
                    return Some(found);
                }
                for inner in fields.values_mut().filter_map(Value::as_object_mut) {
                    if let Some(found) = inner.remove("memories") {
                        return Some(found);
                    }
                }
                at = start + values.byte_offset();
            }
            _ => at = start + 1,
        }
    }
    None
}

fn draft(item: &Value) -> Option<Draft> {
    let text = |name: &str| {
        item.get(name)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let kind = match text("type")?.to_lowercase().as_str() {
        "preference" => MemoryKind::Preference,
        "fact" => MemoryKind::Fact,
        "event" => MemoryKind::Event,
        "habit" => MemoryKind::Habit,
        _ => return None,
    };
    let confidence = item.get("confidence").and_then(Value::as_f64).filter(|c| (0.0..=1.0).contains(c));
    let attribute = text("attribute").map(|attribute| AttributeKey {
        subject: key(&text("subject").unwrap_or_else(|| "user".to_owned())),
        attribute: key(&attribute),
    });
    Some(Draft {
        kind,
        content: text("content")?,
        confidence: confidence.and_then(score),
        quote: text("quote"),
        attribute: attribute.filter(|key| !key.attribute.is_empty()),
        value: text("value"),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "a number from 0 to 1 only loses digits")]
fn score(confidence: f64) -> Option<Score> {
    Score::new(confidence as f32).ok()
}

/// A key as it is compared: lower case, words joined by `_`.
fn key(text: &str) -> String {
    let words: Vec<String> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_answer_one_level_down_is_found() {
        let answer = r#"{"result":{"memories":[{"type":"fact","content":"x","confidence":0.9,"subject":"The User","attribute":"Home city"}]}}"#;
        let drafts = drafts(answer).unwrap();
        assert_eq!(drafts.len(), 1);
        let key = drafts[0].attribute.clone().unwrap();
        assert_eq!((key.subject.as_str(), key.attribute.as_str()), ("the_user", "home_city"));
    }

    #[test]
    fn thinking_without_an_end_or_a_beginning_is_no_answer() {
        assert!(drafts(r#"<think>{"memories":[]}"#).is_err());
        assert!(
            drafts(r#"{"memories":[{"type":"fact","content":"no","confidence":1}]}</think>{"memories":[]}"#)
                .is_ok_and(|drafts| drafts.is_empty())
        );
    }

    #[test]
    fn a_confidence_is_a_number_from_0_to_1() {
        let of = |confidence: &str| {
            drafts(&format!(r#"{{"memories":[{{"type":"fact","content":"x","confidence":{confidence}}}]}}"#))
                .unwrap()[0]
                .confidence
        };
        for no in ["null", "\"0.9\"", "1.7", "-0.1", "true"] {
            assert_eq!(of(no), None, "{no}");
        }
        assert_eq!(of("1"), Some(Score::ONE));
    }

    #[test]
    fn many_braces_end_in_an_error_soon() {
        assert!(drafts(&"{".repeat(60_000)).is_err());
    }
}
