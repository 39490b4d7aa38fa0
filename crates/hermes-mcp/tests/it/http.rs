//! Streamable HTTP.

use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use hermes_core::ToolError;
use hermes_mcp::{Error, Health, McpClient};
use secrecy::SecretString;
use serde_json::json;

use crate::web::{Request, Response, Web, echo, tools, welcome};
use crate::{context, json, soon, tool, until};

type Log = Arc<Mutex<Vec<Request>>>;

fn count(log: &Log, rpc: &str) -> usize {
    log.lock().unwrap().iter().filter(|request| request.rpc() == rpc).count()
}

/// A server without sessions that answers calls in its own way.
async fn stateless(call: impl Fn(&Request) -> Response + Send + Sync + 'static) -> (Web, Log) {
    let log = Log::default();
    let web = Web::start(answers(Arc::clone(&log), call)).await;
    (web, log)
}

fn answers(
    log: Log,
    call: impl Fn(&Request) -> Response + Send + Sync + 'static,
) -> impl Fn(&Request) -> Response + Send + Sync + 'static {
    move |request| {
        log.lock().unwrap().push(request.clone());
        match request.rpc() {
            "initialize" => welcome(request, None),
            "tools/list" => tools(request),
            "tools/call" => call(request),
            "ping" => crate::web::result(request, None, json!({})),
            _ if request.method == "POST" => Response::Status(202, Vec::new()),
            _ => Response::Status(405, Vec::new()),
        }
    }
}

#[tokio::test]
async fn credentials_and_headers_are_sent_and_not_shown() {
    let (web, log) = stateless(echo).await;
    let server = McpClient::http("w", web.url()).bearer(SecretString::from("t0ken")).header("X-Key", "k3y");
    assert!(!format!("{server:?}").contains("t0ken") && !format!("{server:?}").contains("k3y"));
    let client = soon(server.connect()).await.unwrap();
    let output = soon(tool(&client, "w_echo").call(json(json!({ "a": 1 })), context())).await.unwrap();
    assert_eq!(output.value, json!({ "a": 1 }));
    for request in log.lock().unwrap().iter() {
        assert_eq!(request.header("authorization"), Some("Bearer t0ken"));
        assert_eq!(request.header("x-key"), Some("k3y"));
    }
    soon(client.shutdown()).await;
}

/// A server with sessions S1, S2, … of which the first `dead` are gone for calls once `expired` is set.
async fn sessions(expired: Arc<Mutex<bool>>, all_dead: bool) -> (Web, Log) {
    let log = Log::default();
    let seen = Arc::clone(&log);
    let made = Mutex::new(0_u32);
    let web = Web::start(move |request| {
        seen.lock().unwrap().push(request.clone());
        let session = request.header("mcp-session-id");
        if request.rpc() == "initialize" && session.is_none() {
            let mut made = made.lock().unwrap();
            *made += 1;
            return welcome(request, Some(&format!("S{made}")));
        }
        let is_dead = *expired.lock().unwrap()
            && (session == Some("S1") || (all_dead && request.rpc() == "tools/call"));
        if is_dead {
            return Response::Status(404, Vec::new());
        }
        match request.rpc() {
            "tools/list" => tools(request),
            "tools/call" => echo(request),
            _ if request.method == "POST" => Response::Status(202, Vec::new()),
            _ => Response::Status(405, Vec::new()),
        }
    })
    .await;
    (web, log)
}

