//! Characters that show nothing but say something to a model: which go, and which a script or an emoji needs.

use std::borrow::Cow;

/// The text without control characters (but `\n` and `\t`) and without invisible Unicode: zero-width characters, marks
/// and overrides of direction, tag characters, fillers, stray variation selectors (M8).
///
/// Kept are the joiners that hold an emoji together or that Arabic and Indic scripts are written with, one variation
/// selector behind a character that has variants, and the tags that make a regional flag. `\r\n`, `\r` and Unicode's
/// line separators become `\n`.
///
/// ```
/// use hermes_text::strip_invisible;
/// assert_eq!(strip_invisible("pay\u{200b}pal\u{202e}"), "paypal");
/// assert_eq!(strip_invisible("hi\u{e0041}\u{e0042}"), "hi");
/// assert_eq!(strip_invisible("👨\u{200d}👩\u{200d}👧"), "👨\u{200d}👩\u{200d}👧");
/// ```
#[must_use]
pub fn strip_invisible(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_suspect) else { return Cow::Borrowed(text) };
    // The one before may be the base of a kept mark, so the loop starts with it.
    let (clean, _) = text.split_at(first);
    let mut clean = String::from(clean);
    clean.reserve(text.len() - first);
    let mut rest = text.get(first..).unwrap_or_default();
    while let Some(letter) = rest.chars().next() {
        let after = rest.get(letter.len_utf8()..).unwrap_or_default();
        rest = after;
        if !is_suspect(letter) {
            clean.push(letter);
            continue;
        }
        let previous = clean.chars().next_back();
        let next = after.chars().next();
        match letter {
            '\r' => {
                rest = after.strip_prefix('\n').unwrap_or(after);
                clean.push('\n');
            }
            '\u{2028}' | '\u{2029}' | '\u{85}' => clean.push('\n'),
            '\u{200c}' | '\u{200d}' if previous.is_some_and(|previous| joins(previous, next, letter)) => {
                clean.push(letter);
            }
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
                if previous.is_some_and(|previous| varies(previous, next, letter)) =>
            {
                clean.push(letter);
            }
            '\u{e0020}'..='\u{e007f}' if previous == Some('🏴') => {
                if let Some(tags) = flag(letter, after) {
                    clean.push(letter);
                    clean.push_str(tags);
                    rest = after.get(tags.len()..).unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    Cow::Owned(clean)
}

/// Whether a character may have to go.
fn is_suspect(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_ascii_control() && !matches!(letter, '\n' | '\t');
    }
    matches!(letter,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a joiner (or non-joiner) between these two does its work.
fn joins(previous: char, next: Option<char>, joiner: char) -> bool {
    let Some(next) = next else { return false };
    let emoji = joiner == '\u{200d}' && (is_emoji(previous) || previous == '\u{fe0f}') && is_emoji(next);
    emoji || shapes_letters(previous) && shapes_letters(next)
}

/// Scripts whose letters change shape by their neighbours: Arabic, Syriac, the Indic family, Myanmar, Khmer, Mongolian.
fn shapes_letters(letter: char) -> bool {
    matches!(letter,
        '\u{600}'..='\u{61b}' | '\u{61d}'..='\u{77f}' | '\u{8a0}'..='\u{dff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}' | '\u{1820}'..='\u{18af}')
}

/// Whether a variation selector belongs to the character before it.
fn varies(previous: char, next: Option<char>, selector: char) -> bool {
    match selector {
        '\u{fe0e}' | '\u{fe0f}' => {
            is_emoji(previous) || matches!(previous, '0'..='9' | '#' | '*') && next == Some('\u{20e3}')
        }
        // Variants of ideographs (Unicode's Ideographic Variation Database) and of mathematical signs.
        '\u{e0100}'..='\u{e01ef}' => crate::terms::is_han(previous),
        _ => {
            crate::terms::is_han(previous)
                || matches!(previous, '\u{2205}'..='\u{2aff}' | '\u{1000}'..='\u{109f}')
        }
    }
}

/// The rest of a flag's tags (at most six letters or digits and the closing tag), if they are well formed (UTS #51, ED-14a).
fn flag(first: char, after: &str) -> Option<&str> {
    let is_tag = |letter: char| matches!(letter, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    if !is_tag(first) {
        return None;
    }
    let (end, closing) = after.char_indices().take(6).find(|&(_, letter)| !is_tag(letter))?;
    (closing == '\u{e007f}').then(|| after.get(..end + closing.len_utf8())).flatten()
}

/// The blocks that hold emoji; wider than the emoji themselves, which does no harm here.
fn is_emoji(letter: char) -> bool {
    matches!(letter,
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{24c2}'
        | '\u{25a0}'..='\u{27bf}' | '\u{2934}' | '\u{2935}' | '\u{2b00}'..='\u{2bff}' | '〰' | '〽' | '㊗' | '㊙'
        | '\u{1f000}'..='\u{1faff}')
}
