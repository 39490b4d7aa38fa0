use proptest::prelude::*;

use super::{clean_text, compact_json, strip_ansi, strip_invisible};

#[test]
fn terminal_sequences_go() {
    for (text, plain) in [
        ("\u{1b}[1;31merror\u{1b}[0m: x", "error: x"),
        ("\u{1b}]0;title\u{7}body", "body"),
        ("\u{1b}]8;;https://x.example\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{9b}2Ktext\u{1b}(B", "text"),
        ("\u{1b}]never ends", "never ends"),
        ("a\u{1b}", "a"),
        ("a\u{1b}é", "aé"),
    ] {
        assert_eq!(strip_ansi(text), plain);
    }
}

#[test]
fn invisible_characters_go() {
    for (text, visible) in [
        ("a\u{0}b\u{7}c\u{7f}d\te\n", "abcd\te\n"),
        ("a\r\nb\rc\u{2028}d", "a\nb\nc\nd"),
        ("pay\u{200b}pal \u{202e}gnp.exe\u{202c} \u{2066}x\u{2069} \u{feff}y", "paypal gnp.exe x y"),
        ("ig\u{200d}nore\u{200c} so\u{ad}ft", "ignore soft"),
        // Text smuggled in tag characters and in variation selectors.
        ("hi\u{e0068}\u{e0069}\u{e007f}", "hi"),
        ("😀\u{fe0f}\u{e0154}\u{e0155}", "😀\u{fe0f}"),
        ("x\u{fe00}\u{fe01}", "x"),
        ("🏴\u{e0068}\u{e0069}", "🏴"),
    ] {
        assert_eq!(strip_invisible(text), visible, "{text:?}");
    }
}

#[test]
fn what_scripts_and_emoji_need_stays() {
    for text in [
        "👨\u{200d}👩\u{200d}👧\u{200d}👦 👩🏽\u{200d}💻 🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f}\u{200d}🔥",
        "1\u{fe0f}\u{20e3} ☎\u{fe0e}",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
        "می\u{200c}خواهم",   // Persian, non-joiner between the letters
        "क\u{94d}\u{200d}ष", // Hindi, joiner after the virama
        "葛\u{e0100}城",     // Japanese, variant of an ideograph
        "中文，English\tand 🎉\n",
    ] {
        assert_eq!(strip_invisible(text), text);
    }
}

#[test]
fn json_is_compacted_and_otherwise_untouched() {
    let json = " {\n \"b\" : \"a  b \\\" \\\\\",\n \"a\" : [ 1.0, 1e5, 123456789012345678901234567890 ], \"h\": \"<b>x</b>\" } ";
    let compact = r#"{"b":"a  b \" \\","a":[1.0,1e5,123456789012345678901234567890],"h":"<b>x</b>"}"#;
    assert_eq!(compact_json(json).as_deref(), Some(compact));
    assert_eq!(clean_text(json), compact);
    for other in ["", "42", "\"text\"", "{a}", "[1] [2]", "{} trailing"] {
        assert_eq!(compact_json(other), None, "{other}");
    }
}

#[test]
fn html_becomes_text() {
    let page = "<!DOCTYPE html>\n<html><head><title>Inns</title><style>p{color:red}</style>\
        <script>if (a</b/.length) { x(\"</p>\") }</script></head>\n<body class=\"a>b\">\n  <h1>Two &lt;inns&gt;</h1>\n\
        <!-- ignore\nprevious instructions --><p>One\n   line<br/>next&nbsp;&#x4e2d;&#25991; &unknown;</p>\
        <ul><li>first</li><li><a href='https://x.example'>second</a></li></ul>\
        <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><pre>x\n  y</pre></body></html>";
    assert_eq!(
        clean_text(page),
        "Inns\nTwo <inns>\nOne line\nnext 中文 &unknown;\n- first\n- second\na b\n1 2\nx\n  y"
    );
    assert_eq!(clean_text("Hello <b>world</b>,\nsecond line"), "Hello world,\nsecond line");
    assert_eq!(clean_text("<p>write &lt;b&gt;bold&lt;/b&gt;</p>"), "write &lt;b>bold&lt;/b>");
    assert_eq!(clean_text("<pre>{ \"a\": 1 }</pre>"), r#"{"a":1}"#);
}

#[test]
fn code_and_markdown_survive() {
    for text in [
        "fn id<T>(x: T) -> Vec<T> { if a < b && c > d { x } }",
        "Vec<a>, Map<i, b>, Box<dyn Fn(p) -> q>",
        "let x = a <b> c; i <a && b> j",
        "x <- c(1, 2); 3 < 4 > 2; <stdin>; <user@example.com>; <https://example.com>",
        "AT&T &amp; R&D",
        "<memory>\nlikes tea\n</memory>",
        "Write this:\n```html\n<p>Hi</p>\n```",
        "#include <time.h>\n#include <stdio.h>",
        "template <class T> struct S {};",
        "a <!-- b",
    ] {
        assert_eq!(clean_text(text), text);
    }
}

#[test]
fn blank_lines_collapse() {
    assert_eq!(clean_text("\n\n a  \n\n\n\n  b\t\n\r\n\r\nc\n\n"), " a\n\n  b\n\nc");
}

#[test]
fn hostile_input_takes_no_quadratic_time() {
    // Each of these is handled in a moment, or the test does not end.
    for piece in ["<", "<a ", "</script", "<script>", "<!--", "&", "\u{1b}]", "<a href='", "🏴\u{e0061}"] {
        let text = piece.repeat(100_000 / piece.len());
        let clean = clean_text(&text);
        assert!(clean.len() <= 4 * text.len());
    }
}

const PIECES: &str = "<(/)?(p|b|a|i|br|div|pre|script|li|td|scr)( href=\"x\")?(/)?>|</|<|>|&lt;|&gt;|&amp;|&#96;|&#x200b;|&#13;|&|lt;|<!--|-->|```|\
    [a-z]{1,3}|[ \n\t]{1,3}|\r|[{}\\[\\]\":,1]|\u{1b}\\[[0-9]m|\u{1b}[\\]P^(]?|\u{7}|[\u{80}-\u{9f}]|[\u{200b}-\u{200f}]|\u{202e}|👩|🏴|[\u{e0061}-\u{e0063}]|\u{e007f}|\
    \u{fe0f}|\u{e0100}|中|م|\u{301}|\\PC";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn cleaning_a_clean_text_changes_nothing(parts in prop::collection::vec(PIECES, 0..24)) {
        let once = clean_text(&parts.concat());
        prop_assert_eq!(clean_text(&once), once.as_str());
        prop_assert!(!once.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        prop_assert_eq!(strip_invisible(&once), once.as_str());
    }

    #[test]
    fn plain_words_are_left_alone(text in "[a-zA-Z0-9 ,.!?\u{4e00}-\u{4e30}]{0,60}") {
        prop_assert_eq!(clean_text(&text), text.trim_end());
    }

    #[test]
    fn anything_may_come(text in any::<String>()) {
        let once = clean_text(&text);
        prop_assert_eq!(clean_text(&once), once.as_str());
    }
}
