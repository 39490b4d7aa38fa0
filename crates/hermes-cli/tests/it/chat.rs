//! The chat against a service whose answers the test writes.

use serde_json::json;

use crate::events::{all, inner, only, place, session, started};
use crate::program::{Home, chat};
use crate::service::{Reply, Service, is_extraction, said};

#[test]
fn history_is_kept_between_runs() {
    let (home, service) = (Home::new(), Service::saying("noted"));
    home.chat(&service.url, &["--no-memory", "the first words"]).well();
    let ran = home.chat(&service.url, &["--no-memory", "the second words"]).well();
    assert_eq!(ran.out, "noted\n");
    let owned = |role: &str, text: &str| (role.to_owned(), text.to_owned());
    let messages = said(&service.messages(1));
    let talk =
        [owned("user", "the first words"), owned("assistant", "noted"), owned("user", "the second words")];
    assert_eq!(messages[1..], talk);
    assert_eq!(messages[0].0, "system");
}

#[test]
fn a_session_is_begun_anew_and_taken_up_again() {
    let (home, service) = (Home::new(), Service::saying("noted"));
    let say = |more: &[&str]| home.chat(&service.url, &[&["--no-memory", "--json"], more].concat());
    let first = session(&say(&["the first words"]).well().events());
    let second = session(&say(&["--session", "new", "other words"]).well().events());
    assert_ne!(first, second);
    assert_eq!(said(&service.messages(1)).len(), 2, "a new session has no history");

    // The last one that was written to is the default.
    assert_eq!(session(&say(&["more"]).well().events()), second);
    assert_eq!(session(&say(&["--session", &first, "more"]).well().events()), first);
    let beginning = &first[..first.len() - 2];
    assert_eq!(session(&say(&["--session", beginning, "again"]).well().events()), first);
    assert_eq!(said(&service.messages(4))[1].1, "the first words");

    // Ids begin with the time: these two were made in the same weeks.
    say(&["--session", &first[..4], "hi"]).failed_with(&["2 sessions begin with", "give more of the id"]);
}

#[test]
fn a_call_of_the_clock_comes_back_to_the_model() {
    let home = Home::new();
    let service =
        Service::start(|body| match body["messages"].as_array().unwrap().last().unwrap()["role"].as_str() {
            Some("tool") => Reply::Text(vec!["It is ", "late."]),
            _ => Reply::Call("current_time", json!({ "time_zone": "Asia/Shanghai" })),
        });
    let events = home.chat(&service.url, &["--no-memory", "--json", "What time is it?"]).well().events();

    let call = &only(&events, "tool_call")["call"];
    assert_eq!(call["name"], "current_time");
    let started = place(&events, |event| event["event"] == "call_started" && event["call"] == call["id"]);
    let result =
        place(&events, |event| event["event"] == "tool_result" && event["result"]["call"] == call["id"]);
    assert!(started < result, "a call is in the log before it runs");

    assert!(service.requests()[0].body["tools"].to_string().contains("current_time"));
    let messages = service.messages(1);
    let [.., calling, answer] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!(calling["tool_calls"][0]["id"], "call-current_time");
    assert_eq!((&answer["role"], &answer["tool_call_id"]), (&json!("tool"), &json!("call-current_time")));
    let read = said(std::slice::from_ref(answer))[0].1.clone();
    let output = inner(&json!(read))["output"].clone();
    assert_eq!(output["time_zone"], "Asia/Shanghai");
    let time = output["time"].as_str().unwrap().parse::<jiff::civil::DateTime>().unwrap();
    let day = jiff::fmt::strtime::format("%A", time.date()).unwrap();
    assert_eq!(output["weekday"], day);
    assert_eq!(only(&events, "answered")["text"], "It is late.");
}

#[test]
fn a_time_zone_that_does_not_exist_is_told_to_the_model() {
    let home = Home::new();
    let service =
        Service::start(|body| match body["messages"].as_array().unwrap().last().unwrap()["role"].as_str() {
            Some("tool") => Reply::Text(vec!["sorry"]),
            _ => Reply::Call("current_time", json!({ "time_zone": "Peking" })),
        });
    home.chat(&service.url, &["--no-memory", "What time is it?"]).well();
    let told = said(&service.messages(1)).pop().unwrap().1;
    let result = inner(&json!(told));
    assert_eq!(result["success"], false, "{result}");
    assert!(result.to_string().contains("Peking") && result.to_string().contains("Europe/Paris"), "{result}");
}

#[test]
fn events_are_lines_of_json_and_nothing_else() {
    let home = Home::new();
    let service = Service::start(|_| Reply::Text(vec!["Good ", "evening, ", "晚上好\n", "!"]));
    let events = home.chat(&service.url, &["--no-memory", "--json", "hi"]).well().events();
    let text: String = all(&events, "text").iter().map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!(text, "Good evening, 晚上好\n!");
    assert_eq!(only(&events, "answered")["text"], text);
    assert_eq!(events.first().unwrap()["event"], "turn_started");
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["stop"]), (&json!("finished"), &json!("answered")));
}

