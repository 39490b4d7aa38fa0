//! What is wrong is said in one sentence, with a failure as exit code, and nothing is lost.

use crate::program::{Home, NOBODY, Ran};
use crate::service::Service;

/// Runs a chat that has to fail with a sentence of these parts, and to leave the files as they were.
#[track_caller]
fn refused(home: &Home, arguments: &[&str], parts: &[&str]) -> Ran {
    let before = home.files();
    let ran = home.run(&[&["chat"], arguments].concat());
    ran.failed_with(parts);
    let after = home.files();
    assert!(after == before, "the files were changed: {:?} instead of {:?}", after.keys(), before.keys());
    ran
}

/// A home with a session in it.
fn lived_in() -> Home {
    let home = Home::new();
    home.chat(&Service::saying("hello").url, &["--no-memory", "hi"]).well();
    home
}

#[test]
fn an_unknown_key_of_the_settings_is_named_with_its_file_and_line() {
    let home = lived_in();
    let path = home.write("config.toml", "memory = true\n\nmodle = \"x\"\n");
    let parts = [path.to_str().unwrap(), "line 3", "`modle`", "did you mean `model`?"];
    refused(&home, &["hi"], &parts);
}

#[test]
fn a_key_that_is_like_no_other_gets_the_list() {
    let home = Home::new();
    home.write("config.toml", "colour = \"red\"\n");
    let ran = refused(&home, &["hi"], &["line 1", "`colour`", "`base_url`", "`temperature`"]);
    assert!(!ran.err.contains("did you mean"), "{}", ran.err);
}

#[test]
fn settings_that_are_no_toml_or_of_another_type_are_named_with_their_line() {
    let home = lived_in();
    let path = home.write("config.toml", "memory = true\nmodel = [\n");
    refused(&home, &["hi"], &[path.to_str().unwrap(), "line 2", "unclosed array"]);
    home.write("config.toml", "max_output = \"many\"\n");
    refused(&home, &["hi"], &["line 1", "\"many\"", "u32"]);
}

#[test]
fn settings_that_someone_named_have_to_be_there() {
    let home = Home::new();
    let missing = home.path("missing.toml");
    let missing = missing.to_str().unwrap();
    refused(&home, &["--config", missing, "hi"], &[missing, "No such file"]);
}

#[test]
fn an_unreachable_model_is_named_with_its_address() {
    let home = lived_in();
    for more in [&["--base-url", NOBODY, "hi"][..], &["--base-url", NOBODY, "--model", "m", "hi"]] {
        refused(
            &home,
            more,
            &["cannot reach the model service at http://127.0.0.1:1", "refused", "is it running"],
        );
    }
}

#[test]
fn an_address_that_is_none_says_how_to_write_one() {
    let home = lived_in();
    refused(&home, &["--base-url", "somewhere", "hi"], &["not an address", "http://127.0.0.1:8080/v1"]);
    refused(&home, &["--base-url", "ftp://localhost", "hi"], &["http:// or https://"]);
}

