//! Strategies for property tests: logs as they come about in life, windows and budgets (S8).
//!
//! A log is made of turns; a turn of a user's message and steps. Calls of a step run side by side; their ids come from a small
//! pool and so repeat within and across steps, as some providers' do. Results come in any order, are missing, come twice or
//! answer nothing; a turn may be interrupted by the next anywhere.

use hermes_core::{
    CallStarted, ContentPart, FailureKind, JsonText, Message, NewMessage, Seq, StepId, Tokens, ToolCall,
    ToolResult,
};
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::sample::select;

use crate::sample::{at, call};

const WORDS: &[&str] = &[
    "tea",
    "order M-23891",
    "四川火锅",
    "the train to Chengdu",
    "明天晚上七点",
    "/tmp/a b",
    "42 €",
    "\u{1f35c}",
    "\n",
    "",
];
const IDS: &[&str] = &["call_1", "call_2", "call_3", "0", "call_1 "];
const TOOLS: &[&str] = &["search_restaurant", "make_reservation", "get_weather", "no such tool"];
const ARGUMENTS: &[&str] = &["{}", "{\"city\": \"成都\"}", "{\"party\":2,}", "", "null", "{\"city\""];

/// Short and long text, in English and Chinese.
pub fn text() -> BoxedStrategy<String> {
    prop_oneof![
        8 => vec(select(WORDS), 0..8).prop_map(|words| words.join(" ")),
        1 => (select(WORDS), 50..400usize).prop_map(|(word, n)| format!("{word} ").repeat(n)),
        1 => any::<String>(),
    ]
    .boxed()
}

/// A call whose id comes from a pool of five.
pub fn tool_call() -> BoxedStrategy<ToolCall> {
    (select(IDS), select(TOOLS), select(ARGUMENTS))
        .prop_map(|(id, tool, arguments)| call(id, tool, arguments))
        .boxed()
}

/// What becomes of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    Failed,
    AnsweredTwice,
    Running,
    Lost,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Answered),
        3 => Just(Fate::Failed),
        1 => Just(Fate::AnsweredTwice),
        1 => Just(Fate::Running),
        2 => Just(Fate::Lost),
    ]
}

fn result(call: &ToolCall, text: String, failure: Option<FailureKind>) -> NewMessage {
    NewMessage::result(ToolResult {
        call: call.id.clone(),
        tool: call.name.clone(),
        content: vec![ContentPart::Text(text)],
        failure,
        report: hermes_core::CallReport::default(),
    })
}

fn started(call: &ToolCall) -> NewMessage {
    NewMessage::started(CallStarted {
        call: call.id.clone(),
        tool: call.name.clone(),
        arguments: JsonText::parse(&call.arguments).unwrap_or_else(|_| crate::sample::json("{}")),
        key: None,
        filled: Vec::new(),
        repaired: Vec::new(),
        approval: None,
    })
}

/// A step that calls tools, its journal entries and its results, in an order in which they may enter a log.
fn step() -> impl Strategy<Value = Vec<NewMessage>> {
    let calls = vec((tool_call(), fate(), text()), 1..5);
    (text(), calls, any::<u64>()).prop_map(|(said, calls, order)| {
        let step = StepId::generate();
        let mut first = NewMessage::calls(calls.iter().map(|(call, _, _)| call.clone()).collect());
        if let hermes_core::Body::Assistant { content, .. } = &mut first.body
            && !said.is_empty()
        {
            content.push(ContentPart::Text(said));
        }
        let mut messages = vec![first];
        messages.extend(
            calls.iter().filter(|(_, fate, _)| *fate != Fate::Lost).map(|(call, _, _)| started(call)),
        );
        let mut results = Vec::new();
        for (call, fate, text) in &calls {
            match fate {
                Fate::Answered => results.push(result(call, text.clone(), None)),
                Fate::Failed => results.push(result(call, text.clone(), Some(FailureKind::Failed))),
                Fate::AnsweredTwice => {
                    results.push(result(call, text.clone(), None));
                    results.push(result(call, String::new(), None));
                }
                Fate::Running | Fate::Lost => {}
            }
        }
        // Results end in any order.
        let mut order = order;
        for last in (1..results.len()).rev() {
            let length = u64::try_from(last + 1).expect("a length fits");
            let place = usize::try_from(order % length).expect("it is below a length");
            order /= length;
            results.swap(last, place);
        }
        messages.extend(results);
        messages.into_iter().map(|message| message.with_step(step)).collect()
    })
}