#[test]
fn lines_of_standard_input_are_turns_until_they_end() {
    let (home, service) = (Home::new(), Service::saying("yes"));
    let ran = home.run_with(&chat(&service.url, &["--no-memory"]), "one\n\n  \ntwo").well();
    assert_eq!(ran.out, "yes\nyes\n");
    assert_eq!(service.requests().len(), 2);
    let asked: Vec<_> = said(&service.messages(1)).into_iter().filter(|(role, _)| role == "user").collect();
    assert_eq!(asked.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["one", "two"]);

    home.run_with(&chat(&service.url, &["--no-memory"]), "").well();
    assert_eq!(service.requests().len(), 2, "nothing was said, and nothing was asked");
}

#[test]
fn what_is_worth_it_is_remembered_after_the_answer_and_recalled_in_another_session() {
    let home = Home::new();
    let told = "My favourite restaurant is Chuan Xiang Ge in Chengdu.";
    let memories = json!({ "memories": [{
        "type": "fact",
        "content": "The user's favourite restaurant is \"Chuan Xiang Ge in Chengdu\"",
        "confidence": 0.95,
        "quote": told,
        "subject": "user",
        "attribute": "favourite_restaurant",
        "value": "Chuan Xiang Ge in Chengdu"
    }] });
    let memories: &'static str = memories.to_string().leak();
    let service = Service::start(move |body| match is_extraction(body) {
        true if body.to_string().contains("My favourite restaurant is") => Reply::Text(vec![memories]),
        true => Reply::Text(vec![r#"{ "memories": [] }"#]),
        false => Reply::Text(vec!["noted"]),
    });
    let events = home.chat(&service.url, &["--json", told]).well().events();
    let kinds: Vec<_> = service.requests().iter().map(|request| is_extraction(&request.body)).collect();
    assert_eq!(kinds, [false, true], "first the answer, then what is worth remembering");
    let answered = place(&events, |event| event["event"] == "answered");
    let learned = place(&events, |event| event["event"] == "learned");
    assert!(answered < learned);
    let content = "The user's favourite restaurant is \"Chuan Xiang Ge in Chengdu\"";
    assert_eq!(events[learned]["written"], json!([format!("new: {content}")]));

    let question = "Which restaurant is my favourite?";
    let ran = home.chat(&service.url, &["--session", "new", question]).well();
    assert!(ran.out.contains(&format!("remembered: {content}\n")), "{}", ran.out);
    let (role, asked) = said(&service.messages(2)).pop().unwrap();
    assert_eq!(role, "user");
    assert!(asked.contains("<memory>") && asked.contains(content) && asked.ends_with(question), "{asked}");
}

#[test]
fn without_memory_nothing_is_extracted_and_no_file_is_made() {
    let (home, service) = (Home::new(), Service::saying("noted"));
    home.chat(&service.url, &["--no-memory", "My daughter is called Lucy."]).well();
    assert!(!is_extraction(&service.requests()[0].body));
    assert_eq!(service.requests().len(), 1);
    assert!(!home.data().join("memory.jsonl").exists());
}

#[test]
fn a_local_server_is_found_without_settings_of_it() {
    let (home, service) = (Home::new(), Service::saying("here"));
    let nobody = crate::program::NOBODY;
    home.write(
        "config.toml",
        format!("memory = false\nlocal_servers = [\"{nobody}\", \"{}\"]\n", service.url),
    );
    let ran = home.run(&["chat", "hi"]).well();
    assert_eq!(ran.out, "here\n");
    assert_eq!(service.requests()[0].body["model"], "scripted");
}

#[test]
fn settings_are_sent_and_flags_come_before_them() {
    let (home, service) = (Home::new(), Service::saying("yes"));
    let file =
        "memory = false\nmax_output = 77\ntemperature = 0.5\nsystem = \"Be brief.\"\nmodel = \"named\"\n";
    home.write("config.toml", file);
    home.chat(&service.url, &["--temperature", "0", "hi"]).well();
    let body = service.requests()[0].body.clone();
    assert_eq!((&body["model"], &body["temperature"]), (&json!("named"), &json!(0.0)));
    assert!([&body["max_tokens"], &body["max_completion_tokens"]].contains(&&json!(77)), "{body}");
    assert!(said(&service.messages(0))[0].1.starts_with("Be brief."));
}

#[test]
fn a_call_that_memory_does_not_know_of_is_shown_beside_the_answer() {
    let home = Home::new();
    let service =
        Service::start(|body| match body["messages"].as_array().unwrap().last().unwrap()["role"].as_str() {
            Some("tool") => Reply::Text(vec!["It is late."]),
            _ => Reply::Call("current_time", json!({})),
        });
    let ran = home.chat(&service.url, &["--no-memory", "What time is it?"]).well();
    let lines: Vec<_> = ran.out.lines().collect();
    let [call, result, answer] = lines.as_slice() else { panic!("{ran:?}") };
    assert_eq!((*call, *answer), ("→ current_time({})", "It is late."));
    assert!(result.starts_with("← {"), "{result}");
    assert!(!ran.out.contains('\u{1b}'), "no colours where there is no screen");
    assert!(
        started(
            &home.chat(&service.url, &["--no-memory", "--json", "And now?"]).well().events(),
            "current_time"
        )
        .len()
            == 1
    );
}
