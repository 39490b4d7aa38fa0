//! Counts against the given cases, and the contract of `TokenCounter`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of these tests stop at what they do not expect"
)]

use hermes_core::{TokenCounter, Tokens};
use hermes_tiktoken::TiktokenCounter;
use serde_json::Value;

fn counters() -> [TiktokenCounter; 3] {
    [TiktokenCounter::o200k(), TiktokenCounter::cl100k(), TiktokenCounter::estimate()]
}

/// A case of `cases/given.jsonl`.
fn given(id: &str) -> Value {
    include_str!("../../../../cases/given.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|case| case["id"] == id)
        .unwrap_or_else(|| panic!("no case {id}"))
}

/// A text of a case: as it stands, or `{"repeat": s, "times": n}`.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(
        || {
            let times = usize::try_from(value["times"].as_u64().unwrap()).unwrap();
            value["repeat"].as_str().unwrap().repeat(times)
        },
        str::to_owned,
    )
}

fn texts(case: &Value) -> Vec<String> {
    case["input"]["texts"].as_array().unwrap().iter().map(text).collect()
}

fn expected(case: &Value, vocabulary: &str) -> Vec<u32> {
    serde_json::from_value(case["expect"]["values"][vocabulary].clone()).unwrap()
}

/// S6, TC3.
#[test]
fn g33_special_tokens_are_ordinary_text_and_chinese_is_counted() {
    let case = given("g33");
    for counter in [TiktokenCounter::o200k(), TiktokenCounter::cl100k()] {
        let counts: Vec<u32> = texts(&case).iter().map(|text| counter.count(text).get()).collect();
        assert_eq!(counts, expected(&case, counter.id().as_str()), "{}", counter.id());
    }
}

/// S6: the fallback errs upwards.
#[test]
fn g33_an_estimate_is_at_least_the_o200k_count() {
    let case = given("g33");
    for (text, exact) in texts(&case).iter().zip(expected(&case, "o200k_base")) {
        let estimate = TiktokenCounter::estimate().count(text).get();
        assert!(estimate >= exact, "{estimate} for {exact}");
        assert_eq!(estimate, (exact * 5).div_ceil(4), "a quarter more, rounded up");
    }
}

/// TC1.
#[test]
fn the_empty_text_has_no_tokens() {
    for counter in counters() {
        assert_eq!(counter.count(""), Tokens::ZERO, "{counter:?}");
    }
}

/// TC4: white space of this length takes the encoder's pattern matcher past its limit in one go.
#[test]
fn a_megabyte_of_white_space_does_not_stop_the_counter() {
    let text = " ".repeat(1_100_000);
    assert!(TiktokenCounter::o200k().count(&text) > Tokens::ZERO);
}

#[test]
fn ids_tell_counters_apart() {
    let ids = counters().map(|counter| counter.id().as_str().to_owned());
    assert_eq!(ids, ["o200k_base", "cl100k_base", "o200k_base+25%"]);
}

#[test]
fn models_have_the_vocabulary_of_their_family() {
    let (o200k, cl100k) = (Some(TiktokenCounter::o200k()), Some(TiktokenCounter::cl100k()));
    for (model, expected) in [
        ("gpt-4o", o200k),
        ("gpt-4o-2024-08-06", o200k),
        ("gpt-4.1-mini", o200k),
        ("gpt-5", o200k),
        ("o3-mini", o200k),
        ("gpt-oss-20b", o200k),
        ("openai/gpt-oss-120b", o200k),
        ("openai/gpt-4o-mini", o200k),
        ("ft:gpt-4o:team:name:id", o200k),
        ("gpt-4", cl100k),
        ("gpt-4-0613", cl100k),
        ("gpt-3.5-turbo", cl100k),
        ("text-embedding-3-small", cl100k),
        ("text-davinci-003", None),
        ("claude-opus-4-1", None),
        ("qwen3-32b", None),
        ("deepseek-chat", None),
        ("", None),
        ("/", None),
    ] {
        assert_eq!(TiktokenCounter::for_model(model), expected, "{model}");
    }
}

#[test]
fn warming_twice_and_from_many_threads_is_harmless() {
    std::thread::scope(|scope| {
        for counter in counters() {
            scope.spawn(move || counter.warm());
            scope.spawn(move || counter.warm());
        }
    });
    assert_eq!(TiktokenCounter::o200k().count("你好世界"), Tokens::new(2));
}
