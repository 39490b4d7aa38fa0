//! Cases from the shared list, by their id.

use std::collections::HashMap;

use hermes_core::{ModelError, NewMessage, Summarizer, SummaryRequest, Tokens, async_trait};
use hermes_inmemory::InMemoryStore;
use hermes_session::{
    Budget, ContextSpec, EstimateCounter, Part, SessionConfig, Sessions, WindowView, assemble, count_message,
};
use serde_json::Value;

use crate::support::{assert_paired, call, log_of, logged, owner, result, texts, tool_results};

fn case(id: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/given.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.into_iter().find(|case| case["id"] == id).unwrap()
}

/// The messages of a case's log.
fn log_of_case(case: &Value) -> Vec<NewMessage> {
    let mut names: HashMap<String, String> = HashMap::new();
    let mut messages = Vec::new();
    for entry in case["input"]["log"].as_array().unwrap() {
        let mut text = entry["content"].as_str().unwrap_or_default().to_owned();
        if let Some(pad) = entry.get("pad") {
            let times = usize::try_from(pad["times"].as_u64().unwrap()).unwrap();
            text.push_str(&pad["text"].as_str().unwrap().repeat(times));
        }
        messages.push(match (entry["role"].as_str().unwrap(), entry["kind"].as_str().unwrap()) {
            ("user", _) => NewMessage::user(text),
            ("assistant", "text") => NewMessage::assistant(text),
            ("assistant", _) => {
                let calls = entry["calls"].as_array().unwrap().iter().map(|asked| {
                    let (id, name) = (asked["id"].as_str().unwrap(), asked["name"].as_str().unwrap());
                    names.insert(id.to_owned(), name.to_owned());
                    call(id, name, asked["arguments"].as_str().unwrap())
                });
                NewMessage::calls(calls.collect())
            }
            _ => {
                let id = entry["tool_call_id"].as_str().unwrap();
                result(id, &names[id], text)
            }
        });
    }
    messages
}

#[test]
fn g01_a_trim_never_falls_inside_a_step() {
    let case = case("g01");
    let log = logged(log_of_case(&case));
    let before = log.clone();
    let counter = EstimateCounter::new();
    let view = WindowView::new(log.clone());

    let whole = assemble(&view, &Budget::new(1_000_000).into(), &SessionConfig::default(), &counter).unwrap();
    let healthy = tool_results(&whole);
    let ids: Vec<_> = healthy.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids.len(), case["expect"]["values"]["healthy_tool_messages"]);
    assert_eq!(serde_json::json!(ids), case["expect"]["values"]["healthy_order"]);
    for (id, text) in &healthy {
        let logged = log.iter().find(|message| {
            message.call_id().is_some_and(|call| call.as_str() == id) && message.tool_name().is_some()
        });
        assert_eq!(text, &logged.unwrap().text(), "{id}");
    }

    let size = whole.tokens().get();
    for window in case["input"]["sweep"]["window_turns"].as_array().unwrap() {
        let window = usize::try_from(window.as_u64().unwrap()).unwrap();
        let config = SessionConfig::default().with_window_turns(window).with_fold_batch(1);
        let mut smallest = None;
        for budget in 1..=size {
            let Ok(context) = assemble(&view, &Budget::new(budget).into(), &config, &counter) else {
                assert!(smallest.is_none(), "{budget} tokens do not fit, though less did");
                continue;
            };
            smallest.get_or_insert(budget);
            assert!(context.tokens() <= Tokens::new(budget));
            assert_paired(context.messages(), &(window, budget));
            let order: Vec<_> = tool_results(&context).into_iter().map(|(id, _)| id).collect();
            assert!(order.is_sorted(), "{order:?}");
        }
        // The current turn is one short message: it alone fits.
        let current = count_message(&counter, whole.messages().last().unwrap());
        assert_eq!(smallest, Some(current.get()), "window {window}");
    }
    assert_eq!(log, before);
}

