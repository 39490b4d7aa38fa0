use secrecy::ExposeSecret as _;

use super::*;
use crate::client::Stdio;

fn none(_: &str) -> Option<String> {
    None
}

fn error(text: &str) -> String {
    McpConfig::from_json_str_with(text, &none).unwrap_err().to_string()
}

fn entry(body: &str) -> String {
    format!(r#"{{ "mcpServers": {{ "a": {body} }} }}"#)
}

fn stdio(server: &McpServer) -> &Stdio {
    match &server.transport {
        Transport::Stdio(stdio) => stdio,
        Transport::Http(_) => panic!("it is a program"),
    }
}

#[test]
fn the_files_of_other_clients_are_read() {
    let text = r#"{
        "globalShortcut": "Ctrl+Space",
        "mcpServers": {
            "git": { "type": "stdio", "command": "uvx", "args": ["mcp-server-git", "${REPO}"], "env": { "PORT": 8080 },
                     "cwd": "/srv", "timeout": 20, "alwaysAllow": ["git_status"], "includeTools": ["git_log"] },
            "web": { "type": "streamable-http", "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${TOKEN}" },
                     "required": true },
            "old": { "command": "gone", "disabled": true }
        }
    }"#;
    let lookup = |name: &str| match name {
        "REPO" => Some("/repo".to_owned()),
        "TOKEN" => Some("s3cret".to_owned()),
        _ => None,
    };
    let config = McpConfig::from_json_str_with(text, &lookup).unwrap();
    assert_eq!(
        config.warnings(),
        ["globalShortcut is passed over", "mcpServers.git.alwaysAllow is passed over"]
    );
    let [git, web] = config.servers() else { panic!("two are not disabled") };
    assert_eq!((git.prefix(), stdio(git).command.as_str()), ("git", "uvx"));
    assert_eq!(stdio(git).args, ["mcp-server-git", "/repo"]);
    assert_eq!(stdio(git).env[0].1.expose_secret(), "8080");
    assert_eq!(git.settings.idle_timeout, Duration::from_secs(20));
    assert_eq!(git.settings.only.as_deref(), Some(["git_log".to_owned()].as_slice()));
    let Transport::Http(http) = &web.transport else { panic!("it is an address") };
    assert_eq!(http.headers[0].1.expose_secret(), "Bearer s3cret");
    assert!(web.is_required() && !git.is_required());
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn toml_says_the_same() {
    let config =
        McpConfig::from_toml_str("[mcpServers.git]\ncommand = \"git-mcp\"\nargs = [\"-v\"]\ntimeout = 5\n")
            .unwrap();
    assert_eq!(stdio(&config.servers()[0]).args, ["-v"]);
    let error = McpConfig::from_toml_str("[mcpServers").unwrap_err().to_string();
    assert!(error.starts_with("TOML was expected:") && !error.contains('\n'), "{error}");
}

#[test]
fn every_mistake_is_one_sentence_that_says_where() {
    for (text, expected) in [
        (entry(r#"{ "comand": "x" }"#), "mcpServers.a has the unknown key comand; did you mean command?"),
        (entry(r#"{ "command": "x", "zzz": 1 }"#), "mcpServers.a has the unknown key zzz"),
        (entry("7"), "mcpServers.a has to be an object with a command or a url"),
        (entry("{}"), "mcpServers.a has neither a command nor a url"),
        (
            entry(r#"{ "command": "x", "url": "http://y" }"#),
            "mcpServers.a has both a command and a url; it can have one",
        ),
        (entry(r#"{ "command": 3 }"#), "mcpServers.a.command has to be a text"),
        (entry(r#"{ "command": "x", "args": "-v" }"#), "mcpServers.a.args has to be a list of texts"),
        (entry(r#"{ "command": "x", "args": [["-v"]] }"#), "mcpServers.a.args[0] has to be a text"),
        (
            entry(r#"{ "command": "x", "headers": {} }"#),
            "mcpServers.a.headers cannot be used: a command has no headers",
        ),
        (entry(r#"{ "url": "ftp://x" }"#), "mcpServers.a.url has to begin with http:// or https://"),
        (
            entry(r#"{ "url": "http://x", "type": "stdio" }"#),
            "mcpServers.a.type is \"stdio\", and the other keys say http",
        ),
        (entry(r#"{ "command": "x", "disabled": "yes" }"#), "mcpServers.a.disabled has to be true or false"),
        (
            entry(r#"{ "command": "x", "timeout": 0 }"#),
            "mcpServers.a.timeout has to be a number of seconds above 0",
        ),
        (
            entry(r#"{ "command": "x", "timeout": 60000 }"#),
            "mcpServers.a.timeout is 60000 seconds, more than an hour; times are in seconds, not milliseconds",
        ),
        (
            entry(r#"{ "command": "x", "env": { "K": "${NOPE}" } }"#),
            "mcpServers.a.env.K refers to the environment variable NOPE, which is not set",
        ),
        (
            r#"{ "mcpServer": {}, "x": 1 }"#.to_owned(),
            "there is no mcpServers, an object with one entry a server, but only mcpServer, x",
        ),
        ("[]".to_owned(), "there is no mcpServers, an object with one entry a server"),
        (
            r#"{ "mcpServers": { "my files": { "command": "x" } } }"#.to_owned(),
            "mcpServers.my files needs another key, or a prefix of its own: \"my files\" cannot be the prefix of an MCP server's \
             tools: use 1 to 32 of A-Z, a-z, 0-9, _ and -",
        ),
        (
            r#"{ "mcpServers": { "a": { "command": "x" }, "b": { "command": "y", "prefix": "a" } } }"#
                .to_owned(),
            "mcpServers.b has the prefix a, which another server has",
        ),
    ] {
        assert_eq!(error(&text), expected);
    }
    assert!(error(&entry(r#"{ "url": "http://x", "type": "sse" }"#)).contains("not supported"));
    assert!(error("{").starts_with("JSON was expected: "));
    let missing = McpConfig::load("/nonexistent/mcp.json").unwrap_err();
    assert_eq!(missing.to_string(), "the file /nonexistent/mcp.json cannot be read");
}
