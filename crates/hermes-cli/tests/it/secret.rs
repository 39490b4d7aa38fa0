//! Keys and passwords are sent where they have to go, and are seen nowhere else.

use crate::program::{Home, NOBODY, Ran, chat};
use crate::service::Service;

const KEY: &str = "sk-topsecret-0123456789";

/// Runs with everything logged that can be.
fn traced(home: &Home, arguments: &[&str]) -> Ran {
    Ran::of(home.command(arguments).env("HERMES_LOG", "trace").spawn().unwrap())
}

#[track_caller]
fn hidden(home: &Home, ran: &Ran, secret: &str) {
    assert!(!ran.out.contains(secret) && !ran.err.contains(secret), "{secret} is shown: {ran:?}");
    for (path, content) in home.files() {
        let found = content.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{secret} stands in {}", path.display());
    }
}

#[test]
fn the_key_is_sent_and_never_shown() {
    let (home, service) = (Home::new(), Service::saying("hello"));
    for more in [&["--api-key", KEY, "hi"][..], &["--api-key", KEY, "--json", "hi"]] {
        let ran = traced(&home, &chat(&service.url, more));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.err.is_empty(), "nothing was logged");
        hidden(&home, &ran, KEY);
    }
    let requests = service.requests();
    assert!(!requests.is_empty());
    let header = format!("authorization: bearer {}", KEY.to_lowercase());
    assert!(requests.iter().all(|request| request.head.to_lowercase().contains(&header)));
}

#[test]
fn the_key_of_the_environment_is_sent_and_never_shown() {
    let (home, service) = (Home::new(), Service::saying("hello"));
    let mut command = home.command(&["chat", "--no-memory", "hi"]);
    command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", &service.url).env("OPENAI_MODEL", "scripted");
    let ran = Ran::of(command.env("HERMES_LOG", "trace").spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    hidden(&home, &ran, KEY);
    let [request] = service.requests().try_into().unwrap();
    assert!(request.head.contains(KEY));
    assert_eq!(request.body["model"], "scripted");
}

#[test]
fn the_key_is_not_shown_where_the_service_cannot_be_reached() {
    let home = Home::new();
    let ran = traced(&home, &chat(NOBODY, &["--api-key", KEY, "hi"]));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    hidden(&home, &ran, KEY);
}

#[test]
fn credentials_in_an_address_are_refused_and_never_shown() {
    let home = Home::new();
    for url in ["http://dana:hunter2pass@127.0.0.1:1/v1", "http://127.0.0.1:1/v1?key=hunter2pass"] {
        let ran = home.chat(url, &["--model", "m", "hi"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        hidden(&home, &ran, "hunter2pass");
        let ran = traced(&home, &chat(url, &["--model", "m", "hi"]));
        hidden(&home, &ran, "hunter2pass");
    }
    home.chat("http://dana:hunter2pass@127.0.0.1:1/v1", &["hi"])
        .failed_with(&["credentials", "give the key by itself"]);
}
