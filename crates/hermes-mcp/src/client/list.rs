//! Asking a server for its tools, page by page (M2, M7).

use std::collections::BTreeSet;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::Value;

use crate::wire::{self, WireTool};

/// How many pages are read, and how many tools are taken: a server that never comes to an end costs no more than this.
const MAX_PAGES: usize = 100;
const MAX_TOOLS: usize = 2000;

/// What a server listed.
pub(crate) struct Listed {
    pub(crate) tools: Vec<WireTool>,
    pub(crate) odd: Vec<(String, String)>,
}

pub(crate) enum ListError {
    /// The list is not one.
    Malformed,
    Service(ServiceError),
}

pub(crate) async fn list(peer: &Peer<RoleClient>, page_limit: Duration) -> Result<Listed, ListError> {
    let mut listed = Listed { tools: Vec::new(), odd: Vec::new() };
    let mut cursors = BTreeSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let request = ListToolsRequest { params, ..ListToolsRequest::default() };
        let options = PeerRequestOptions::with_timeout(page_limit);
        let handle = peer
            .send_cancellable_request(ClientRequest::ListToolsRequest(request), options)
            .await
            .map_err(ListError::Service)?;
        let result = handle.await_response().await.map_err(ListError::Service)?;
        let page = wire::tool_page(&plain(&result)).ok_or(ListError::Malformed)?;
        listed.tools.extend(page.tools);
        listed.odd.extend(page.odd);
        if listed.tools.len() > MAX_TOOLS {
            listed.tools.truncate(MAX_TOOLS);
            listed.odd.push(("(more)".to_owned(), format!("only {MAX_TOOLS} tools of a server are taken")));
            return Ok(listed);
        }
        let Some(next) = page.next else { return Ok(listed) };
        if !cursors.insert(next.clone()) {
            listed.odd.push(("(more)".to_owned(), "the list goes round in a circle".to_owned()));
            return Ok(listed);
        }
        cursor = Some(next);
    }
    listed.odd.push(("(more)".to_owned(), format!("only {MAX_PAGES} pages of a list are read")));
    Ok(listed)
}

/// A result as plain JSON, whichever type it was taken for: what does not fit its type arrives as a custom one.
pub(crate) fn plain(result: &ServerResult) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}