/// A turn: what the user said, steps, mostly an answer; some are interrupted, some hold strays.
fn turn() -> impl Strategy<Value = Vec<NewMessage>> {
    let answer = proptest::option::weighted(0.85, text());
    let stray = proptest::option::weighted(0.05, (tool_call(), text()));
    let cut = proptest::option::weighted(0.1, any::<proptest::sample::Index>());
    let sticky = proptest::bool::weighted(0.15);
    (text(), vec(step(), 0..4), answer, stray, cut, sticky).prop_map(
        |(said, steps, answer, stray, cut, sticky)| {
            let user = NewMessage::user(said);
            let mut messages = vec![if sticky { user.with_sticky() } else { user }];
            messages.extend(steps.into_iter().flatten());
            if let Some((call, text)) = stray {
                messages.push(result(&call, text, None));
            }
            messages.extend(answer.map(NewMessage::assistant));
            if let Some(cut) = cut {
                messages.truncate(cut.index(messages.len()) + 1);
            }
            messages
        },
    )
}

/// A log of at most so many turns, not appended yet. It may begin with a notice of the application.
pub fn new_messages(turns: usize) -> BoxedStrategy<Vec<NewMessage>> {
    let notice = proptest::option::weighted(0.2, text());
    (notice, vec(turn(), 0..=turns))
        .prop_map(|(notice, turns)| {
            notice.map(NewMessage::system).into_iter().chain(turns.into_iter().flatten()).collect()
        })
        .boxed()
}

/// A log of at most so many turns, with places from 1 and a second between its messages.
pub fn messages(turns: usize) -> BoxedStrategy<Vec<Message>> {
    new_messages(turns)
        .prop_map(|messages| {
            let places = (1..).map(Seq::new).zip((1..).map(at));
            messages
                .into_iter()
                .zip(places)
                .map(|(message, (seq, at))| Message::from_new(message, seq, at))
                .collect()
        })
        .boxed()
}

/// How many turns a context holds whole: few, the default of 12, or more than there are.
pub fn window() -> BoxedStrategy<usize> {
    prop_oneof![4 => 1..8usize, 2 => Just(12), 1 => 12..40usize].boxed()
}

/// How many tokens a context may have: from next to none to more than any log here needs.
pub fn budget() -> BoxedStrategy<Tokens> {
    prop_oneof![1 => 0..64u32, 4 => 64..2_000u32, 2 => 2_000..20_000u32, 1 => Just(1_000_000)]
        .prop_map(Tokens::new)
        .boxed()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hermes_core::{Body, Kind};
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    use super::*;

    /// What property tests rely on: the odd cases do come up.
    #[test]
    fn logs_hold_every_oddity() {
        let mut runner = TestRunner::deterministic();
        let (mut parallel, mut repeated, mut missing, mut strays, mut sticky, mut interrupted) =
            (0, 0, 0, 0, 0, 0);
        for _ in 0..300 {
            let log = messages(6).new_tree(&mut runner).expect("a log").current();
            assert!(log.iter().map(|message| message.seq().get()).eq(1..=u64::try_from(log.len()).unwrap()));
            let mut open: Vec<String> = Vec::new();
            for message in &log {
                sticky += u32::from(message.is_sticky());
                match message.body() {
                    Body::Assistant { calls, .. } if !calls.is_empty() => {
                        open = calls.iter().map(|call| call.id.to_string()).collect();
                        parallel += u32::from(calls.len() > 1);
                        repeated += u32::from(open.iter().collect::<BTreeSet<_>>().len() < open.len());
                    }
                    Body::ToolResult(result) => match open.iter().position(|id| id == result.call.as_str()) {
                        Some(place) => drop(open.remove(place)),
                        None => strays += 1,
                    },
                    Body::User { .. } => {
                        missing += u32::from(!open.is_empty());
                        open.clear();
                    }
                    _ => {}
                }
            }
            interrupted += u32::from(log.last().is_some_and(|last| last.kind() == Kind::CallStarted));
        }
        for (what, count) in [
            ("parallel", parallel),
            ("repeated", repeated),
            ("missing", missing),
            ("strays", strays),
            ("sticky", sticky),
            ("interrupted", interrupted),
        ] {
            assert!(count > 0, "no log has {what} calls");
        }
    }
}
