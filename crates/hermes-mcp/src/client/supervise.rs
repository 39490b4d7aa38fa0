//! The one task of a client: it watches the connection, refreshes the tools, and reconnects (M7).

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{CancelHandle, CancelSignal};
use jiff::Timestamp;
use rmcp::model::{ClientRequest, PingRequest};
use rmcp::service::{PeerRequestOptions, ServiceError};
use tokio::time::Sleep;

use super::McpClient;
use super::connect::{self, Connection};
use super::health::Health;
use super::process::ProcessReport;
use super::server::Transport;
use super::shared::{Link, Shared};
use crate::error::Error;

/// The pauses between attempts: from half a second, doubling, to a minute.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A connection that held this long was a good one: the pauses begin anew.
const GOOD: Duration = Duration::from_secs(30);

/// How often an address is asked whether it is still there. A program's end is seen by itself.
const PROBE: Duration = Duration::from_secs(30);

/// How long the answer to that may take.
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// The least time between two refreshes of the tools; it doubles, up to the longest pause, for each that brought nothing new, so
/// that a server that announces changes without end costs next to nothing.
const REFRESH_PAUSE: Duration = Duration::from_millis(100);

/// The pause before attempt `failures + 1`, without jitter.
pub(crate) fn pause(first: Duration, failures: u32) -> Duration {
    first.saturating_mul(1_u32.checked_shl(failures.min(31)).unwrap_or(u32::MAX)).min(LONGEST_PAUSE)
}

/// Starts the task.
pub(crate) fn spawn(shared: Arc<Shared>, first: Option<Connection>) -> McpClient {
    let stop = CancelHandle::new();
    if let Some(connection) = &first {
        // At once, so that the tools are there when the client is.
        adopt(&shared, connection);
    }
    let task = tokio::spawn(supervise(Arc::clone(&shared), first, stop.signal()));
    McpClient::from_parts(shared, stop, task)
}

/// Notes that an attempt failed.
pub(crate) fn note_failure(shared: &Shared, error: &Error) {
    let since = match &shared.state.borrow().health {
        Health::Down { since, .. } => *since,
        _ => shared.server.settings.clock.now(),
    };
    shared.set_health(Health::Down { since, reason: error.to_string() });
}

async fn supervise(shared: Arc<Shared>, mut first: Option<Connection>, stop: CancelSignal) {
    let mut failures = 0_u32;
    loop {
        let attempt = match first.take() {
            Some(connection) => Ok(connection),
            None => tokio::select! {
                biased;
                () = stop.cancelled() => break,
                attempt = Box::pin(connect::connect(&shared)) => attempt,
            },
        };
        match attempt {
            Ok(connection) => {
                adopt(&shared, &connection);
                let since = shared.server.settings.clock.now();
                if watch(&shared, connection, &stop).await {
                    break;
                }
                failures = if held(&shared, since) { 0 } else { failures.saturating_add(1) };
            }
            Err(error) => {
                tracing::debug!(server = shared.server.prefix, %error, "an attempt to connect failed");
                note_failure(&shared, &error);
                failures = failures.saturating_add(1);
            }
        }
        // A fifth up or down, so that many clients do not come back at once.
        let wait = pause(FIRST_PAUSE, failures.saturating_sub(1)).mul_f64(0.8 + 0.4 * fastrand::f64());
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = tokio::time::sleep(wait) => {}
        }
    }
    shared.set_health(Health::Closed);
}

fn held(shared: &Shared, since: Timestamp) -> bool {
    let held = shared.server.settings.clock.now().duration_since(since);
    Duration::try_from(held).is_ok_and(|held| held >= GOOD)
}

fn adopt(shared: &Shared, connection: &Connection) {
    shared.publish(&connection.catalog);
    shared.state.send_modify(|state| {
        state.info = Some(connection.info.clone());
        state.link = Some(Arc::clone(&connection.link));
        state.health = Health::Connected;
    });
}

