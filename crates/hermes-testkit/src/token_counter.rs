//! The cases of [`TokenCounter`], clause by clause.

use hermes_core::{TokenCounter, Tokens};

/// Spellings of special tokens of common vocabularies; long enough that as plain text they are several tokens.
const SPECIAL: [&str; 6] = [
    "<|endoftext|>",
    "<|endofprompt|>",
    "<|im_start|>",
    "<|fim_prefix|>",
    "<|start_header_id|>",
    "<|reserved_200017|>",
];

const TEXTS: [&str; 6] = [
    "x",
    "She likes Sichuan food, and so do I.",
    "我想吃四川火锅，明天晚上七点。",
    "{\"city\": \"成都\", \"party\": 2}",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} fn main() {\n    println!(\"hi\");\n}",
    "  \n\n\t ",
];

/// TC1: the empty text has no tokens, and every other text has some.
pub async fn the_empty_text_has_no_tokens(counter: &dyn TokenCounter) {
    assert_eq!(counter.count(""), Tokens::ZERO, "TC1: the empty text");
    for text in TEXTS {
        assert!(counter.count(text) > Tokens::ZERO, "TC1: {text:?} has tokens");
    }
}

/// TC2: a text has the same count each time, whatever was counted in between.
pub async fn counts_do_not_change(counter: &dyn TokenCounter) {
    let first = TEXTS.map(|text| counter.count(text));
    for _ in 0..3 {
        let mut again = TEXTS.iter().rev().map(|text| counter.count(text)).collect::<Vec<_>>();
        again.reverse();
        assert_eq!(again, first, "TC2: the counts of {:?}", counter.id());
    }
}

/// TC3: what spells a special token is text like any other, alone and within other text.
pub async fn special_tokens_are_ordinary_text(counter: &dyn TokenCounter) {
    for special in SPECIAL {
        let alone = counter.count(special);
        assert!(alone > Tokens::new(1), "TC3: {special} counts {alone}, as if it were one special token");
        let around = counter.count(&format!("Say {special} please"));
        assert!(around > counter.count("Say please"), "TC3: {special} counts for something within a text");
    }
}

/// TC4: counting survives any text.
pub async fn any_text_is_counted(counter: &dyn TokenCounter) {
    let odd =
        ["\0", "\u{feff}\u{202e}", "\u{10ffff}", "e\u{301}\u{301}\u{301}", "\r\n\r", "שלום مرحبا नमस्ते 안녕"];
    for text in odd {
        counter.count(text);
    }
    for piece in ["x", " ", "\n", "中", "\u{1f35c}", "ab ", "1", "-"] {
        let (short, long) = (counter.count(&piece.repeat(10)), counter.count(&piece.repeat(4_000)));
        assert!(long >= short, "TC4: more of {piece:?} is not less: {short}, then {long}");
    }
    counter.count(&TEXTS.concat().repeat(300));
}
