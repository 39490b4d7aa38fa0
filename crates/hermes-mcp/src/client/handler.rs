//! What a server may say to us unasked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rmcp::model::{ClientConfig, Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion};
use rmcp::service::NotificationContext;
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::mpsc;

use super::shared::Shared;

/// How many reports of one call wait to be passed on; more are dropped, since only the last one matters.
const WAITING_REPORTS: usize = 16;

/// A report of progress.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// Where the progress of running calls goes.
#[derive(Debug, Default)]
pub(crate) struct Routes(Mutex<HashMap<ProgressToken, mpsc::Sender<Report>>>);

impl Routes {
    /// Takes the reports of a token until the route is dropped.
    pub(crate) fn open(self: &Arc<Self>, token: ProgressToken) -> Route {
        let (sender, reports) = mpsc::channel(WAITING_REPORTS);
        self.table().insert(token.clone(), sender);
        Route { routes: Arc::clone(self), token, reports }
    }

    fn table(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, mpsc::Sender<Report>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, params: ProgressNotificationParam) {
        if let Some(sender) = self.table().get(&params.progress_token) {
            // A full route has reports that say enough, and a closed one belongs to a call that is over.
            let _ = sender.try_send(Report {
                done: params.progress,
                total: params.total,
                message: params.message,
            });
        }
    }
}

/// The progress of one call.
#[derive(Debug)]
pub(crate) struct Route {
    routes: Arc<Routes>,
    token: ProgressToken,
    pub(crate) reports: mpsc::Receiver<Report>,
}

impl Drop for Route {
    fn drop(&mut self) {
        self.routes.table().remove(&self.token);
    }
}

/// Answers a server. It offers nothing beyond the protocol's core: no roots, no sampling, no elicitation.
#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) shared: Weak<Shared>,
    pub(crate) routes: Arc<Routes>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        // Newer versions know no `initialize`; a server that echoes what it is offered must not be taken for one of those.
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config.client_info = Implementation::new("hermes", env!("CARGO_PKG_VERSION"));
        config
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.routes.deliver(params);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        if let Some(shared) = self.shared.upgrade() {
            shared.refresh.notify_one();
        }
    }
}
