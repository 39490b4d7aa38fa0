//! Full-text search.

use std::cmp::Reverse;

use hermes_core::{
    CallStarted, Message, NewMessage, NewSession, PageRequest, SearchHit, SearchQuery, Seq, SessionId,
    SessionStore,
};

use super::{create_with, texts};
use crate::check::{ok, walk};
use crate::sample::{at, call, json, owner, result_of, session};

async fn search(
    clause: &str,
    store: &dyn SessionStore,
    text: &str,
    within: Option<SessionId>,
) -> Vec<SearchHit> {
    let query = SearchQuery { text: text.to_owned(), session: within, page: PageRequest::default() };
    ok(clause, store.search(&owner(), &query).await).items
}

/// The places of the hits in one session, lowest first.
async fn places(clause: &str, store: &dyn SessionStore, text: &str, within: &NewSession) -> Vec<u64> {
    let mut places: Vec<_> = search(clause, store, text, Some(within.id))
        .await
        .iter()
        .map(|hit| hit.message.seq().get())
        .collect();
    places.sort_unstable();
    places
}

/// SS17: a message is found by its words and by pairs of Han characters, when it holds all that is asked for.
pub async fn search_finds_messages_that_hold_all_terms(store: &dyn SessionStore) {
    let new = session("S");
    let messages = texts(&[
        "Book the Sichuan restaurant for tomorrow",
        "The train to Chengdu leaves at nine",
        "我想吃四川火锅",
        "A restaurant in Chengdu, not far from the train",
        "order M-23891 is on its way",
    ]);
    create_with("SS17", store, &new, &messages).await;
    for (text, expected) in [
        ("restaurant", vec![1, 4]),
        ("RESTAURANT", vec![1, 4]),
        ("chengdu train", vec![2, 4]),
        ("train, restaurant!", vec![4]),
        ("restaurant nine", vec![]),
        ("火锅", vec![3]),
        ("四川火锅", vec![3]),
        ("四川 火锅", vec![3]),
        ("锅火", vec![]),
        ("火", vec![3]),
        ("M-23891", vec![5]),
        ("rest", vec![]),
    ] {
        assert_eq!(places("SS17", store, text, &new).await, expected, "SS17: what {text:?} finds");
    }
}

/// SS17: hits come newest first, then by session and place, descending, and pages hold each once, whole and with the title.
pub async fn search_is_newest_first_in_pages(store: &dyn SessionStore) {
    let mut expected = Vec::new();
    for (title, times) in [("One", [30, 10, 20]), ("Two", [10, 30, 30]), ("Three", [5, 10, 30])] {
        let new = session(title);
        let messages: Vec<_> = times
            .into_iter()
            .map(|time| {
                let mut message = NewMessage::user("a zebra");
                message.created = Some(at(time));
                message
            })
            .collect();
        for message in create_with("SS17", store, &new, &messages).await {
            expected.push(SearchHit { session: new.id, title: title.to_owned(), message });
        }
    }
    let key = |hit: &SearchHit| (hit.message.created(), hit.session, hit.message.seq());
    expected.sort_by_key(|hit| Reverse(key(hit)));
    for limit in [1, 2, 4, 9, 100] {
        let hits = walk("SS17", limit, async |page| {
            store.search(&owner(), &SearchQuery { text: "zebra".to_owned(), session: None, page }).await
        });
        assert_eq!(hits.await, expected, "SS17: all hits in order, {limit} a page");
    }
}

/// SS17: with a session named, only that session is searched.
pub async fn search_can_be_held_to_a_session(store: &dyn SessionStore) {
    let (one, two) = (session("One"), session("Two"));
    create_with("SS17", store, &one, &texts(&["a zebra"])).await;
    create_with("SS17", store, &two, &texts(&["two zebras", "a zebra"])).await;
    let hits = search("SS17", store, "zebra", Some(two.id)).await;
    let found: Vec<_> = hits.iter().map(|hit| (hit.session, hit.message.seq())).collect();
    assert_eq!(found, [(two.id, Seq::new(2))], "SS17: only the named session");
    assert!(
        search("SS17", store, "zebra", Some(SessionId::generate())).await.is_empty(),
        "SS17: no such session"
    );
}

/// SS17: what anyone said is found, a tool's result too.
pub async fn search_finds_what_anyone_said(store: &dyn SessionStore) {
    let new = session("S");
    let asked = call("c1", "zoo", "{}");
    let messages = [
        NewMessage::system("zebra"),
        NewMessage::user("zebra"),
        NewMessage::calls(vec![asked.clone()]),
        NewMessage::result(result_of(&asked, "{\"success\":true,\"output\":\"zebra\"}")),
        NewMessage::assistant("zebra"),
    ];
    create_with("SS17", store, &new, &messages).await;
    assert_eq!(places("SS17", store, "zebra", &new).await, [1, 2, 4, 5], "SS17: everyone's words");
}

/// SS18: a text without a term finds nothing, and is no error.
pub async fn search_without_a_term_finds_nothing(store: &dyn SessionStore) {
    let new = session("S");
    create_with("SS18", store, &new, &texts(&["hello, world", "?!", "", "\" OR 1=1 --", "100%"])).await;
    for text in ["", " \n", "?!", "...", "，。", "\"", "*", "%", "\u{1f35c}"] {
        let hits = search("SS18", store, text, None).await;
        assert!(hits.is_empty(), "SS18: {text:?} found {hits:?}");
    }
}

/// SS18: marks that mean something to a search engine mean nothing here.
pub async fn search_text_is_no_query_language(store: &dyn SessionStore) {
    let new = session("S");
    create_with("SS18", store, &new, &texts(&["hello world", "near and far"])).await;
    for (text, expected) in [
        ("\"hello", vec![1]),
        ("hello*", vec![1]),
        ("-hello", vec![1]),
        ("hel*", vec![]),
        ("(near", vec![2]),
        ("NEAR AND far", vec![2]),
        ("hello OR far", vec![]),
    ] {
        assert_eq!(places("SS18", store, text, &new).await, expected, "SS18: what {text:?} finds");
    }
}

/// SS18: the journal's entries are never found.
pub async fn search_never_finds_the_journal(store: &dyn SessionStore) {
    let new = session("S");
    let asked = call("c1", "zebra", "{\"animal\":\"zebra\"}");
    let started = CallStarted {
        call: asked.id,
        tool: asked.name,
        arguments: json(&asked.arguments),
        key: None,
        filled: Vec::new(),
        repaired: vec!["zebra".to_owned()],
        approval: None,
    };
    let log: Vec<Message> =
        create_with("SS18", store, &new, &[NewMessage::started(started), NewMessage::user("a zebra")]).await;
    let hits = search("SS18", store, "zebra", None).await;
    let found: Vec<_> = hits.into_iter().map(|hit| hit.message).collect();
    assert_eq!(found, log[1..], "SS18: only what was said");
}
