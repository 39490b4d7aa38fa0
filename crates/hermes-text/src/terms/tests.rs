use proptest::prelude::*;

use super::{MAX_TERM_CHARS, STOP_WORDS, contains_all, index_terms, query_terms, rank_terms, stem};

fn finds(query: &str, document: &str) -> bool {
    contains_all(&index_terms(document), &query_terms(query))
}

#[test]
fn english_is_found_by_word_and_part_of_name() {
    let document =
        "Order M-23891: call getWeather(city) or parse_HTTPRequest_v2, not \u{ff21}\u{ff22}\u{ff23}'s café.";
    for query in [
        "M-23891",
        "m",
        "23891",
        "getWeather",
        "GETWEATHER",
        "weather",
        "get city",
        "parse_HTTPRequest_v2",
        "HTTPRequest",
        "request",
        "http",
        "v2",
        "abc",
        "ABC's",
        "CAFÉ",
        "cafe\u{301}",
        "order, weather!",
    ] {
        assert!(finds(query, document), "{query}");
    }
    for query in ["", "?!", "weathers", "2389", "M-23892", "order pizza", "eather"] {
        assert!(!finds(query, document), "{query}");
    }
}

#[test]
fn chinese_is_found_by_any_part() {
    let document = "我们下周三去杭州出差，住西湖边的Hilton酒店，房号3021。";
    for query in [
        "杭州",
        "去杭州",
        "我们下周三去杭州出差",
        "州",
        "西湖 酒店",
        "Hilton酒店",
        "hilton",
        "房号3021",
        "3021",
        "杭州，西湖",
    ] {
        assert!(finds(query, document), "{query}");
    }
    for query in ["州杭", "上海", "杭州西湖", "北", "酒店Hilton上"] {
        assert!(!finds(query, document), "{query}");
    }
    assert_eq!(query_terms("杭州出差"), ["杭州", "州出", "出差"]);
    assert_eq!(query_terms("第3次"), ["第", "3", "次"]);
}

#[test]
fn other_scripts_are_words() {
    assert!(finds("москва", "Москва — столица"));
    assert!(finds("हिन्दी", "मैं हिन्दी बोलता हूँ"));
    assert!(finds("ΟΔΟΣ", "οδος"));
    assert!(finds("東京", "東京タワーへ"));
    assert!(finds("서울", "서울에서"));
}

#[test]
fn ranking_ignores_endings_and_common_words() {
    let ranked = rank_terms("The parties are running; she studied boxes quickly");
    assert_eq!(ranked, ["party", "run", "study", "box", "quick"]);
    assert_eq!(rank_terms("I'm sure it's what we'll do"), ["m", "sure"]);
    assert_eq!(rank_terms("去杭州 书"), ["去杭", "杭州", "书"]);
    assert_eq!(rank_terms("getUserID parse_HTTPRequest"), ["get", "user", "id", "pars", "http", "request"]);
    for (one, other) in [
        ("meets", "meeting"),
        ("stopped", "stopping"),
        ("watches", "watching"),
        ("classes", "class"),
        ("hotels", "hotel"),
    ] {
        assert_eq!(stem(one.to_owned()), stem(other.to_owned()), "{one} {other}");
    }
    for word in ["bus", "this", "glass", "red", "café's", "1990s"] {
        assert_eq!(stem(word.to_owned()), word);
    }
    assert!(STOP_WORDS.is_sorted());
}

#[test]
fn long_words_are_cut_alike() {
    let blob = "a1".repeat(50_000);
    let terms = index_terms(&blob);
    assert!(terms.iter().all(|term| term.chars().count() <= MAX_TERM_CHARS));
    assert!(finds(&blob, &blob));
}

/// English and Chinese words, identifiers, punctuation, and anything else.
const PIECES: &str = "[a-z]{1,8}|[A-Z][a-z]{1,5}[A-Z][a-z]{1,4}|[a-z]{2,4}_[0-9]{1,3}|[\u{4e00}-\u{4e30}]{1,6}|[ ,.，。-]|\\PC";

proptest! {
    #[test]
    fn every_text_finds_itself(parts in prop::collection::vec(PIECES, 0..20)) {
        let text = parts.concat();
        let query = query_terms(&text);
        prop_assert!(query.is_empty() || contains_all(&index_terms(&text), &query), "{:?}", text);
    }

    #[test]
    fn every_stretch_of_chinese_finds_its_text(
        before in "[a-z ，]{0,5}", run in "[\u{4e00}-\u{4e30}]{1,12}", after in "[a-z ，]{0,5}", from in 0_usize..12, length in 1_usize..12,
    ) {
        let stretch: String = run.chars().skip(from).take(length).collect();
        let text = format!("{before}{run}{after}");
        prop_assert!(stretch.is_empty() || finds(&stretch, &text), "{:?} {:?}", stretch, text);
    }

    #[test]
    fn every_word_finds_its_text(words in prop::collection::vec("[A-Za-z0-9]{1,10}", 1..10), pick in 0_usize..10) {
        let word = &words[pick % words.len()];
        prop_assert!(finds(word, &words.join(" ")) && finds(&word.to_uppercase(), &words.join("_")));
    }

    #[test]
    fn terms_hold_no_space(text in any::<String>()) {
        for term in index_terms(&text).iter().chain(&query_terms(&text)).chain(&rank_terms(&text)) {
            prop_assert!(!term.is_empty() && !term.contains(char::is_whitespace) && !term.contains(['"', '*', ':', '-']));
        }
    }
}
