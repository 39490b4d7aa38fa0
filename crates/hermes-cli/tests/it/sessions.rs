//! Care of what is stored (S10), on SQLite and, where it is there, on PostgreSQL.

use hermes::core::{
    ArtifactStore as _, Clock as _, NewArtifact, NewMessage, NewSession, Owner, PageRequest, SystemClock,
};
use hermes::prelude::Sessions;
use hermes_testkit::server;
use serde_json::Value;

use crate::program::Home;

fn owner() -> Owner {
    Owner::new("local".parse().unwrap(), "dana".parse().unwrap())
}

/// Two sessions of three messages each; gives their ids, the older one first.
async fn fill(url: &str) -> [String; 2] {
    let store = hermes::connect(url).await.unwrap();
    let sessions = Sessions::from_arc(store.sessions);
    let mut ids = Vec::new();
    for (title, place) in [("Trip", "Paris"), ("Dinner", "川香阁")] {
        let session = sessions.create_with(NewSession::new(owner(), title, SystemClock.now())).await.unwrap();
        let said = [
            NewMessage::user(format!("Where is {place}?")),
            NewMessage::assistant("Let me see."),
            NewMessage::user("My name is Dana and I am allergic to peanuts."),
        ];
        session.append(Vec::from(said)).await.unwrap();
        let artifact = NewArtifact {
            media_type: "text/plain".to_owned(),
            name: "output".to_owned(),
            bytes: b"whole".to_vec(),
            created: SystemClock.now(),
            expires: None,
        };
        store.artifacts.put(&owner(), session.id(), artifact).await.unwrap();
        ids.push(session.id().to_string());
    }
    ids.try_into().unwrap()
}

struct Care<'a> {
    home: &'a Home,
    url: &'a str,
}

impl Care<'_> {
    /// Runs a command that succeeds; gives its JSON Lines.
    fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let ran = self.home.run(&[&["sessions", "--json", "--store", self.url], arguments].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let ran = self.home.run(&[&["sessions", "--store", self.url], arguments].concat());
        assert_eq!(ran.code, Some(1), "{arguments:?}: {}", ran.out);
        ran.err
    }

    fn titles(&self) -> Vec<String> {
        let listed = self.json(&["list"]);
        listed.iter().map(|session| session["record"]["title"].as_str().unwrap().to_owned()).collect()
    }
}

fn places(messages: &[Value]) -> Vec<u64> {
    messages.iter().map(|message| message["seq"].as_u64().unwrap()).collect()
}

async fn every_command_works_on(url: &str) {
    let home = Home::new();
    let care = Care { home: &home, url };
    let [trip, dinner] = fill(url).await;

    assert_eq!(care.titles(), ["Dinner", "Trip"]);
    assert_eq!(care.json(&["list", "--limit", "1"]).len(), 1);
    let shown = care.json(&["show", &trip]);
    assert_eq!(places(&shown), [1, 2, 3]);
    assert_eq!(shown[0]["body"]["user"]["content"][0]["text"], "Where is Paris?");
    assert_eq!(places(&care.json(&["show", &trip, "--from", "2", "--limit", "1"])), [2]);

    let found = care.json(&["search", "川香阁"]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["session"], dinner.as_str());
    assert_eq!(care.json(&["search", "allergic", "peanuts"]).len(), 2);
    assert_eq!(care.json(&["search", "peanuts", "--session", &trip]).len(), 1);
    assert!(care.json(&["search", "nowhere"]).is_empty());

    let fork = care.json(&["fork", &trip, "--at", "2", "--title", "Branch"])[0]["session"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(places(&care.json(&["show", &fork])), [1, 2]);
    care.json(&["rename", &fork, "Another", "branch"]);
    assert_eq!(care.titles()[0], "Another branch");

    let file = home.path("trip.jsonl");
    let file = file.to_str().unwrap();
    care.json(&["export", &trip, file]);
    let copy = care.json(&["import", file, "--copy"])[0]["session"].as_str().unwrap().to_owned();
    let again = home.path("again.jsonl");
    care.json(&["export", &copy, again.to_str().unwrap()]);
    let (first, second) = (std::fs::read_to_string(file).unwrap(), std::fs::read_to_string(&again).unwrap());
    assert_eq!(first.lines().skip(1).collect::<Vec<_>>(), second.lines().skip(1).collect::<Vec<_>>());
    assert!(care.refused(&["import", file]).contains("exists already"));

    let explained = care.json(&["explain", &dinner, "--budget", "1000"]);
    assert_eq!(explained[0]["session"], dinner.as_str());
    assert!(explained[0]["explanation"].is_object());

    care.json(&["delete", &trip]);
    assert!(care.refused(&["show", &trip]).contains(&trip));
    assert_eq!(places(&care.json(&["show", &fork])), [1, 2], "a fork stays whole");
    let store = hermes::connect(url).await.unwrap();
    let left = store.artifacts.list(&owner(), trip.parse().unwrap(), &PageRequest::default()).await.unwrap();
    assert!(left.items.is_empty(), "what hangs on a session goes with it");
    let kept =
        store.artifacts.list(&owner(), dinner.parse().unwrap(), &PageRequest::default()).await.unwrap();
    assert_eq!(kept.items.len(), 1);
}

#[tokio::test]
async fn every_command_works_on_sqlite() {
    let folder = Home::new();
    every_command_works_on(&format!("sqlite://{}", folder.path("care.db").display())).await;
}

#[tokio::test]
async fn every_command_works_on_postgres() {
    let test = "sessions::every_command_works_on_postgres";
    let Some(url) = server::url_for("postgres", test) else { return };
    // Other sessions of the same user may be there.
    let home = Home::new();
    let care = Care { home: &home, url: &url };
    let before = care.titles().len();
    let [trip, dinner] = fill(&url).await;
    assert_eq!(care.titles().len(), before + 2);
    assert_eq!(places(&care.json(&["show", &trip])), [1, 2, 3]);
    assert_eq!(care.json(&["search", "川香阁", "--session", &dinner]).len(), 1);
    care.json(&["delete", &trip]);
    care.json(&["delete", &dinner]);
    assert_eq!(care.titles().len(), before);
}

#[test]
fn a_long_log_is_shown_page_by_page() {
    let home = Home::new();
    let url = format!("sqlite://{}", home.path("many.db").display());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = hermes::connect(&url).await.unwrap();
        let session = Sessions::from_arc(store.sessions).create(&owner(), "Long").await.unwrap();
        for n in 0..12 {
            let messages = (0..100).map(|m| NewMessage::user(format!("message {n}.{m}"))).collect();
            session.append_all(messages).await.unwrap();
        }
    });
    let care = Care { home: &home, url: &url };
    let id = care.json(&["list"])[0]["record"]["id"].as_str().unwrap().to_owned();
    // More than two of the pages that are read at once.
    assert_eq!(places(&care.json(&["show", &id])), (1..=1_200).collect::<Vec<u64>>());
}
