//! What remains of a server's texts when they enter a context (M5, M8). Pure.

use hermes_text::{clean_text, head_tail, strip_ansi, strip_invisible, truncate_chars};

/// The longest description of a tool, in characters. Some honest ones have three thousand.
pub(crate) const MAX_DESCRIPTION: usize = 4000;

/// The longest description inside a schema, in characters.
pub(crate) const MAX_FIELD_DESCRIPTION: usize = 1000;

/// The longest name that is shown, in characters.
pub(crate) const MAX_NAME: usize = 120;

/// The longest error that is passed on, in bytes.
const MAX_ERROR: usize = 4096;

/// A description: what cannot be seen goes, angle brackets stay, since descriptions are full of harmless ones; cut to a length.
pub(crate) fn description(text: &str, limit: usize) -> String {
    let text = strip_ansi(text);
    truncate_chars(strip_invisible(&text).trim(), limit).into_owned()
}

/// A result's text: markup, control and invisible characters go, JSON is compacted.
pub(crate) fn result(text: &str) -> String {
    clean_text(text)
}

/// An error's text: cleaned and cut.
pub(crate) fn message(text: &str) -> String {
    let text = clean_text(text);
    head_tail(text.trim(), MAX_ERROR, str::len, |omitted| format!("\n[{omitted} characters left out]\n")).text
}

/// A text inside a JSON value: what cannot be seen goes.
pub(crate) fn leaf(text: &str) -> String {
    let text = strip_ansi(text);
    strip_invisible(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_lose_what_cannot_be_seen() {
        assert_eq!(description(" Pays\u{200b}\u{202e} a <bill>\u{1b}[31m. ", 100), "Pays a <bill>.");
        assert_eq!(description(&"长".repeat(50), 10).chars().count(), 10);
    }

    #[test]
    fn errors_are_cleaned_and_cut() {
        assert_eq!(message("<b>no</b>\u{7}"), "no");
        let long = message(&"x ".repeat(50_000));
        assert!(long.len() <= MAX_ERROR && long.contains("characters left out"));
    }
}
