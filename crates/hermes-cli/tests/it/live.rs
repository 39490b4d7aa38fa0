//! A conversation with a real model and a real MCP server. Asserted is the shape of what comes, not the words.

use hermes_testkit::server;
use serde_json::{Value, json};

use crate::events::{all, started};
use crate::program::{Home, chat};

/// What is said in the three turns: the first asks for the clock, the second for the server's tool.
struct Talk {
    clock: &'static str,
    server: &'static str,
    thanks: &'static str,
}

const ENGLISH: Talk = Talk {
    clock: "What time is it now? Use the tool current_time.",
    server: "Use the tool time_convert_time to convert 15:00 from Asia/Shanghai to Europe/London.",
    thanks: "Thank you. Say goodbye in one short sentence, without any tool.",
};

const CHINESE: Talk = Talk {
    clock: "现在几点了？请使用 current_time 工具。",
    server: "请使用 time_convert_time 工具，把上海时间（Asia/Shanghai）15:00 换算成伦敦时间（Europe/London）。",
    thanks: "谢谢。请用一句话说再见，不要使用工具。",
};

/// The command of a server in the list of those that are installed.
#[track_caller]
fn command(list: &str, name: &str) -> Vec<String> {
    let list = std::fs::read_to_string(list).unwrap();
    let found = list.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
    let command = found.unwrap_or_else(|| panic!("the list of MCP servers has no {name}"));
    command.split_whitespace().map(str::to_owned).collect()
}

/// Both languages, one after the other: the server answers one request at a time.
#[test]
fn three_turns_with_a_tool_of_our_own_and_one_of_a_server() {
    let (Some(llm), Some(list)) = (server::llm(), server::url("mcp_servers")) else { return };
    let time = command(&list, "time");
    let (program, arguments) = time.split_first().unwrap();
    for talk in [ENGLISH, CHINESE] {
        let home = Home::new();
        // One tool of the server is enough for a small model; a required server is waited for.
        home.write(
            "mcp.json",
            json!({ "mcpServers": { "time": {
                "command": program, "args": arguments, "includeTools": ["convert_time"], "required": true, "connectTimeout": 120
            } } })
            .to_string(),
        );
        let events = hold(&home, &llm, &talk);
        let turns: Vec<&[Value]> = events.split_inclusive(|event| event["event"] == "finished").collect();
        let [clock, server, thanks] = turns.as_slice() else {
            panic!("{} turns instead of three", turns.len())
        };
        for turn in [clock, server, thanks] {
            let end = turn.last().unwrap();
            assert_eq!(end["stop"], "answered", "{turn:?}");
            assert!(!all(turn, "answered")[0]["text"].as_str().unwrap().is_empty(), "{turn:?}");
        }
        called(clock, "current_time");
        called(server, "time_convert_time");
    }
}

/// A tool was called with arguments that fit, its result came back, and the model answered from it.
#[track_caller]
fn called(turn: &[Value], tool: &str) {
    assert!(!started(turn, tool).is_empty(), "{tool} was not called: {turn:?}");
    let results = all(turn, "tool_result");
    let good = |event: &&&Value| event["result"]["tool"] == tool && event["result"]["failure"].is_null();
    assert!(results.iter().any(|event| good(&event)), "{tool} gave nothing: {turn:?}");
}

fn hold(home: &Home, llm: &server::Llm, talk: &Talk) -> Vec<Value> {
    let more = ["--model", &llm.model, "--json", "--no-memory", "--temperature", "0", "--max-output", "200"];
    let lines = [talk.clock, talk.server, talk.thanks].join("\n");
    let ran = home.run_with(&chat(&llm.url, &more), &lines);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.events()
}