#[test]
fn without_any_model_three_lines_say_how_to_get_one() {
    let home = Home::new();
    home.write("config.toml", format!("local_servers = [\"{NOBODY}\"]\n"));
    let ran = home.run(&["chat", "hi"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    let lines: Vec<_> = ran.err.lines().collect();
    let [what, start, name] = lines.as_slice() else { panic!("{ran:?}") };
    assert!(what.starts_with("hermes: no model is configured") && what.contains(NOBODY), "{what}");
    assert!(start.contains("llama-server") && start.contains("ollama serve"), "{start}");
    assert!(name.contains("--base-url") && name.contains("OPENAI_API_KEY"), "{name}");
}

#[test]
fn a_missing_optional_server_costs_its_own_tools_only() {
    let (home, service) = (Home::new(), Service::saying("hello"));
    let file = home.write("mcp.json", r#"{ "mcpServers": { "lost": { "command": "/no/such/program" } } }"#);
    assert!(file.exists());
    let ran = home.chat(&service.url, &["--no-memory", "hi"]);
    assert_eq!((ran.code, ran.out.trim_end()), (Some(0), "hello"), "{ran:?}");
    assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
    for part in [
        "hermes: the MCP server lost cannot be started",
        "/no/such/program",
        "the chat goes on without its tools",
    ] {
        assert!(ran.err.contains(part), "{part:?} is missing in {}", ran.err);
    }
    assert_eq!(ran.err.matches("lost").count(), 1, "{}", ran.err);
}

#[test]
fn a_missing_required_server_is_a_failure() {
    let (home, service) = (lived_in(), Service::saying("hello"));
    let entry = r#"{ "mcpServers": { "lost": { "command": "/no/such/program", "required": true } } }"#;
    let path = home.write("mcp.json", entry);
    let parts = [path.to_str().unwrap(), "lost", "cannot be started", "/no/such/program"];
    refused(&home, &["--base-url", &service.url, "hi"], &parts);
    assert!(service.requests().is_empty());
}

#[test]
fn a_wrong_servers_file_is_named_before_anyone_is_asked() {
    let home = lived_in();
    let path = home.write("servers.json", r#"{ "mcpServers": { "files": { "comand": "mcp-files" } } }"#);
    let path = path.to_str().unwrap();
    let parts = [path, "mcpServers.files", "comand", "did you mean command?"];
    refused(&home, &["--base-url", NOBODY, "--mcp", path, "hi"], &parts);
    home.write("servers.json", "{ \"mcpServers\": ");
    refused(&home, &["--base-url", NOBODY, "--mcp", path, "hi"], &[path, "JSON was expected", "line 1"]);
    let missing = home.path("missing.json");
    let missing = missing.to_str().unwrap();
    let ran =
        refused(&home, &["--base-url", NOBODY, "--mcp", missing, "hi"], &["cannot be read", "No such file"]);
    assert_eq!(ran.err.matches(missing).count(), 1, "{}", ran.err);
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let home = Home::new();
    let path = home.write("hermes.db", "# Shopping list\n".repeat(1_000));
    let parts = [path.to_str().unwrap(), "is not a SQLite database", "nothing was changed"];
    refused(&home, &["--base-url", NOBODY, "hi"], &parts);
}

#[test]
fn a_damaged_database_is_left_alone() {
    let home = lived_in();
    let path = home.data().join("hermes.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // All but the first page, which holds the header and the list of tables.
    bytes.iter_mut().skip(4_096).for_each(|byte| *byte = 0xa5);
    std::fs::write(&path, &bytes).unwrap();
    home.run(&["chat", "--base-url", NOBODY, "hi"]).failed_with(&[path.to_str().unwrap(), "damaged"]);
    // SQLite's empty log may stand beside it; the database itself is as it was.
    assert!(std::fs::read(&path).unwrap() == bytes, "the database was changed");
}

#[test]
fn a_database_of_a_newer_hermes_is_left_alone() {
    let home = Home::new();
    // A database whose table of migrations knows a version 99.
    let path = home.write("hermes.db", include_bytes!("newer.db"));
    let parts = [path.to_str().unwrap(), "schema 99", "use a newer Hermes"];
    refused(&home, &["--base-url", NOBODY, "hi"], &parts);
}

#[test]
fn a_session_that_is_not_there_is_named() {
    let (home, service) = (lived_in(), Service::saying("hello"));
    let id = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000";
    refused(&home, &["--base-url", &service.url, "--no-memory", "--session", id, "hi"], &["no session", id]);
    let parts = ["no session begins with \"zzz\"", "hermes sessions list"];
    refused(&home, &["--base-url", &service.url, "--no-memory", "--session", "zzz", "hi"], &parts);
    assert!(service.requests().is_empty());
}

#[test]
fn a_data_folder_that_cannot_be_made_is_named() {
    let home = Home::new();
    let file = home.write("file", "");
    let below = file.join("below");
    let below = below.to_str().unwrap();
    refused(&home, &["--data-dir", below, "hi"], &[below, "the folder cannot be made"]);
}

#[test]
fn an_unknown_flag_gets_a_hint() {
    let ran = Home::new().run(&["chat", "--tempreature", "1"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("'--temperature'"), "{}", ran.err);
}
