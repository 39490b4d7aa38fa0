//! What services answer, as far as it is read. Unknown fields are passed over, and nearly all may be missing or null.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A piece of a streamed answer, or a whole answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow)]
    pub(crate) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    pub(crate) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
    pub(crate) object: Option<String>,
}

/// One of the answers that were asked for. Only the first is read.
#[derive(Debug, Deserialize)]
pub(crate) struct Choice<'a> {
    #[serde(default)]
    pub(crate) index: Option<u64>,
    #[serde(borrow)]
    pub(crate) delta: Option<Said<'a>>,
    #[serde(borrow)]
    pub(crate) message: Option<Said<'a>>,
    pub(crate) finish_reason: Option<String>,
}

/// What is said, in a piece or as a whole.
#[derive(Debug, Deserialize)]
pub(crate) struct Said<'a> {
    #[serde(borrow)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) tool_calls: Option<Vec<Fragment<'a>>>,
    /// The thinking of DeepSeek, Moonshot, llama.cpp and others.
    #[serde(borrow)]
    pub(crate) reasoning_content: Option<&'a RawValue>,
    /// The thinking of OpenRouter, vLLM and others.
    #[serde(borrow)]
    pub(crate) reasoning: Option<&'a RawValue>,
    /// OpenRouter's signed or encrypted thinking.
    #[serde(borrow)]
    pub(crate) reasoning_details: Option<&'a RawValue>,
}

/// A part of a call, or a whole one.
#[derive(Debug, Deserialize)]
pub(crate) struct Fragment<'a> {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<String>,
    #[serde(borrow)]
    pub(crate) function: Option<Function<'a>>,
    /// Google's signature of the thinking before a call, which has to come back with it.
    #[serde(borrow)]
    pub(crate) extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Function<'a> {
    pub(crate) name: Option<String>,
    #[serde(borrow)]
    pub(crate) arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
}

/// The text of a content: a string, or the text parts of a list.
pub(crate) fn text(raw: Option<&RawValue>) -> Result<String, serde_json::Error> {
    let Some(raw) = raw else { return Ok(String::new()) };
    if !raw.get().starts_with('[') {
        return serde_json::from_str(raw.get());
    }
    let parts: Vec<Part> = serde_json::from_str(raw.get())?;
    Ok(parts
        .into_iter()
        .filter(|part| part.kind.as_deref().is_none_or(|kind| kind == "text"))
        .filter_map(|part| part.text)
        .collect())
}

/// The text of arguments: the string's, or the JSON itself where a service sends an object.
pub(crate) fn arguments(raw: Option<&RawValue>) -> Result<Cow<'_, str>, serde_json::Error> {
    match raw {
        None => Ok(Cow::Borrowed("")),
        Some(raw) if raw.get().starts_with('"') => serde_json::from_str(raw.get()).map(Cow::Owned),
        Some(raw) => Ok(Cow::Borrowed(raw.get())),
    }
}
