//! Ctrl-C: the answer stops, the log stays valid, and once more ends the program.

use std::process::Stdio;

use serde_json::json;

use crate::program::{Home, Running, chat};
use crate::service::{Reply, Service, is_extraction, said};

/// Goes on with the session after an interruption, and gives what the service was sent then.
#[track_caller]
fn goes_on(home: &Home) -> Vec<(String, String)> {
    let service = Service::saying("here I am");
    let ran = home.chat(&service.url, &["--no-memory", "Are you there?"]).well();
    assert_eq!(ran.out, "here I am\n");
    said(&service.messages(0))
}

#[test]
fn an_interrupted_answer_leaves_a_valid_log() {
    let home = Home::new();
    let service = Service::start(|_| Reply::Endless("Once upon a time"));
    let mut running =
        Running::start(&mut home.command(&chat(&service.url, &["--no-memory", "Tell me a story"])));
    running.until("Once upon a time");
    running.interrupt();
    let ran = running.end().well();
    assert_eq!(ran.out, "Once upon a time\n(stopped)\n");

    let messages = goes_on(&home);
    let roles: Vec<_> = messages.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"], "{messages:?}");
    assert_eq!(messages[1].1, "Tell me a story");
    assert!(messages[2].1.starts_with("Once upon a time"), "{messages:?}");
}

#[test]
fn an_interrupted_answer_is_told_as_an_event() {
    let home = Home::new();
    let service = Service::start(|_| Reply::Endless("Once upon a time"));
    let arguments = chat(&service.url, &["--no-memory", "--json", "Tell me a story"]);
    let mut running = Running::start(&mut home.command(&arguments));
    running.until("Once upon a time");
    running.interrupt();
    let events = running.end().well().events();
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["stop"]), (&json!("finished"), &json!("cancelled")));
}

#[test]
fn after_an_interrupted_answer_the_next_line_is_read() {
    let home = Home::new();
    let service = Service::start(|body| match body.to_string().contains("shorter") {
        true => Reply::Text(vec!["The end."]),
        false => Reply::Endless("Once upon a time"),
    });
    let mut command = home.command(&chat(&service.url, &["--no-memory"]));
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.type_line("Tell me a story");
    running.until("Once upon a time");
    running.interrupt();
    running.until("(stopped)");
    running.type_line("A shorter one");
    running.until("The end.");
    // Soon nothing is going on any more: then it ends the program, and while the program ends it does so at once.
    while !running.has_ended() {
        running.interrupt();
    }
    let ran = running.end();
    assert!(matches!(ran.code, Some(0 | 130)), "{ran:?}");
    assert!(ran.out.starts_with("Once upon a time\n(stopped)\nThe end."), "{ran:?}");
}

#[test]
fn ctrl_c_again_ends_what_does_not_stop_by_itself() {
    let home = Home::new();
    // What is worth remembering is asked for after the answer, and here that never ends.
    let service = Service::start(|body| match is_extraction(body) {
        true => Reply::Endless("{"),
        false => Reply::Text(vec!["noted"]),
    });
    let told = "My daughter is called Lucy and my son is called Max.";
    let mut running = Running::start(&mut home.command(&chat(&service.url, &[told])));
    running.until("noted");
    while service.requests().len() < 2 {
        std::thread::yield_now();
    }
    while !running.has_ended() {
        running.interrupt();
    }
    let ran = running.end();
    assert!(matches!(ran.code, Some(0 | 130)), "{ran:?}");

    let messages = goes_on(&home);
    let told = [("user".to_owned(), told.to_owned()), ("assistant".to_owned(), "noted".to_owned())];
    assert_eq!(messages[1..3], told);
}
