//! The booking service of the demo: an MCP server in a process of its own, over stdio.
//!
//! Each reservation it makes is a line of a file, so that anyone can see that it was made there and once.

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ServerCapabilities, ServerConfig};
use rmcp::{ErrorData, ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::sync::Mutex;

use crate::error::Error;

/// A wish for a table.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
struct Reservation {
    /// The restaurant's name.
    restaurant: String,
    /// The day, as YYYY-MM-DD.
    date: String,
    /// The time, as HH:MM.
    time: String,
    /// How many people.
    people: u32,
}

/// The server.
#[derive(Debug, Clone)]
struct Booking {
    book: Arc<Mutex<PathBuf>>,
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Booking {
    fn new(book: PathBuf) -> Self {
        Self { book: Arc::new(Mutex::new(book)), tool_router: Self::tool_router() }
    }

    #[tool(description = "Reserve a table at a restaurant and give a confirmation number")]
    async fn make_reservation(
        &self,
        Parameters(wish): Parameters<Reservation>,
    ) -> Result<CallToolResult, ErrorData> {
        let failed =
            |e: std::io::Error| ErrorData::internal_error(format!("the book cannot be written: {e}"), None);
        let book = self.book.lock().await;
        let made = tokio::fs::read_to_string(&*book).await.unwrap_or_default().lines().count() + 1;
        let confirmation = format!("R-{made:04}");
        let entry = json!({
            "confirmation": confirmation,
            "restaurant": wish.restaurant,
            "date": wish.date,
            "time": wish.time,
            "people": wish.people,
            "process": std::process::id(),
        });
        let mut file =
            tokio::fs::OpenOptions::new().append(true).create(true).open(&*book).await.map_err(failed)?;
        file.write_all(format!("{entry}\n").as_bytes()).await.map_err(failed)?;
        file.flush().await.map_err(failed)?;
        Ok(CallToolResult::structured(entry))
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Booking {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info.instructions = Some("Books tables at restaurants.".to_owned());
        info
    }
}

/// Serves until the client closes standard input.
pub(crate) async fn serve(book: PathBuf) -> Result<(), Error> {
    let service = Booking::new(book)
        .serve(rmcp::transport::stdio())
        .await
        .map_err(|e| Error::demo("booking server", e))?;
    service.waiting().await.map_err(|e| Error::demo("booking server", e))?;
    Ok(())
}
