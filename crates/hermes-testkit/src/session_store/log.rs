//! Appending and reading messages.

use hermes_core::{
    Body, CallStarted, JsonText, Limit, LogFilter, LogQuery, Message, NewMessage, Order, Seq, SessionId,
    SessionStore, StoreError, WriteGuard,
};
use jiff::ToSpan as _;

use super::{append, create, create_with, log_of, stored, texts};
use crate::check::{ok, refused};
use crate::sample::{AWKWARD_JSON, at, rich_messages, session};

/// SS6: messages get consecutive places after the last one and come back as stored; the session was updated then.
pub async fn append_gives_consecutive_places(store: &dyn SessionStore) {
    let new = session("S");
    create("SS6", store, &new).await;
    let mut expected = Vec::new();
    for (now, batch) in [(5, texts(&["one"])), (7, texts(&["two", "three", "four"])), (7, texts(&["five"]))] {
        let last = expected.last().map_or(Seq::START, Message::seq);
        let appended = append("SS6", store, &new, last, &batch, now).await;
        let wanted: Vec<_> = batch
            .into_iter()
            .zip(1..)
            .map(|(message, n)| Message::from_new(message, last.plus(n), at(now)))
            .collect();
        assert_eq!(appended, wanted, "SS6: what append gives");
        expected.extend(wanted);
        let state = stored("SS6", store, &new.owner, new.id).await.state;
        assert_eq!(state.last, expected.last().map_or(Seq::START, Message::seq), "SS6: the last place");
        assert_eq!(state.updated, at(now), "SS6: updated becomes the guard's time");
    }
    assert_eq!(
        log_of("SS6", store, &new.owner, new.id).await,
        expected,
        "SS6: the log holds what was appended"
    );
}

/// SS6: logs are apart: each counts from 1.
pub async fn each_session_counts_for_itself(store: &dyn SessionStore) {
    let (one, two) = (session("One"), session("Two"));
    create_with("SS6", store, &one, &texts(&["a", "b"])).await;
    create_with("SS6", store, &two, &texts(&["c"])).await;
    append("SS6", store, &one, Seq::new(2), &texts(&["d"]), 3).await;
    let says = |log: Vec<Message>| log.iter().map(|m| (m.seq().get(), m.text())).collect::<Vec<_>>();
    let log = says(log_of("SS6", store, &one.owner, one.id).await);
    assert_eq!(log, [(1, "a".to_owned()), (2, "b".to_owned()), (3, "d".to_owned())], "SS6: the first log");
    let log = says(log_of("SS6", store, &two.owner, two.id).await);
    assert_eq!(log, [(1, "c".to_owned())], "SS6: the second log");
}

/// SS7: an append after a place that is not the last one is refused, says both places, and stores nothing.
pub async fn append_refuses_a_stale_place(store: &dyn SessionStore) {
    let new = session("S");
    let log = create_with("SS7", store, &new, &texts(&["one", "two", "three"])).await;
    let before = stored("SS7", store, &new.owner, new.id).await;
    for wrong in [0, 1, 2, 4, 1_000, u64::MAX] {
        let wrong = Seq::new(wrong);
        let result = store
            .append(&new.owner, new.id, wrong, &texts(&["late", "later"]), WriteGuard::unleased(at(50)))
            .await;
        let (of, expected, actual) = refused!("SS7", result,
            StoreError::Conflict { session, expected, actual } => (session, expected, actual));
        assert_eq!(
            (of, expected, actual),
            (new.id, wrong, Seq::new(3)),
            "SS7: the conflict says both places"
        );
    }
    assert_eq!(log_of("SS7", store, &new.owner, new.id).await, log, "SS7: nothing was stored");
    assert_eq!(stored("SS7", store, &new.owner, new.id).await, before, "SS7: the session is unchanged");
    append("SS7", store, &new, Seq::new(3), &texts(&["four"]), 51).await;
}

