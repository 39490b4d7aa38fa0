//! Text as PostgreSQL can keep it: its `text` holds every character but NUL.
//!
//! U+0000 is written as U+0001 U+0001 and U+0001 as U+0001 U+0002. Two texts differ when their escaped forms do, and
//! sort by bytes as these do, so that keys and their order stay what the contracts say. All other text is kept as it
//! is. JSON needs none of this: it has no such character but in an escape of its own.

use std::borrow::Cow;

const MARK: char = '\u{1}';

/// The text as it is stored and compared.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if text.contains(['\0', MARK]) {
        Cow::Owned(text.replace(MARK, "\u{1}\u{2}").replace('\0', "\u{1}\u{1}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text that was stored.
pub(crate) fn plain(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        plain.push(match c {
            MARK if rest.next() == Some(MARK) => '\0',
            c => c,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_without_a_nul_on_the_way() {
        for text in ["", "a", "晚餐", "\0", "a\0b", "\u{1}", "\u{1}\u{1}\0\u{2}\0\0", "\0\u{2}\u{1}x"] {
            let stored = escaped(text).into_owned();
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(plain(stored), text, "{text:?}");
        }
    }

    #[test]
    fn escaped_texts_sort_as_the_texts_do() {
        let pieces = ["", "\0", "\u{1}", "\u{2}", "a"];
        let texts: Vec<String> =
            pieces.iter().flat_map(|a| pieces.iter().map(move |b| format!("{a}{b}"))).collect();
        for a in &texts {
            for b in &texts {
                assert_eq!(a.cmp(b), escaped(a).cmp(&escaped(b)), "{a:?} {b:?}");
            }
        }
    }
}
