//! What a client, its tools and its task share.

use std::collections::BTreeMap;
use std::sync::Arc;

use hermes_core::SkippedTool;
use rmcp::RoleClient;
use rmcp::service::Peer;
use tokio::sync::{Notify, watch};

use super::handler::Routes;
use super::health::{Health, ServerInfo};
use super::process::ProcessReport;
use super::server::McpServer;
use crate::catalog::{Catalog, Definition};
use crate::pin::Fingerprint;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) server: McpServer,
    pub(crate) state: watch::Sender<State>,
    /// The server says that its tools changed.
    pub(crate) refresh: Notify,
    /// We want a new list of tools at once.
    pub(crate) relist: Notify,
    /// Says that the connection may be dead.
    pub(crate) suspect: Notify,
}

/// What is known now.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) health: Health,
    pub(crate) info: Option<ServerInfo>,
    pub(crate) link: Option<Arc<Link>>,
    pub(crate) generation: u64,
    pub(crate) definitions: Vec<Arc<Definition>>,
    pub(crate) skipped: Vec<SkippedTool>,
    /// The fingerprints of all that the server offers, by its own names: also of what is withheld.
    pub(crate) offered: BTreeMap<String, Fingerprint>,
}

/// One connection, as calls need it.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) routes: Arc<Routes>,
    /// What a program left behind when it ended.
    pub(crate) process: Option<Arc<ProcessReport>>,
}

impl Shared {
    pub(crate) fn new(server: McpServer) -> Arc<Self> {
        let state = State {
            health: Health::Connecting,
            info: None,
            link: None,
            generation: 0,
            definitions: Vec::new(),
            skipped: Vec::new(),
            offered: BTreeMap::new(),
        };
        Arc::new(Self {
            server,
            state: watch::Sender::new(state),
            refresh: Notify::new(),
            relist: Notify::new(),
            suspect: Notify::new(),
        })
    }

    /// Takes a new list of tools; says whether it differs from the last. The generation grows only then (M7).
    pub(crate) fn publish(&self, catalog: &Catalog) -> bool {
        self.state.send_if_modified(|state| {
            state.offered.clone_from(&catalog.offered);
            if state.generation > 0
                && state.definitions == catalog.definitions
                && state.skipped == catalog.skipped
            {
                return false;
            }
            state.generation = state.generation.saturating_add(1);
            state.definitions.clone_from(&catalog.definitions);
            state.skipped.clone_from(&catalog.skipped);
            true
        })
    }

    pub(crate) fn set_health(&self, health: Health) {
        self.state.send_modify(|state| {
            if health != Health::Connected {
                state.link = None;
            }
            state.health = health;
        });
    }
}
