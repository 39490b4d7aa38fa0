//! Programs: what goes wrong (M7).

use std::time::Duration;

use hermes_core::{ToolError, ToolSource as _};
use hermes_mcp::{Error, Health, McpClient, McpConfig, connect_all};
use serde_json::json;

use crate::script::scripted;
use crate::{context, json, names, soon, tool, until};

#[tokio::test]
async fn g17_a_server_that_dies_costs_only_its_own_call() {
    let (a, b) = (scripted("a", "plain").connect(), scripted("b", "plain").connect());
    let (a, b) = soon(async { tokio::join!(a, b) }).await;
    let (a, b) = (a.unwrap(), b.unwrap());
    let (died, lives) = (tool(&a, "a_die"), tool(&b, "b_echo"));
    let calls = async {
        tokio::join!(died.call(json(json!({})), context()), lives.call(json(json!({ "n": 2 })), context()))
    };
    let (c1, c2) = soon(calls).await;
    let error = c1.unwrap_err();
    assert!(matches!(error, ToolError::Unknown { .. }), "{error:?}");
    for part in ["MCP server a", "exit code 1", "panic: db gone"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(c2.unwrap().value, json!({ "n": 2 }));
    let Health::Down { reason, .. } = until(&a, |health| matches!(health, Health::Down { .. })).await else {
        panic!("it is down");
    };
    assert!(reason.contains("exit code 1"), "{reason}");
    // While it is down nothing is sent, so the call may be repeated.
    let early = soon(died.call(json(json!({})), context())).await;
    if let Err(early) = &early {
        assert!(matches!(early, ToolError::Transient { .. } | ToolError::Unknown { .. }), "{early:?}");
    }
    // It comes back by itself, and what was taken before works again.
    until(&a, |health| *health == Health::Connected).await;
    let back = soon(tool(&a, "a_echo").call(json(json!({ "n": 3 })), context())).await.unwrap();
    assert_eq!(back.value, json!({ "n": 3 }));
    assert_eq!(a.tools().generation, 1, "the tools are the same as before");
    for client in [a, b] {
        soon(client.shutdown()).await;
    }
}

#[tokio::test]
async fn g18_a_slow_or_missing_server_does_not_hold_up_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let limit = Duration::from_secs(1);
    let config = McpConfig::new()
        // Room for a machine that is busy; the hung one sets the pace with its own limit.
        .with_grace(Duration::from_secs(20))
        .with_server(scripted("ok1", "plain"))
        .with_server(scripted("hung", &format!("hung:{}", log.display())).connect_timeout(limit))
        .with_server(scripted("ok2", "plain"))
        .with_server(McpClient::stdio("missing", "hermes-no-such-program"));
    let connected = soon(connect_all(config)).await.unwrap();
    let health: Vec<bool> =
        connected.clients.iter().map(|client| client.health() == Health::Connected).collect();
    assert_eq!(health, [true, false, true, false]);
    for (client, prefix) in [(&connected.clients[0], "ok1"), (&connected.clients[2], "ok2")] {
        let output = soon(tool(client, &format!("{prefix}_echo")).call(json(json!({})), context())).await;
        assert!(output.is_ok());
    }
    let failures: Vec<(&str, String)> = connected
        .failures
        .iter()
        .map(|failure| (failure.server.as_str(), failure.error.to_string()))
        .collect();
    assert_eq!(
        failures,
        [
            ("hung", "the MCP server hung did not answer within 1000 ms".to_owned()),
            (
                "missing",
                "the MCP server missing cannot be started: there is no program hermes-no-such-program; check the command, or \
                 install it"
                    .to_owned()
            ),
        ]
    );
    for client in &connected.clients {
        soon(client.shutdown()).await;
    }
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("\"initialize\"") && !log.contains("cancelled"), "{log}");
    #[cfg(target_os = "linux")]
    for pid in log.lines().filter(|line| line.parse::<u32>().is_ok()) {
        soon(async {
            while std::path::Path::new(&format!("/proc/{pid}")).exists() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_required_server_fails_loudly() {
    let config = McpConfig::new()
        .with_server(scripted("ok", "plain"))
        .with_server(McpClient::stdio("missing", "hermes-no-such-program").required());
    let error = soon(connect_all(config)).await.unwrap_err();
    assert!(matches!(&error, Error::Start { server, .. } if server == "missing"), "{error}");
    assert!(!error.is_transient());
}

#[tokio::test]
async fn servers_may_not_share_names() {
    let twice = McpConfig::new().with_server(scripted("s", "plain")).with_server(scripted("s", "pages"));
    assert!(matches!(soon(connect_all(twice)).await, Err(Error::Settings { .. })));
    let wrong = soon(scripted("not a prefix", "plain").connect()).await;
    assert!(matches!(wrong, Err(Error::Prefix { .. })));
}

#[tokio::test]
async fn a_program_that_is_no_server_says_how_it_ended() {
    let error = soon(McpClient::stdio("sh", "sh").args(["-c", "echo 'no key given' >&2; exit 3"]).connect())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the MCP server sh is not there: its program ended with exit code 3; it last said: no key given"
    );
    let error = soon(McpClient::stdio("sh", "sh").cwd("/nonexistent").connect()).await.unwrap_err();
    assert!(error.to_string().contains("no folder /nonexistent"), "{error}");
}

#[tokio::test]
async fn a_client_that_is_started_connects_in_the_background() {
    let client = scripted("s", "plain").start().unwrap();
    assert_eq!(client.tools().generation, 0);
    soon(client.changed(0)).await;
    assert!(names(&client).contains(&"s_echo".to_owned()));
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn ending_is_bounded_and_takes_the_whole_group_along() {
    // Stays when its input is closed and when it is asked to end, and so does its child, which holds its output open.
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let server = McpClient::stdio("s", "sh")
        .args(["-c", "trap '' TERM; sleep 1000 & echo $! > \"$PID_FILE\"; while :; do wait; done"])
        .env("PID_FILE", pid.display().to_string())
        .connect_timeout(Duration::from_secs(1));
    assert!(matches!(soon(server.connect()).await, Err(Error::Timeout { .. })));
    #[cfg(target_os = "linux")]
    {
        // Its parent is gone, so it may be left as a zombie where nobody adopts orphans.
        let stat = format!("/proc/{}/stat", std::fs::read_to_string(&pid).unwrap().trim());
        let runs = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        soon(async {
            while runs() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    let client =
        soon(scripted("s", "stubborn").shutdown_timeout(Duration::from_millis(400)).connect()).await.unwrap();
    soon(client.shutdown()).await;
    assert_eq!(client.health(), Health::Closed);
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let client = scripted("s", &format!("hung:{}", log.display())).start().unwrap();
    let pid = soon(async {
        loop {
            if let Ok(text) = std::fs::read_to_string(&log)
                && text.contains('\n')
            {
                return text.lines().next().unwrap_or_default().to_owned();
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(client);
    #[cfg(target_os = "linux")]
    soon(async {
        while std::path::Path::new(&format!("/proc/{pid}")).exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    #[cfg(not(target_os = "linux"))]
    drop(pid);
}
