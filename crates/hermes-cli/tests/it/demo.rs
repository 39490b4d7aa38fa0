//! The article's task (L1), link by link, by what the demo's events and files say.

use std::collections::BTreeSet;
use std::path::Path;

use hermes::core::{Clock as _, Limit, LogQuery, Owner, Role, Seq, SystemClock};
use hermes::session::Sessions;
use hermes::sqlite::SqliteStore;
use jiff::ToSpan as _;
use jiff::civil::Date;
use serde_json::{Value, json};

use crate::events::{all, inner, only, place, started};
use crate::program::{Home, Ran, files};

/// A language's words for what has to appear.
struct Words {
    language: &'static str,
    restaurant: &'static str,
    wish: &'static str,
    memory: &'static str,
    ledger: &'static str,
}

const ENGLISH: Words = Words {
    language: "en",
    restaurant: "Chuan Xiang Ge",
    wish: "Book the Sichuan restaurant I mentioned last time, tomorrow 7 pm, two people.",
    memory: "The user's favourite Sichuan restaurant is \"Chuan Xiang Ge\"",
    ledger: "Already done earlier in this session",
};

const CHINESE: Words = Words {
    language: "zh",
    restaurant: "川香阁",
    wish: "我上次提到的那家川菜馆，帮我订个明天晚上7点两个人的位置。",
    memory: "用户最喜欢的川菜馆是「川香阁」",
    ledger: "本次会话中已完成的操作",
};

/// The short turns before the wish, and again before the last question.
const SMALL_TALK: u64 = 16;

/// A demo that has run, with the folder it kept.
struct Played {
    words: Words,
    home: Home,
    ran: Ran,
    events: Vec<Value>,
    days: BTreeSet<Date>,
}

fn tomorrow() -> Date {
    SystemClock.now().in_tz("Asia/Shanghai").unwrap().date().checked_add(1.day()).unwrap()
}

impl Played {
    fn play(words: Words) -> Self {
        let home = Home::new();
        let before = tomorrow();
        let keep = home.path("kept");
        let arguments = ["demo", "--json", "--keep", keep.to_str().unwrap(), "--language", words.language];
        let ran = home.run(&arguments).well();
        let events = ran.events();
        // A day may have ended meanwhile.
        Self { words, home, ran, events, days: BTreeSet::from([before, tomorrow()]) }
    }

    fn kept(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path("kept").join(name)).unwrap()
    }

    /// The session's id: the first one is last week's, the second one today's.
    fn session(&self, number: usize) -> String {
        let mut sessions: Vec<&str> = Vec::new();
        for event in all(&self.events, "turn_started") {
            let session = event["session"].as_str().unwrap();
            if !sessions.contains(&session) {
                sessions.push(session);
            }
        }
        assert_eq!(sessions.len(), 2, "there are two sessions");
        sessions[number].to_owned()
    }

    /// The events of the turn that begins with these words.
    fn turn(&self, said: &str) -> &[Value] {
        let from = place(&self.events, |event| event["event"] == "said" && event["text"] == said);
        let rest = &self.events[from..];
        &rest[..=place(rest, |event| event["event"] == "finished")]
    }
}

#[tokio::test]
async fn each_link_holds_in_english() {
    each_link_holds(ENGLISH).await;
}

#[tokio::test]
async fn each_link_holds_in_chinese() {
    each_link_holds(CHINESE).await;
}

async fn each_link_holds(words: Words) {
    let played = Played::play(words);
    another_process_made_the_one_reservation(&played);
    what_was_learned_fills_what_was_left_out(&played);
    the_booking_was_in_the_log_before_it_ran(&played);
    every_request_has_its_calls_paired(&played);
    the_ledger_stands_for_the_messages_that_were_folded(&played);
    the_parts_of_a_request_add_up(&played);
    assert_eq!(only(&played.events, "summary")["habit_count"], 1, "the implicit counter has moved");
    the_log_is_whole(&played).await;
}

fn another_process_made_the_one_reservation(played: &Played) {
    let book = played.kept("reservations.jsonl");
    let lines: Vec<_> = book.lines().collect();
    let [line] = lines.as_slice() else { panic!("{} reservations instead of one: {book}", lines.len()) };
    let made: Value = serde_json::from_str(line).unwrap();
    assert_eq!(made["restaurant"], played.words.restaurant);
    assert!(played.days.contains(&made["date"].as_str().unwrap().parse().unwrap()), "{made}");
    assert_eq!((&made["time"], &made["people"]), (&json!("19:00"), &json!(2)));
    assert!(made["process"].is_u64());
    assert_ne!(made["process"], played.ran.process, "the demo's own process has not made it");

    let summary = only(&played.events, "summary");
    assert_eq!(summary["reservation"], made);
    assert_eq!(summary["demo_process"], played.ran.process);
}

