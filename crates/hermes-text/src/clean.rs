//! Cleaning untrusted text before it enters a context (M5, M8).
//!
//! What a person would not see must not reach the model: control characters, terminal sequences, invisible Unicode. What
//! only costs tokens goes too: markup, the white space of JSON, runs of blank lines.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::{cut::truncate_bytes, html};

mod invisible;

pub use invisible::strip_invisible;

/// Cleans a text for a context.
///
/// - Terminal sequences, control and invisible characters go ([`strip_ansi`], [`strip_invisible`]); line ends become `\n`.
/// - A text that is JSON as a whole is compacted ([`compact_json`]).
/// - A text that evidently is HTML loses its markup, scripts and styles; blocks become lines, entities characters. Only tags that
///   HTML knows count, so code with `<T>` or `a < b` survives, and Markdown with code fences is left as it is.
/// - Spaces at line ends go, and of several blank lines one stays.
///
/// Cleaning a clean text changes nothing.
///
/// ```
/// use hermes_text::clean_text;
/// assert_eq!(clean_text("<p>Fish &amp; chips</p><script>steal()</script>"), "Fish & chips");
/// assert_eq!(clean_text("{ \"a\" : [1, 2.0] }"), r#"{"a":[1,2.0]}"#);
/// assert_eq!(clean_text("\u{1b}[31mred\u{1b}[0m\u{202e}"), "red");
/// assert_eq!(clean_text("if a < b { Vec::<T>::new() }"), "if a < b { Vec::<T>::new() }");
/// ```
#[must_use]
pub fn clean_text(text: &str) -> String {
    let text = strip_ansi(text);
    let text = strip_invisible(&text);
    if let Some(json) = compact_json(&text) {
        return json;
    }
    match html::to_text(&text) {
        Some(plain) => {
            let plain = tidy_lines(&strip_invisible(&plain));
            compact_json(&plain).unwrap_or(plain)
        }
        None => tidy_lines(&text),
    }
}

/// The text without white space between tokens, if the whole text is one JSON array or object; otherwise `None`.
///
/// Nothing else changes: order of keys, spelling of numbers and strings stay, so no digit is lost.
///
/// ```
/// assert_eq!(hermes_text::compact_json("[ 1.0,\n 12345678901234567890123 ]").as_deref(), Some("[1.0,12345678901234567890123]"));
/// assert_eq!(hermes_text::compact_json("{ not json }"), None);
/// ```
#[must_use]
pub fn compact_json(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let _valid: &RawValue = serde_json::from_str(text).ok()?;
    let mut compact = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for letter in text.chars() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
        } else if letter == '"' {
            in_string = true;
        } else if letter.is_ascii_whitespace() {
            continue;
        }
        compact.push(letter);
    }
    Some(compact)
}

/// The text without terminal sequences: colours, cursor movement, titles, links (ECMA-48).
///
/// A sequence that never ends loses only its introducer, so that it cannot swallow the text.
#[must_use]
pub fn strip_ansi(text: &str) -> Cow<'_, str> {
    if !text.contains(['\u{1b}', '\u{9b}', '\u{9d}', '\u{90}']) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\u{1b}', '\u{9b}', '\u{9d}', '\u{90}']) {
        let (before, sequence) = rest.split_at(at);
        plain.push_str(before);
        rest = sequence.get(sequence_length(sequence)..).unwrap_or_default();
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The longest string sequence believed to be one: a link or a title, not a page of text.
const LONGEST_SEQUENCE_BYTES: usize = 4_096;

/// How many bytes the sequence at the start of the text takes.
fn sequence_length(text: &str) -> usize {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return 0 };
    let (kind, introducer) = match first {
        '\u{9b}' => ('[', 2),
        '\u{9d}' => (']', 2),
        '\u{90}' => ('P', 2),
        _ => match letters.next() {
            Some(kind) if kind.is_ascii() => (kind, 2),
            _ => return first.len_utf8(),
        },
    };
    let body = text.get(introducer..).unwrap_or_default();
    match kind {
        '[' => {
            let parameters = body.bytes().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
            let ends = body.as_bytes().get(parameters).is_some_and(|byte| matches!(byte, 0x40..=0x7e));
            if ends { introducer + parameters + 1 } else { introducer }
        }
        ']' | 'P' | 'X' | '^' | '_' => {
            let body = truncate_bytes(body, LONGEST_SEQUENCE_BYTES);
            let end = ["\u{7}", "\u{1b}\\", "\u{9c}"]
                .iter()
                .filter_map(|end| body.find(end).map(|at| at + end.len()))
                .min();
            introducer + end.unwrap_or(0)
        }
        // Escape, intermediate bytes, final byte.
        ' '..='/' => {
            let between = body.bytes().take_while(|byte| matches!(byte, 0x20..=0x2f)).count();
            let ends = body.as_bytes().get(between).is_some_and(|byte| matches!(byte, 0x30..=0x7e));
            if ends { introducer + between + 1 } else { first.len_utf8() }
        }
        '0'..='~' => introducer,
        _ => first.len_utf8(),
    }
}

/// Lines without spaces at their ends, one blank line at most in a row, none at either end.
fn tidy_lines(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut blank = false;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() {
            blank = true;
            continue;
        }
        if !tidy.is_empty() {
            tidy.push_str(if blank { "\n\n" } else { "\n" });
        }
        blank = false;
        tidy.push_str(line);
    }
    tidy
}

#[cfg(test)]
mod tests;
