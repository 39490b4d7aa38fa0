use hermes_core::MemoryKind;
use hermes_testkit::sample;

use super::*;

fn found(content: &str, cosine: Option<f32>) -> Found {
    Found { record: sample::memory(content), cosine }
}

fn contents(text: &str, found: Vec<Found>) -> Vec<(String, Gate)> {
    let question = Question { text: text.to_owned(), context: String::new() };
    choose(&question, found, &Calibration::Identity, &RecallConfig::default())
        .into_iter()
        .map(|item| (item.record.content, item.gate))
        .collect()
}

#[test]
fn the_threshold_gates_first_and_words_only_rank_what_passed() {
    let items = vec![
        found("alpine lakes", Some(0.46)),
        found("hotel prices in Turin", Some(0.44)),
        found("skiing", Some(0.9)),
    ];
    // "Turin" would be the rarest word, had the message it.
    assert_eq!(
        contents("mountain weather near lakes?", items),
        [("alpine lakes".to_owned(), Gate::Likeness), ("skiing".to_owned(), Gate::Likeness)]
    );
}

#[test]
fn weights_mix_words_and_likeness_at_seven_to_three() {
    let question = Question { text: "alpine lakes".to_owned(), context: String::new() };
    let items = vec![found("alpine lakes", Some(0.5)), found("skiing", Some(0.9))];
    let chosen = choose(&question, items, &Calibration::Identity, &RecallConfig::default());
    assert!((chosen[0].rank - 0.7).abs() < 1e-6 && (chosen[1].rank - 0.3).abs() < 1e-6, "{chosen:?}");
}

#[test]
fn a_weight_of_its_path_counts_in_the_rank() {
    let mut light = found("alpine lakes", None);
    light.record.weight = 0.1;
    let chosen = contents("alpine lakes", vec![light, found("alpine lakes are cold", None)]);
    assert_eq!(chosen[0].0, "alpine lakes are cold");
}

#[test]
fn one_rare_word_needs_some_likeness_and_two_need_none() {
    let word = |cosine| contents("Zanzibar in spring with friends", vec![found("a map of Zanzibar", cosine)]);
    assert_eq!(word(Some(0.1)), [("a map of Zanzibar".to_owned(), Gate::Vouched)]);
    assert!(word(Some(0.09)).is_empty());
    assert!(word(None).is_empty());
    let two = contents("Zanzibar in spring with friends", vec![found("spring in Zanzibar", Some(-0.2))]);
    assert_eq!(two, [("spring in Zanzibar".to_owned(), Gate::Words)]);
}

#[test]
fn a_record_that_came_twice_counts_once_with_its_vector() {
    let bare = found("alpine lakes", None);
    let with = Found { cosine: Some(0.8), ..bare.clone() };
    for items in [vec![bare.clone(), with.clone()], vec![with, bare]] {
        let question = Question { text: "lakes".to_owned(), context: String::new() };
        let chosen = choose(&question, items, &Calibration::Identity, &RecallConfig::default());
        assert_eq!(chosen.len(), 1);
        assert_eq!(chosen[0].cosine, Some(0.8));
    }
}

#[test]
fn of_two_that_replace_each_other_the_later_one_is_seen() {
    let old = found("eats spicy food", Some(0.9));
    let mut new = found("eats no spicy food", Some(0.8));
    new.record.supersedes = Some(old.record.id);
    assert_eq!(contents("spicy food", vec![old, new])[0].0, "eats no spicy food");

    let keyed = |content: &str, seconds| {
        let mut item = found(content, Some(0.9));
        item.record.attribute =
            Some(AttributeKey { subject: "user".to_owned(), attribute: "home".to_owned() });
        item.record.valid_from = sample::at(seconds);
        item
    };
    let chosen = contents("home", vec![keyed("home is A", 5), keyed("home is B", 9), keyed("home is C", 1)]);
    assert_eq!(chosen.iter().map(|(content, _)| content.as_str()).collect::<Vec<_>>(), ["home is B"]);
}

#[test]
fn the_lines_before_weigh_in_the_ranking_only() {
    let context = "we spoke of rivers".to_owned();
    let question = Question { text: "alpine trips".to_owned(), context };
    let items = || {
        vec![found("alpine huts", Some(0.6)), found("alpine rivers", Some(0.6)), found("rivers", Some(0.1))]
    };
    let chosen = choose(&question, items(), &Calibration::Identity, &RecallConfig::default());
    let chosen: Vec<_> = chosen.iter().map(|item| item.record.content.as_str()).collect();
    assert_eq!(chosen, ["alpine rivers", "alpine huts"]);
}

#[test]
fn habits_and_facts_alike_pass_without_vectors_or_words_only_when_asked_for() {
    let mut habit = found("用户习惯连续追问多天天气", None);
    habit.record.kind = MemoryKind::Habit;
    assert!(contents("帮我写一首诗", vec![habit.clone()]).is_empty());
    assert_eq!(contents("多天天气如何", vec![habit]).len(), 1);
}
