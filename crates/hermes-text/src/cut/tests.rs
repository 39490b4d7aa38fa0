use std::cell::Cell;

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use super::{Cut, head_tail, truncate_bytes, truncate_chars};

/// Stands in for a tokenizer: a unit for every word, every four further bytes of it and every line break.
fn tokens(text: &str) -> usize {
    text.split_inclusive([' ', '\n']).map(|word| word.len().div_ceil(4)).sum()
}

fn notice(omitted: usize) -> String {
    format!("\n[… {omitted} characters left out …]\n")
}

/// What must hold for every cut.
fn check(text: &str, max: usize, cut: &Cut, measure: impl Fn(&str) -> usize) {
    if !cut.cut {
        assert_eq!((cut.text.as_str(), cut.omitted_chars), (text, 0));
        assert!(measure(text) <= max);
        return;
    }
    assert!(measure(text) > max);
    assert!(measure(&cut.text) <= max || cut.text.is_empty());
    let boundaries: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
    let tail_at = text.len() - cut.tail_bytes;
    assert!(boundaries.contains(&cut.head_bytes) && boundaries.contains(&tail_at));
    assert!(cut.text.starts_with(&text[..cut.head_bytes]) && cut.text.ends_with(&text[tail_at..]));
    assert_eq!(cut.omitted_chars, text[cut.head_bytes..tail_at].chars().count());
    let between = &cut.text[cut.head_bytes..cut.text.len() - cut.tail_bytes];
    assert!(between.is_empty() || between == notice(cut.omitted_chars), "{between:?}");
}

/// The texts of case g34.
fn difficult() -> [String; 3] {
    ["始🌏".repeat(6000), "👨\u{200d}👩\u{200d}👧\u{200d}👦".repeat(2000), "시간 é→".repeat(5000)]
}

#[test]
fn g34_no_limit_breaks_a_character() {
    for text in difficult() {
        for max in (0..=64).chain([2000]) {
            check(&text, max, &head_tail(&text, max, tokens, notice), tokens);
            check(&text, max, &head_tail(&text, max, str::len, notice), str::len);
            let head = truncate_bytes(&text, max);
            assert!(head.len() <= max && text.starts_with(head));
            assert!(truncate_chars(&text, max).graphemes(true).count() <= max);
        }
    }
}

#[test]
fn head_and_tail_are_about_equal_and_use_the_room() {
    let text = "0123456789".repeat(1000);
    let cut = head_tail(&text, 1000, str::len, notice);
    assert!(cut.text.len() >= 998 && cut.head_bytes.abs_diff(cut.tail_bytes) <= 1, "{cut:?}");
    assert_eq!(cut.omitted_chars, 10_000 - cut.head_bytes - cut.tail_bytes);
}

#[test]
fn line_breaks_are_preferred() {
    let text = (0..500).map(|line| format!("line {line:04}\n")).collect::<String>();
    let cut = head_tail(&text, 333, str::len, notice);
    let head = &cut.text[..cut.head_bytes];
    let tail = &cut.text[cut.text.len() - cut.tail_bytes..];
    assert!(head.ends_with('\n') && tail.starts_with("line "), "{}", cut.text);
    assert!(tail.ends_with("line 0499\n"));
}

#[test]
fn what_fits_is_returned_whole() {
    assert_eq!(head_tail("", 0, str::len, notice).text, "");
    let cut = head_tail("exactly", 7, str::len, notice);
    assert_eq!((cut.cut, cut.head_bytes, cut.tail_bytes), (false, 7, 0));
    // A unit of far more than eight bytes: blanks, which tokenizers swallow by the hundred.
    let blanks = " ".repeat(10_000);
    assert!(!head_tail(&blanks, 100, |text| text.len().div_ceil(128), notice).cut);
    assert!(!head_tail(&blanks, 1, |_| 1, notice).cut);
}

#[test]
fn a_limit_below_the_notice_leaves_a_head() {
    let cut = head_tail(&"x".repeat(100), 5, str::len, notice);
    assert_eq!((cut.text.as_str(), cut.cut, cut.omitted_chars), ("xxxxx", true, 95));
    assert_eq!(head_tail("abc", 0, str::len, notice).text, "");
}

#[test]
fn a_long_text_is_not_measured_whole() {
    let text = "some words of a long text\n".repeat(100_000);
    let (calls, bytes) = (Cell::new(0), Cell::new(0));
    let measure = |piece: &str| {
        calls.set(calls.get() + 1);
        bytes.set(bytes.get() + piece.len());
        tokens(piece)
    };
    let cut = head_tail(&text, 1000, measure, notice);
    assert!(cut.cut);
    // 8 max = 8,000 bytes: log2 is 13, and a few for the notice and the lines; each on 8,000 bytes at most.
    assert!(calls.get() <= 18 && bytes.get() <= 18 * 8_100, "{} {}", calls.get(), bytes.get());
}

#[test]
fn short_cuts_keep_whole_characters() {
    assert_eq!(truncate_chars("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
    assert_eq!(truncate_chars("ab", 0), "");
    assert_eq!(truncate_chars("ab", 1), "…");
    assert_eq!(truncate_chars("", 0), "");
    assert_eq!(truncate_bytes("e\u{301}", 2), "");
    assert_eq!(truncate_bytes("🇨🇳🇨🇳", 12), "🇨🇳");
    assert_eq!(truncate_bytes("abc", 9), "abc");
}

proptest! {
    #[test]
    fn every_cut_keeps_its_word(
        parts in prop::collection::vec("[a-z ]{1,9}|\n|\r\n|[\u{4e00}-\u{4e20}]|e\u{301}|👩\u{200d}👧|🇨🇳|\\PC", 0..60),
        max in 0_usize..120,
    ) {
        let text = parts.concat();
        check(&text, max, &head_tail(&text, max, tokens, notice), tokens);
        let chars = |text: &str| text.chars().count();
        check(&text, max, &head_tail(&text, max, chars, notice), chars);
        prop_assert!(truncate_chars(&text, max).graphemes(true).count() <= max);
    }
}
