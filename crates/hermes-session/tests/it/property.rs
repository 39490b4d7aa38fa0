//! For every log, window and budget: pairs are whole, the budget holds, and repairing twice is repairing once (S6, S8).

use std::collections::HashSet;

use hermes_core::{CallStarted, JsonText, NewMessage, ProviderMetadata, Tokens};
use hermes_session::{
    Budget, Context, ContextSpec, Part, SessionConfig, WindowView, assemble, count_message, paired, repair,
};
use proptest::prelude::*;

use crate::support::{ByteCounter, assert_paired, call, call_id, counted, logged, result, step};

/// How many random logs are made; each is assembled under every window of `WINDOWS` and every budget of `BUDGETS`: over 100,000 contexts.
const LOGS: u32 = 1_200;
/// The same for a long run: over a million contexts.
const MANY_LOGS: u32 = 12_000;
const WINDOWS: [(usize, usize); 4] = [(1, 1), (2, 1), (3, 2), (12, 4)];
const BUDGETS: [u32; 21] = [
    0, 10, 20, 30, 40, 60, 80, 100, 130, 160, 200, 250, 300, 400, 500, 700, 1_000, 1_500, 2_500, 5_000,
    100_000,
];

/// Something that happens in a conversation, however unlikely.
#[derive(Debug, Clone)]
enum Event {
    User {
        length: usize,
        sticky: bool,
    },
    Answer {
        length: usize,
    },
    Notice,
    /// A step whose calls have these numbers; the same number may come again.
    Step {
        calls: Vec<u8>,
        text: usize,
        opaque: bool,
    },
    Result {
        call: u8,
        length: usize,
    },
    Started {
        call: u8,
    },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0_usize..60, prop::bool::weighted(0.2)).prop_map(|(length, sticky)| Event::User { length, sticky }),
        2 => (0_usize..80).prop_map(|length| Event::Answer { length }),
        1 => Just(Event::Notice),
        4 => (prop::collection::vec(0_u8..6, 1..4), 0_usize..30, any::<bool>())
            .prop_map(|(calls, text, opaque)| Event::Step { calls, text, opaque }),
        6 => (0_u8..6, 0_usize..500).prop_map(|(call, length)| Event::Result { call, length }),
        1 => (0_u8..6).prop_map(|call| Event::Started { call }),
    ]
}

fn message(event: &Event) -> NewMessage {
    let words = |length: usize| "步骤 ok <b> 12-34 ".chars().cycle().take(length).collect::<String>();
    let name = |n: u8| format!("c{n}");
    match event {
        Event::User { length, sticky } => {
            let message = NewMessage::user(words(*length));
            if *sticky { message.with_sticky() } else { message }
        }
        Event::Answer { length } => NewMessage::assistant(words(*length)),
        Event::Notice => NewMessage::system("the file was saved"),
        Event::Step { calls, text, opaque } => {
            let calls = calls.iter().map(|&n| call(&name(n), "tool", "{\"a\": 1}")).collect();
            let mut provider = ProviderMetadata::new();
            if *opaque {
                provider.insert("p".to_owned(), JsonText::parse("{\"signature\":\"xyz\"}").unwrap());
            }
            step(calls, &words(*text), provider)
        }
        Event::Result { call, length } => result(&name(*call), "tool", words(*length)),
        Event::Started { call } => NewMessage::started(CallStarted {
            call: call_id(&name(*call)),
            tool: "tool".to_owned(),
            arguments: JsonText::parse("{}").unwrap(),
            key: None,
            filled: Vec::new(),
            repaired: Vec::new(),
            approval: None,
        }),
    }
}

fn check(context: &Context, budget: u32, counter: &ByteCounter) {
    let what = (budget, context.explain());
    assert_paired(context.messages(), &what);
    assert!(paired(context.messages()), "{what:?}");
    let recount: Tokens = context.messages().iter().map(|message| count_message(counter, message)).sum();
    assert!(recount <= context.tokens(), "{recount} counted, {} said: {what:?}", context.tokens());
    assert!(context.tokens() <= Tokens::new(budget), "{what:?}");
    let mut parts: Vec<_> =
        context.labelled().map(|(part, _)| part).filter(|part| *part != Part::Beside).collect();
    assert!(parts.is_sorted(), "{what:?}");
    parts.dedup();
    let again = repair(context.messages().to_vec(), &HashSet::new());
    assert_eq!(again, context.messages(), "{what:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hermes_testkit::endurance::rounds(LOGS, MANY_LOGS), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_context_is_paired_and_fits(
        events in prop::collection::vec(event(), 0..24),
        pending in prop::collection::hash_set(0_u8..6, 0..2),
        dressed in any::<bool>(),
    ) {
        let counter = ByteCounter::new();
        let log = counted(events.iter().map(message), &counter);
        let view = WindowView::new(log);
        for (window, batch) in WINDOWS {
            let config = SessionConfig::default()
                .with_window_turns(window)
                .with_fold_batch(batch)
                .with_sticky_budget(Tokens::new(40))
                .with_summary_max(Tokens::new(60))
                .with_tool_result_max(Tokens::new(100))
                .with_shrunk_result(Tokens::new(60));
            let mut fitted = None;
            for budget in BUDGETS {
                let mut spec = ContextSpec::new(Budget::new(budget))
                    .with_pending(pending.iter().map(|n| call_id(&format!("c{n}"))));
                if dressed {
                    spec = spec.with_system("Be brief.").with_provider("p").with_beside("memory", "likes tea");
                }
                match assemble(&view, &spec, &config, &counter) {
                    Ok(context) => {
                        fitted.get_or_insert(budget);
                        check(&context, budget, &counter);
                    }
                    Err(exceeded) => {
                        prop_assert!(exceeded.needed > Tokens::new(budget));
                        prop_assert_eq!(exceeded.needed, exceeded.parts.total());
                        prop_assert!(fitted.is_none(), "{} does not fit, though {:?} did", budget, fitted);
                    }
                }
            }
        }
    }

    #[test]
    fn repairing_twice_is_repairing_once(
        events in prop::collection::vec(event(), 0..60),
        pending in prop::collection::hash_set(0_u8..6, 0..3),
    ) {
        let config = SessionConfig::default().with_window_turns(100);
        let view = WindowView::new(logged(events.iter().map(message)));
        let pending: HashSet<_> = pending.iter().map(|n| call_id(&format!("c{n}"))).collect();
        let spec = ContextSpec::new(Budget::new(u32::MAX)).with_pending(pending.clone());
        let context = assemble(&view, &spec, &config, &ByteCounter::new()).unwrap();
        let once = repair(context.messages().to_vec(), &pending);
        prop_assert_eq!(&once, context.messages());
        prop_assert_eq!(repair(once.clone(), &pending), once);
    }
}