fn what_was_learned_fills_what_was_left_out(played: &Played) {
    let words = &played.words;
    // What was written in last week's session: one record, a fact, proved by that session's message.
    let kept = played.kept("memory.jsonl");
    let records =
        kept.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["put"]["record"].clone());
    let records: Vec<Value> = records.filter(|record| !record.is_null()).collect();
    let ids: BTreeSet<&str> = records.iter().map(|record| record["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let record = &records[0];
    assert_eq!((&record["kind"], &record["content"]), (&json!("fact"), &json!(words.memory)));
    let proof = &record["provenance"][0];
    assert_eq!((&proof["session"], &proof["messages"]), (&json!(played.session(0)), &json!([1])));
    let learned: Vec<_> =
        all(&played.events, "learned").into_iter().filter(|event| event["written"] != json!([])).collect();
    assert_eq!(learned.len(), 1);
    assert_eq!(learned[0]["written"], json!([format!("new: {}", words.memory)]));

    // It is what today's wish recalls, by calibrated likeness (R6).
    let turn = played.turn(words.wish);
    assert_eq!(only(turn, "turn_started")["session"], played.session(1));
    let recalled = only(turn, "recalled")["items"].as_array().unwrap();
    let [item] = recalled.as_slice() else { panic!("{recalled:?}") };
    assert_eq!(
        (&item["id"], &item["kind"], &item["content"]),
        (&record["id"], &json!("fact"), &json!(words.memory))
    );
    assert!(item["score"].as_f64().unwrap() >= 0.45, "{item}");

    // And the model left out what it filled (L2).
    let calls = all(turn, "tool_call");
    assert_eq!(calls.len(), 2, "{calls:?}");
    let call = &calls[0]["call"];
    assert_eq!(call["name"], "search_restaurant");
    assert_eq!(inner(&call["arguments"]).get("name"), None);
    let search = started(turn, "search_restaurant");
    let [search] = search.as_slice() else { panic!("{search:?}") };
    assert_eq!(search["call"], call["id"]);
    let filled = json!([{ "pointer": "/name", "value": words.restaurant, "memory": record["id"] }]);
    assert_eq!(search["filled"], filled);
    assert_eq!(inner(&search["arguments"])["name"], words.restaurant);
    let result = &all(turn, "tool_result")[0]["result"];
    assert_eq!((&result["call"], &result["failure"]), (&call["id"], &Value::Null));
    assert_eq!(result["report"]["filled"], json!([record["id"]]));
    let told = inner(&result["content"][0]["text"]);
    assert_eq!(told["output"]["filled_from_memory"]["/name"], words.restaurant, "the model is told");
}

fn the_booking_was_in_the_log_before_it_ran(played: &Played) {
    let bookings = started(&played.events, "booking_make_reservation");
    let [booking] = bookings.as_slice() else { panic!("{} bookings", bookings.len()) };
    let arguments = inner(&booking["arguments"]);
    assert_eq!(
        (&arguments["restaurant"], &arguments["people"]),
        (&json!(played.words.restaurant), &json!(2))
    );
    assert_eq!(booking["filled"], json!([]));
    let id = &booking["call"];
    let called = place(&played.events, |event| event["event"] == "tool_call" && event["call"]["id"] == *id);
    let began = place(&played.events, |event| event["event"] == "call_started" && event["call"] == *id);
    let ended =
        place(&played.events, |event| event["event"] == "tool_result" && event["result"]["call"] == *id);
    assert!(called < began && began < ended);
    let told = inner(&played.events[ended]["result"]["content"][0]["text"]);
    assert_eq!(told["output"], only(&played.events, "summary")["reservation"], "the answer is the server's");
    let confirmation = told["output"]["confirmation"].as_str().unwrap();
    let answer = only(played.turn(played.words.wish), "answered")["text"].as_str().unwrap();
    assert!(answer.contains(confirmation) && answer.contains(played.words.restaurant), "{answer}");
}

/// The kind of a message, and what is in it.
fn message(message: &Value) -> (&str, &Value) {
    let (kind, inside) = message.as_object().unwrap().iter().next().unwrap();
    (kind, inside)
}

/// The calls of an assistant's message.
fn calls(message: &Value) -> Vec<&Value> {
    message["assistant"]["calls"].as_array().into_iter().flatten().map(|call| &call["id"]).collect()
}

fn every_request_has_its_calls_paired(played: &Played) {
    let sent = all(&played.events, "sent");
    assert_eq!(sent.len(), all(&played.events, "request").len(), "every request is shown");
    for request in sent {
        let mut messages = request["messages"].as_array().unwrap().iter().peekable();
        while let Some(next) = messages.next() {
            assert_ne!(message(next).0, "tool", "a result without its call: {request}");
            for call in calls(next) {
                let result = messages.next_if(|next| next["tool"]["call"] == *call);
                assert!(result.is_some(), "a call without its result: {request}");
            }
        }
    }
}

fn the_ledger_stands_for_the_messages_that_were_folded(played: &Played) {
    let last = all(&played.events, "request").pop().unwrap();
    assert!(last["tokens"]["summary"].as_u64().unwrap() > 0, "{last}");
    let trims = last["explanation"]["trims"].as_array().unwrap();
    assert!(trims.iter().any(|trim| trim["what"] == "folded"), "{last}");

    let sent = all(&played.events, "sent").pop().unwrap();
    let messages = sent["messages"].as_array().unwrap();
    assert!(messages[1]["user"]["content"][0]["text"].as_str().unwrap().contains("<summary>"), "{sent}");
    for sent in messages {
        assert_ne!(message(sent).0, "tool", "the booking's messages have left the window");
        assert!(calls(sent).is_empty(), "the booking's messages have left the window");
    }
    let (kind, asked) = message(messages.last().unwrap());
    assert_eq!(kind, "user");
    let parts: Vec<_> =
        asked["content"].as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap()).collect();
    let [ledger, _question] = parts.as_slice() else { panic!("{parts:?}") };
    for part in [played.words.ledger, "booking_make_reservation(", played.words.restaurant, ": ok"] {
        assert!(ledger.contains(part), "{part:?} is missing in {ledger}");
    }
}