/// SS9: a message that uses every part reads back equal, from `append`, `page` and `messages`.
pub async fn messages_read_back_equal(store: &dyn SessionStore) {
    let new = session("S");
    create("SS9", store, &new).await;
    let messages = rich_messages();
    let places: Vec<_> = (1..).map(Seq::new).take(messages.len()).collect();
    let expected: Vec<_> = messages
        .iter()
        .zip(&places)
        .map(|(message, seq)| Message::from_new(message.clone(), *seq, at(2)))
        .collect();
    let appended = append("SS9", store, &new, Seq::START, &messages, 2).await;
    let paged = log_of("SS9", store, &new.owner, new.id).await;
    let named = ok("SS9", store.messages(&new.owner, new.id, &places).await);
    for (way, got) in [("append", appended), ("page", paged), ("messages", named)] {
        assert_eq!(got.len(), expected.len(), "SS9: {way} gives every message");
        for (got, expected) in got.iter().zip(&expected) {
            assert_eq!(got, expected, "SS9: a message from {way}");
        }
    }
}

/// SS9: opaque JSON, executed arguments and a model's broken arguments come back byte for byte.
pub async fn opaque_json_is_kept_byte_for_byte(store: &dyn SessionStore) {
    let new = session("S");
    let calls = NewMessage::calls(vec![crate::sample::call("c", "t", "{\"a\" :1,}\n")])
        .with_provider([("p".to_owned(), crate::sample::json(AWKWARD_JSON))].into());
    let started = NewMessage::started(CallStarted {
        call: crate::sample::call("c", "t", "").id,
        tool: "t".to_owned(),
        arguments: crate::sample::json(AWKWARD_JSON),
        key: None,
        filled: Vec::new(),
        repaired: Vec::new(),
        approval: None,
    });
    create_with("SS9", store, &new, &[calls, started]).await;
    let log = log_of("SS9", store, &new.owner, new.id).await;
    let provider = log[0].provider().get("p").map(JsonText::as_str);
    assert_eq!(provider, Some(AWKWARD_JSON), "SS9: opaque JSON of a provider");
    let written: Vec<_> = log[0].body().calls().iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(written, ["{\"a\" :1,}\n"], "SS9: arguments as the model wrote them");
    let Body::CallStarted(started) = log[1].body() else { panic!("SS9: the journal entry is {:?}", log[1]) };
    assert_eq!(started.arguments.as_str(), AWKWARD_JSON, "SS9: executed arguments");
}

/// SS9: times are kept to the microsecond, those that a message brings and those that the append gives.
pub async fn times_are_kept_to_the_microsecond(store: &dyn SessionStore) {
    let new = session("S");
    create("SS9", store, &new).await;
    let mut brought = NewMessage::user("imported");
    brought.created = Some(at(-500) + 999.nanoseconds());
    let guard = WriteGuard::unleased(at(3) + 1.microsecond());
    ok("SS9", store.append(&new.owner, new.id, Seq::START, &[brought, NewMessage::user("now")], guard).await);
    let times: Vec<_> = log_of("SS9", store, &new.owner, new.id).await.iter().map(Message::created).collect();
    assert_eq!(times, [at(-500), at(3) + 1.microsecond()], "SS9: times to the microsecond");
}

/// SS9: a long message is kept whole.
pub async fn long_messages_are_kept_whole(store: &dyn SessionStore) {
    let new = session("S");
    let text = "四川 Sichuan \u{1f35c} ".repeat(20_000);
    create_with("SS9", store, &new, &[NewMessage::user(text.clone())]).await;
    let log = log_of("SS9", store, &new.owner, new.id).await;
    assert!(log[0].text() == text, "SS9: {} bytes came back as {}", text.len(), log[0].text().len());
}

/// Whether a message passes a filter.
type Passes = fn(&Message) -> bool;

