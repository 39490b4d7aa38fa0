//! One call: sent, watched, cancelled there when it is cancelled here, and told apart in how it fails (M7, T6, T7).

use std::sync::Arc;

use hermes_core::{CallContext, CancelSignal, JsonText, ToolError};
use rmcp::RoleClient;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::{Map, Value};

use super::health::Health;
use super::http::{self, Meaning};
use super::list::plain;
use super::shared::{Link, Shared};
use crate::clean;

/// JSON-RPC: the arguments are wrong.
const INVALID_PARAMS: i32 = -32602;

/// Calls a tool by the server's name for it; gives the result as it came.
pub(crate) async fn call(
    shared: &Shared,
    tool: &str,
    arguments: &JsonText,
    context: Option<&CallContext>,
) -> Result<Value, ToolError> {
    let arguments: Map<String, Value> = arguments.read().map_err(|_not| ToolError::InvalidArguments {
        message: "the arguments have to be an object".to_owned(),
    })?;
    let cancel = context.map_or_else(CancelSignal::never, |context| context.cancel.clone());
    if cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let link = link(shared)?;
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = link.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
    let mut pending = Pending(Some(sent.map_err(|_closed| away(shared, &link))?));
    wait(shared, &link, &mut pending, &cancel, context).await.map(|result| plain(&result))
}

async fn wait(
    shared: &Shared,
    link: &Arc<Link>,
    pending: &mut Pending,
    cancel: &CancelSignal,
    context: Option<&CallContext>,
) -> Result<ServerResult, ToolError> {
    let Some(handle) = pending.0.as_mut() else { return Err(ToolError::Cancelled) };
    let settings = &shared.server.settings;
    let prefix = &shared.server.prefix;
    let mut route = link.routes.open(handle.progress_token.clone());
    let total = tokio::time::sleep(settings.total_timeout);
    tokio::pin!(total);
    loop {
        let idle = tokio::time::sleep(settings.idle_timeout);
        tokio::select! {
            biased;
            answer = &mut handle.rx => {
                pending.0 = None;
                return match answer {
                    Ok(Ok(result)) => Ok(result),
                    Ok(Err(error)) => Err(failure(shared, link, error)),
                    Err(_gone) => Err(lost(shared, link)),
                };
            }
            () = cancel.cancelled() => {
                pending.cancel("the call was cancelled").await;
                return Err(ToolError::Cancelled);
            }
            Some(report) = route.reports.recv() => {
                if let Some(context) = context {
                    context.report(report.done, report.total, report.message.map(|text| clean::message(&text)));
                }
            }
            () = &mut total => {
                pending.cancel("the call took too long").await;
                let limit = settings.total_timeout.as_millis();
                return Err(unknown(format!(
                    "the MCP server {prefix} did not finish within {limit} ms; it is not known whether the call was carried out"
                )));
            }
            () = idle => {
                pending.cancel("no answer and no progress").await;
                shared.suspect.notify_one();
                let limit = settings.idle_timeout.as_millis();
                return Err(unknown(format!(
                    "the MCP server {prefix} gave neither an answer nor progress for {limit} ms; it is not known whether the \
                     call was carried out"
                )));
            }
        }
    }
}

/// A request whose answer is waited for. When it is dropped, the server is told that nobody waits any more.
struct Pending(Option<RequestHandle<RoleClient>>);

impl Pending {
    async fn cancel(&mut self, reason: &str) {
        if let Some(handle) = self.0.take() {
            // It goes into a queue; a server that is gone needs no telling.
            let _ = handle.cancel(Some(reason.to_owned())).await;
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let _ = handle.cancel(Some("the call was given up".to_owned())).await;
            });
        }
    }
}

/// The present connection, or the reason why there is none: nothing was sent, so the same call may be made again.
fn link(shared: &Shared) -> Result<Arc<Link>, ToolError> {
    let state = shared.state.borrow();
    if let Some(link) = &state.link {
        return Ok(Arc::clone(link));
    }
    let prefix = &shared.server.prefix;
    Err(match &state.health {
        Health::Closed => {
            ToolError::failed(format!("the connection to the MCP server {prefix} has been shut down"))
        }
        Health::Down { reason, .. } => ToolError::transient(format!(
            "the MCP server {prefix} is down and is being reconnected: {reason}"
        )),
        _ => ToolError::transient(format!("the MCP server {prefix} is still being connected")),
    })
}

/// The connection was gone before the request was taken.
fn away(shared: &Shared, link: &Link) -> ToolError {
    ToolError::transient(format!("the MCP server {} is not there: {}", shared.server.prefix, how(link)))
}

/// The connection went while the answer was waited for.
fn lost(shared: &Shared, link: &Link) -> ToolError {
    shared.suspect.notify_one();
    unknown(format!(
        "the MCP server {} went away during the call: {}; it is not known whether the call was carried out",
        shared.server.prefix,
        how(link)
    ))
}

fn how(link: &Link) -> String {
    link.process.as_ref().map_or_else(|| "it closed the connection".to_owned(), |report| report.sentence())
}

fn failure(shared: &Shared, link: &Link, error: ServiceError) -> ToolError {
    let prefix = &shared.server.prefix;
    match error {
        ServiceError::McpError(error) if error.code.0 == INVALID_PARAMS => ToolError::InvalidArguments {
            message: format!("the MCP server {prefix} refuses: {}", clean::message(&error.message)),
        },
        ServiceError::McpError(error) => {
            ToolError::failed(format!("the MCP server {prefix} failed: {}", clean::message(&error.message)))
        }
        // What could not be written to a program was not taken by it.
        ServiceError::TransportSend(_) if link.process.is_some() => away(shared, link),
        ServiceError::TransportSend(error) => {
            shared.suspect.notify_one();
            match http::meaning(error.error.as_ref()) {
                Meaning::NotRun { message, retry_after } => ToolError::Transient {
                    message: format!("the MCP server {prefix} did not take the call: {message}"),
                    retry_after,
                    source: Some(Box::new(error)),
                },
                Meaning::Refused(message) | Meaning::Unauthorized(message) => ToolError::Failed {
                    message: format!("the MCP server {prefix} refused the call: {message}"),
                    source: Some(Box::new(error)),
                },
                Meaning::Unknown(message) => ToolError::Unknown {
                    message: format!(
                        "the MCP server {prefix} went away during the call: {message}; it is not known whether the call was \
                         carried out"
                    ),
                    source: Some(Box::new(error)),
                },
            }
        }
        ServiceError::TransportClosed => lost(shared, link),
        ServiceError::Cancelled { .. } => ToolError::Cancelled,
        other => ToolError::Unknown {
            message: format!(
                "the answer of the MCP server {prefix} cannot be read; it is not known what it did"
            ),
            source: Some(Box::new(other)),
        },
    }
}

fn unknown(message: String) -> ToolError {
    ToolError::Unknown { message, source: None }
}