fn the_parts_of_a_request_add_up(played: &Played) {
    let number = |value: &Value| value.as_u64().unwrap();
    for request in all(&played.events, "request") {
        let (tokens, explanation) = (&request["tokens"], &request["explanation"]);
        let parts = explanation["parts"].as_array().unwrap().iter().map(|part| number(&part["tokens"]));
        assert_eq!(parts.sum::<u64>(), number(&explanation["tokens"]), "{request}");
        let sent = ["system", "summary", "history", "memory", "current"].map(|part| number(&tokens[part]));
        assert_eq!(sent.iter().sum::<u64>(), number(&explanation["tokens"]), "{request}");
        assert!(number(&explanation["tokens"]) <= number(&explanation["budget"]), "{request}");
        assert!(number(&tokens["tools"]) > 0, "{request}");
    }
    // Today's session as a whole is the sum of its requests.
    let from = place(&played.events, |event| event["session"] == played.session(1));
    let today = all(&played.events[from..], "request");
    let whole = &only(&played.events, "summary")["tokens"];
    for part in ["system", "tools", "summary", "history", "memory", "current"] {
        let sum: u64 = today.iter().map(|request| number(&request["tokens"][part])).sum();
        assert_eq!(number(&whole[part]), sum, "{part}");
    }
    assert!(number(&whole["answer"]) > 0);
}

async fn the_log_is_whole(played: &Played) {
    let database = played.home.path("kept").join("demo.db");
    let store = SqliteStore::connect(&format!("sqlite://{}", database.display())).await.unwrap();
    let owner = Owner::new("demo".parse().unwrap(), "dana".parse().unwrap());
    let session =
        Sessions::new(store.clone()).open(&owner, played.session(1).parse().unwrap()).await.unwrap();
    let page = session.history(&LogQuery::forward(Seq::new(1), Limit::MAX)).await.unwrap();
    assert!(!page.more);
    // Two messages a short turn and for the question; for the wish two steps with call, start and result, between
    // the user's message and the answer.
    let whole = 2 * SMALL_TALK + (1 + 2 * 3 + 1) + 2 * SMALL_TALK + 2;
    let seqs: Vec<_> = page.messages.iter().map(|message| message.seq().get()).collect();
    assert_eq!(seqs, (1..=whole).collect::<Vec<_>>());
    assert_eq!(only(&played.events, "summary")["messages"], whole);
    let wish = &page.messages[usize::try_from(2 * SMALL_TALK).unwrap()];
    assert_eq!((wish.role(), wish.text()), (Role::User, played.words.wish.to_owned()));
    store.close().await;
}

#[test]
fn a_folder_with_an_earlier_demo_is_left_alone() {
    let home = Home::new();
    let kept = home.path("kept");
    let arguments = ["demo", "--keep", kept.to_str().unwrap()];
    home.run(&arguments).well();
    let before = files(&kept);
    let again = home.run(&arguments);
    again.failed_with(&[
        kept.join("demo.db").to_str().unwrap(),
        "an earlier demo is kept here",
        "another folder",
    ]);
    assert!(files(&kept) == before, "the folder was changed");
}

#[test]
fn nothing_is_left_behind_where_nothing_is_kept() {
    let home = Home::new();
    let temporary = home.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let left = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
    Ran::of(home.command(&["demo"]).env("TMPDIR", &temporary).spawn().unwrap()).well();
    assert_eq!((left(&temporary), left(&home.data())), (0, 0));
}