#[tokio::test]
async fn g19_an_expired_session_is_replaced_once() {
    let expired = Arc::new(Mutex::new(false));
    let (web, log) = sessions(Arc::clone(&expired), false).await;
    let client = soon(McpClient::http("w", web.url()).connect()).await.unwrap();
    let echo = tool(&client, "w_echo");
    soon(echo.call(json(json!({ "n": 0 })), context())).await.unwrap();
    *expired.lock().unwrap() = true;
    let calls = (1..=5).map(|n| {
        let echo = &echo;
        async move { (n, echo.call(json(json!({ "n": n })), context()).await) }
    });
    for (n, output) in soon(join_all(calls)).await {
        assert_eq!(output.unwrap().value, json!({ "n": n }));
    }
    assert_eq!(count(&log, "initialize"), 2);
    {
        let log = log.lock().unwrap();
        let initialize: Vec<&Request> = log.iter().filter(|request| request.rpc() == "initialize").collect();
        assert_eq!(initialize[1].header("mcp-session-id"), None);
        let under_s2 = |rpc: &str| {
            log.iter()
                .filter(|request| request.rpc() == rpc && request.header("mcp-session-id") == Some("S2"))
                .count()
        };
        assert_eq!((under_s2("notifications/initialized"), under_s2("tools/call")), (1, 5));
    }
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn g19_a_session_that_never_holds_is_no_endless_loop() {
    let expired = Arc::new(Mutex::new(false));
    let (web, log) = sessions(Arc::clone(&expired), true).await;
    let client = soon(McpClient::http("w", web.url()).connect()).await.unwrap();
    let echo = tool(&client, "w_echo");
    *expired.lock().unwrap() = true;
    for result in soon(join_all((0..5).map(|n| echo.call(json(json!({ "n": n })), context())))).await {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("MCP server w"), "{error}");
    }
    assert!(count(&log, "initialize") <= 6, "one of the start, and at most one for each call");
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn g19_a_404_without_a_session_is_an_ordinary_error() {
    let (web, log) = stateless(|_| Response::Status(404, Vec::new())).await;
    let client = soon(McpClient::http("w", web.url()).connect()).await.unwrap();
    let error = soon(tool(&client, "w_echo").call(json(json!({})), context())).await.unwrap_err();
    assert!(error.to_string().contains("MCP server w"), "{error}");
    assert_eq!((count(&log, "initialize"), count(&log, "tools/call")), (1, 1));
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn ways_to_fail_are_told_apart() {
    for (status, headers) in [
        (429, vec![("retry-after", "7".to_owned())]),
        (503, Vec::new()),
        (500, Vec::new()),
        (400, Vec::new()),
    ] {
        let (web, log) = stateless(move |_| Response::Status(status, headers.clone())).await;
        let client = soon(McpClient::http("w", web.url()).connect()).await.unwrap();
        let error = soon(tool(&client, "w_echo").call(json(json!({})), context())).await.unwrap_err();
        match (status, &error) {
            (429, ToolError::Transient { retry_after, .. }) => assert_eq!(retry_after.unwrap().as_secs(), 7),
            (503, ToolError::Transient { .. }) | (500, ToolError::Unknown { .. }) => {}
            (400, ToolError::Failed { .. }) => {}
            _ => panic!("{status}: {error:?}"),
        }
        assert_eq!(count(&log, "tools/call"), 1, "{status}: it was sent again");
        soon(client.shutdown()).await;
    }
}

#[tokio::test]
async fn g17_an_address_that_goes_away_costs_one_call_and_comes_back() {
    let (asked, asking) = tokio::sync::oneshot::channel();
    let asked = Mutex::new(Some(asked));
    let (web, _log) = stateless(move |_| {
        if let Some(asked) = asked.lock().unwrap().take() {
            asked.send(()).unwrap();
        }
        Response::Never
    })
    .await;
    let address = web.address;
    let client = soon(McpClient::http("w", web.url()).connect()).await.unwrap();
    let call = tool(&client, "w_echo");
    let kill = async {
        asking.await.unwrap();
        drop(web);
    };
    let (result, ()) = soon(async { tokio::join!(call.call(json(json!({})), context()), kill) }).await;
    let error = result.unwrap_err();
    assert!(matches!(error, ToolError::Unknown { .. }), "{error:?}");
    until(&client, |health| matches!(health, Health::Down { .. })).await;
    let _web = Web::start_at(address, answers(Log::default(), echo)).await;
    until(&client, |health| *health == Health::Connected).await;
    assert!(soon(call.call(json(json!({})), context())).await.is_ok());
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn a_connection_that_is_cut_leaves_the_outcome_open() {
    let (web, log) = stateless(|_| Response::Cut).await;
    let client = soon(McpClient::http("w", web.url()).connect()).await.unwrap();
    let error = soon(tool(&client, "w_echo").call(json(json!({})), context())).await.unwrap_err();
    assert!(matches!(error, ToolError::Unknown { .. }), "{error:?}");
    assert_eq!(count(&log, "tools/call"), 1, "it was sent again");
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn addresses_that_do_not_work_say_why() {
    let nobody = Web::start(|_| Response::Cut).await.url();
    let error = soon(McpClient::http("w", nobody).connect()).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server w is not there: nobody answers at its address");
    let strict = Web::start(|_| Response::Status(401, vec![("www-authenticate", "Bearer".to_owned())])).await;
    let error = soon(McpClient::http("w", strict.url()).connect()).await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error:?}");
    let page = Web::start(|_| Response::Status(404, Vec::new())).await;
    let error = soon(McpClient::http("w", page.url()).connect()).await.unwrap_err();
    assert!(error.to_string().contains("MCP server w"), "{error}");
    for (url, part) in [("nowhere", "no URL"), ("ftp://x/y", "http://")] {
        let error = soon(McpClient::http("w", url).connect()).await.unwrap_err();
        assert!(matches!(&error, Error::Settings { message, .. } if message.contains(part)), "{error}");
    }
    let error = soon(McpClient::http("w", "http://127.0.0.1:1/mcp").header("bad name", "x").connect())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("bad name"), "{error}");
}