#[tokio::test]
async fn g02_an_interrupted_step_is_explained_once_and_for_ever() {
    let sessions = Sessions::new(InMemoryStore::new());
    let session = sessions.create(&owner(), "库存").await.unwrap();
    session.append(log_of_case(&case("g02"))).await.unwrap();
    session.append(NewMessage::user("继续")).await.unwrap();

    let mut requests = Vec::new();
    for _restart in 0..3 {
        let session = sessions.open(&owner(), session.id()).await.unwrap();
        let context = session.context(Budget::new(8_000)).await.unwrap();
        assert_paired(context.messages(), &"g02");
        requests.push(context);
    }
    let first = &requests[0];
    assert!(requests.iter().all(|request| request.messages() == first.messages()));
    assert_eq!(texts(first)[0], "查三个仓库并预留 5 件。");
    assert_eq!(texts(first).last().map(String::as_str), Some("继续"));
    let results = tool_results(first);
    assert_eq!(results.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["s1", "s2", "s3"]);
    assert_eq!(results[0].1, "{\"success\":true,\"output\":12}");
    for (id, text) in &results[1..] {
        let told: Value = serde_json::from_str(text).unwrap();
        assert_eq!(told["success"], false, "{id}");
        assert!(told["error"].as_str().unwrap().contains("outcome is unknown"), "{id}: {text}");
    }
    // Nothing was added to the log.
    assert_eq!(log_of(&session).await.len(), 4);
}

#[derive(Debug)]
struct SaysTheSame(String);

#[async_trait]
impl Summarizer for SaysTheSame {
    async fn summarize(&self, _request: SummaryRequest) -> Result<String, ModelError> {
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn g03_what_the_user_laid_down_outlives_the_summary() {
    let case = case("g03");
    let input = &case["input"];
    let turns = input["turns"].as_u64().unwrap();
    let window = usize::try_from(input["window_turns"].as_u64().unwrap()).unwrap();
    let said = |turn: u64| {
        let own = input["user_at_turn"].get(turn.to_string()).and_then(Value::as_str);
        own.map_or_else(
            || input["filler_user"].as_str().unwrap().replace("{n}", &turn.to_string()),
            str::to_owned,
        )
    };
    let summary = input["summariser"].as_str().unwrap().strip_prefix("scripted: always answers ").unwrap();
    let sessions = Sessions::new(InMemoryStore::new())
        .with_config(SessionConfig::default().with_window_turns(window))
        .with_summarizer(SaysTheSame(summary.to_owned()));
    let session = sessions.create(&owner(), "发布").await.unwrap();
    let mut sticky = Vec::new();
    let mut last = None;
    for turn in 1..=turns {
        let stored = session.append(NewMessage::user(said(turn))).await.unwrap();
        if stored[0].is_sticky() {
            sticky.push(turn);
        }
        last = Some(session.context(Budget::new(16_000)).await.unwrap());
        let answer = input["filler_assistant"].as_str().unwrap().replace("{n}", &turn.to_string());
        session.append(NewMessage::assistant(answer)).await.unwrap();
    }
    let context = last.unwrap();
    assert_eq!(serde_json::json!(sticky), case["expect"]["values"]["sticky_turns"]);

    let labelled: Vec<_> =
        context.labelled().map(|(part, message)| (part, message.content().to_vec())).collect();
    assert_eq!(labelled[0].0, Part::Summary);
    let parts: Vec<_> = labelled[1].1.iter().filter_map(|part| part.as_text()).collect();
    assert_eq!(labelled[1].0, Part::Sticky);
    assert_eq!(parts[1..], [said(2), said(5)]);
    let all = texts(&context);
    assert!(all[0].contains(summary.trim()), "{}", all[0]);
    assert_eq!(all.iter().filter(|text| text.contains(&said(15))).count(), 1);
    assert!(all.contains(&said(15)));

    let explained = context.explain().parts.iter().find(|line| line.part == Part::Sticky).unwrap();
    assert_eq!(explained.messages.iter().map(|seq| seq.get()).collect::<Vec<_>>(), [3, 9]);
    assert!(explained.tokens > Tokens::ZERO && explained.tokens == context.parts().sticky);
}

#[test]
fn g33_the_budget_holds_for_a_session_in_chinese() {
    let counter = EstimateCounter::new();
    let line = "我们下周三去杭州出差，请帮我订两张高铁票。";
    let log = (0..60).flat_map(|_| [NewMessage::user(line), NewMessage::assistant(line)]);
    let view = WindowView::new(logged(log));
    let context =
        assemble(&view, &ContextSpec::new(Budget::new(1_000)), &SessionConfig::default(), &counter).unwrap();
    let recount: Tokens = context.messages().iter().map(|message| count_message(&counter, message)).sum();
    assert!(context.tokens() <= Tokens::new(1_000) && recount <= Tokens::new(1_000), "{recount}");
}
