//! The explanation as people and programs read it.

use hermes_core::NewMessage;
use hermes_session::{Budget, Context, ContextSpec, EstimateCounter, SessionConfig, WindowView, assemble};

use crate::support::{call, logged, result};

/// Five turns, of which the first folds; a long result in an old turn, one that is missing, and one that answers nothing.
fn trimmed() -> Context {
    let log = [
        NewMessage::user("Never book before nine, please.").with_sticky(),
        NewMessage::assistant("Understood."),
        NewMessage::user("Look up the trains."),
        NewMessage::calls(vec![call("k1", "trains", "{\"to\":\"Hangzhou\"}"), call("k2", "hotels", "{}")]),
        result("k1", "trains", "G7301 09:30 second class 73 yuan, ".repeat(60)),
        NewMessage::assistant("There are many."),
        result("k9", "trains", "late"),
        NewMessage::user("And on Sunday?"),
        NewMessage::assistant("The same."),
        NewMessage::user("Take the first."),
    ];
    let config = SessionConfig::default().with_window_turns(3).with_fold_batch(1);
    let spec = ContextSpec::new(Budget::new(700))
        .with_system("You book trains.")
        .with_beside("clock", "Tuesday, 10:00");
    assemble(&WindowView::new(logged(log)), &spec, &config, &EstimateCounter::new()).unwrap()
}

#[test]
fn the_table_names_every_part_and_what_gave_way() {
    insta::assert_snapshot!(trimmed().explain().to_string());
}

#[test]
fn the_same_as_json() {
    let context = trimmed();
    insta::assert_snapshot!(serde_json::to_string_pretty(context.explain()).unwrap());
    let back: hermes_session::Explanation = serde_json::from_value(context.explain().to_json()).unwrap();
    assert_eq!(&back, context.explain());
}

#[test]
fn an_error_says_what_needs_the_room() {
    let log = logged([NewMessage::user("a question of some length, asked in English")]);
    let spec = ContextSpec::new(Budget::new(20)).with_system("You book trains.");
    let error = assemble(&WindowView::new(log), &spec, &SessionConfig::default(), &EstimateCounter::new())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the current turn does not fit: 26 tokens are needed and 20 allowed (system 9, current 17)"
    );
}