/// Watches a connection to its end; says whether that was asked for.
async fn watch(shared: &Shared, connection: Connection, stop: &CancelSignal) -> bool {
    let Connection { service, link, .. } = connection;
    let token = service.cancellation_token();
    let end = service.waiting();
    tokio::pin!(end);
    let stopped = tokio::select! {
        biased;
        () = stop.cancelled() => true,
        _ = &mut end => {
            let reason = link.process.as_ref().map_or_else(|| "it closed the connection".to_owned(), |report| report.sentence());
            gone(shared, reason);
            return false;
        }
        reason = look_after(shared, &link) => {
            gone(shared, reason);
            false
        }
    };
    if stopped {
        shared.set_health(Health::Closed);
    }
    token.cancel();
    // The transport bounds itself; twice its time is for whatever else may hold it up.
    let bound = shared.server.settings.shutdown_timeout.saturating_mul(2);
    if tokio::time::timeout(bound, end).await.is_err() {
        tracing::warn!(server = shared.server.prefix, "the connection did not end in time and was dropped");
    }
    stopped
}

fn gone(shared: &Shared, reason: String) {
    tracing::warn!(server = shared.server.prefix, reason, "an MCP server is gone");
    shared.set_health(Health::Down { since: shared.server.settings.clock.now(), reason });
}

/// Refreshes the tools when the server asks for it and probes the connection; ends with the reason when it is dead.
async fn look_after(shared: &Shared, link: &Link) -> String {
    let mut idle_refreshes = 0_u32;
    // When the tools are listed anew, after the server said that they changed.
    let mut due: Option<Pin<Box<Sleep>>> = None;
    loop {
        let announced = tokio::select! {
            () = shared.refresh.notified(), if due.is_none() => {
                due = Some(Box::pin(tokio::time::sleep(pause(REFRESH_PAUSE, idle_refreshes))));
                continue;
            }
            () = passed(&mut due) => true,
            () = shared.relist.notified() => false,
            () = shared.suspect.notified() => match dead(link).await {
                Some(reason) => return reason,
                None => continue,
            },
            () = tokio::time::sleep(PROBE), if matches!(shared.server.transport, Transport::Http(_)) => match dead(link).await {
                Some(reason) => return reason,
                None => continue,
            },
        };
        let changed = match connect::catalog(shared, link).await {
            Ok(catalog) => shared.publish(&catalog),
            Err(error) => {
                // The tools that are known stay.
                tracing::warn!(server = shared.server.prefix, %error, "the tools could not be refreshed");
                false
            }
        };
        if announced {
            idle_refreshes = if changed { 0 } else { idle_refreshes.saturating_add(1) };
        }
    }
}

/// Ends when the time has come, and forgets it; never without one.
async fn passed(due: &mut Option<Pin<Box<Sleep>>>) {
    match due {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
    *due = None;
}

/// Why a connection is dead; `None` while the server answers anything at all.
async fn dead(link: &Link) -> Option<String> {
    let options = PeerRequestOptions::with_timeout(PROBE_LIMIT);
    let answer = match link
        .peer
        .send_cancellable_request(ClientRequest::PingRequest(PingRequest::default()), options)
        .await
    {
        Ok(handle) => handle.await_response().await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(_) | Err(ServiceError::McpError(_)) => None,
        Err(ServiceError::Timeout { .. }) => Some("it does not answer any more".to_owned()),
        Err(_) => Some(
            link.process
                .as_deref()
                .map_or_else(|| "it cannot be reached any more".to_owned(), ProcessReport::sentence),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g17_pauses_grow_and_are_bounded() {
        let pauses: Vec<Duration> = (0..40).map(|failures| pause(FIRST_PAUSE, failures)).collect();
        assert_eq!(pauses[..3], [500, 1000, 2000].map(Duration::from_millis));
        assert!(pauses.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(pauses[39], LONGEST_PAUSE);
    }
}