/// SS10: every page holds exactly the messages of filter and bounds, in order, and says truly whether there are more.
pub async fn page_gives_what_was_asked_for(store: &dyn SessionStore) {
    let new = session("S");
    let messages: Vec<_> = (0..13)
        .map(|n| {
            let text = format!("m{n}");
            let message = if n % 3 == 0 { NewMessage::user(text) } else { NewMessage::assistant(text) };
            if n % 5 == 1 { message.with_sticky() } else { message }
        })
        .collect();
    let log = create_with("SS10", store, &new, &messages).await;
    let filters: [(LogFilter, Passes); 3] = [
        (LogFilter::All, |_| true),
        (LogFilter::Sticky, Message::is_sticky),
        (LogFilter::TurnStarts, |message| matches!(message.body(), Body::User { .. })),
    ];
    for (filter, passes) in filters {
        for order in [Order::Ascending, Order::Descending] {
            for (from, to) in [(0, u64::MAX), (1, 13), (4, 10), (5, 5), (9, 3), (14, 20), (13, u64::MAX)] {
                let (from, to) = (Seq::new(from), Seq::new(to));
                let mut all: Vec<_> =
                    log.iter().filter(|m| from <= m.seq() && m.seq() <= to && passes(m)).cloned().collect();
                if order == Order::Descending {
                    all.reverse();
                }
                for limit in [1, 2, 3, 5, 13, 1_000] {
                    let query = LogQuery { filter, order, from, to, limit: Limit::new(limit) };
                    let page = ok("SS10", store.page(&new.owner, new.id, &query).await);
                    let expected: Vec<_> = all.iter().take(limit).cloned().collect();
                    assert_eq!(page.messages, expected, "SS10: the messages of {query:?}");
                    assert_eq!(page.more, all.len() > limit, "SS10: whether {query:?} has more");
                }
            }
        }
    }
}

/// SS11: single messages come in order, each once; places that do not exist are passed over, and too many are refused.
pub async fn messages_gives_the_named_places(store: &dyn SessionStore) {
    let new = session("S");
    let log = create_with("SS11", store, &new, &texts(&["1", "2", "3", "4", "5"])).await;
    for (asked, expected) in [
        (vec![4, 2, 4, 0, 99, u64::MAX, 2], vec![2, 4]),
        (vec![], vec![]),
        (vec![6], vec![]),
        (vec![5, 1], vec![1, 5]),
    ] {
        let places: Vec<_> = asked.iter().copied().map(Seq::new).collect();
        let got = ok("SS11", store.messages(&new.owner, new.id, &places).await);
        let expected: Vec<_> = log.iter().filter(|m| expected.contains(&m.seq().get())).cloned().collect();
        assert_eq!(got, expected, "SS11: the messages at {asked:?}");
    }
    let most: Vec<_> = (1..).map(Seq::new).take(Limit::MAX.get()).collect();
    assert_eq!(ok("SS11", store.messages(&new.owner, new.id, &most).await), log, "SS11: as many as allowed");
    let over: Vec<_> = (1..).map(Seq::new).take(Limit::MAX.get() + 1).collect();
    refused!("SS11", store.messages(&new.owner, new.id, &over).await, StoreError::Invalid { .. });
    let gone = store.messages(&new.owner, SessionId::generate(), &[Seq::new(1)]).await;
    refused!("SS11", gone, StoreError::NotFound { .. });
}

/// SS12: appending nothing stores nothing, and still checks place, session and guard.
pub async fn append_of_nothing_stores_nothing(store: &dyn SessionStore) {
    let new = session("S");
    let log = create_with("SS12", store, &new, &texts(&["one"])).await;
    let guard = WriteGuard::unleased(at(2));
    let nothing = ok("SS12", store.append(&new.owner, new.id, Seq::new(1), &[], guard).await);
    assert!(nothing.is_empty(), "SS12: nothing is given back");
    assert_eq!(log_of("SS12", store, &new.owner, new.id).await, log, "SS12: nothing is stored");
    let state = stored("SS12", store, &new.owner, new.id).await.state;
    assert_eq!(state.last, Seq::new(1), "SS12: the last place stays");
    assert_ne!(state.updated, at(2), "SS12: nothing has changed");
    let stale = store.append(&new.owner, new.id, Seq::START, &[], guard).await;
    refused!("SS12", stale, StoreError::Conflict { .. });
    let gone = store.append(&new.owner, SessionId::generate(), Seq::START, &[], guard).await;
    refused!("SS12", gone, StoreError::NotFound { .. });
    let holder = crate::sample::holder("a");
    ok("SS12", store.acquire(&new.owner, new.id, &holder, crate::sample::seconds(60), at(3)).await);
    let unleased = store.append(&new.owner, new.id, Seq::new(1), &[], WriteGuard::unleased(at(4))).await;
    refused!("SS12", unleased, StoreError::Leased { .. });
}
