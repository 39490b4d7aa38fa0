//! Cutting long texts.
//!
//! The encoder's pattern matcher gives up, by a panic, where one match takes about a million steps: a few megabytes of
//! white space are enough. A long text is therefore encoded in parts, which bounds what one match can take (TC4).

/// The most bytes that are encoded in one go.
pub(crate) const PART_BYTES: usize = 128 * 1024;

/// Cuts a text into parts of at most `limit` bytes (at least one character).
///
/// A cut lies between a letter or digit and a blank, a line break or a Chinese punctuation mark, where it changes no count: in
/// both vocabularies a blank or a mark begins a piece of its own or belongs to what follows, never to a word before it.
/// Only where a part has no such place is it cut anywhere, and the count may be off by a few tokens.
pub(crate) fn parts(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (part, after) = rest.split_at_checked(cut(rest, limit)).unwrap_or((rest, ""));
        rest = after;
        Some(part)
    })
}

fn cut(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    let end = match text.floor_char_boundary(limit) {
        0 => text.ceil_char_boundary(1),
        end => end,
    };
    let head = text.get(..end).unwrap_or(text);
    let mut follows = None;
    for (at, character) in head.char_indices().rev() {
        if is_word(character) && follows.is_some_and(begins_anew) {
            return at + character.len_utf8();
        }
        follows = Some(character);
    }
    end
}

const fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '\u{4e00}'..='\u{9fff}')
}

const fn begins_anew(character: char) -> bool {
    matches!(character, ' ' | '\n' | '\u{3001}' | '\u{3002}' | '\u{ff0c}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tiktoken_rs::{cl100k_base_singleton, o200k_base_singleton};

    use super::*;

    #[test]
    fn cuts_between_a_word_and_what_follows() {
        for (text, limit, expected) in [
            ("", 4, vec![]),
            ("one two", 7, vec!["one two"]),
            ("one two three", 9, vec!["one two", " three"]),
            ("你好，世界。", 12, vec!["你好", "，世界。"]),
            ("🎉🎉", 3, vec!["🎉", "🎉"]),
            ("aaaaa", 2, vec!["aa", "aa", "a"]),
            ("a    b", 3, vec!["a", "   ", " b"]),
        ] {
            assert_eq!(parts(text, limit).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn parts_make_up_the_text(text in any::<String>(), limit in 0_usize..40) {
            let parts: Vec<&str> = parts(&text, limit).collect();
            prop_assert_eq!(parts.concat(), text.as_str());
        }

        #[test]
        fn a_cut_behind_a_word_changes_no_count(
            text in "([a-zA-Z]{1,7}|[0-9]{1,5}|[一-龥]{1,4}|'s|[ \n\t]{1,3}|[，。、！.,;'\"(){}/<|>-]{1,3}|[éñ🎉\u{301}]){1,40}",
            limit in 8_usize..60,
        ) {
            let parts: Vec<&str> = parts(&text, limit).collect();
            let (_, inner) = parts.split_last().unwrap_or((&"", &[]));
            let whole_cuts = inner.iter().all(|part| part.ends_with(is_word))
                && parts.iter().skip(1).all(|part| part.starts_with(begins_anew));
            prop_assume!(whole_cuts);
            for encoder in [o200k_base_singleton(), cl100k_base_singleton()] {
                let sum: usize = parts.iter().map(|part| encoder.count_ordinary(part)).sum();
                prop_assert_eq!(sum, encoder.count_ordinary(&text));
            }
        }
    }
}
