//! One tool of a server, as a Hermes tool.

use std::sync::Arc;

use async_trait::async_trait;
use hermes_core::{CallContext, JsonText, Tool, ToolError, ToolOutput, ToolSpec};

use crate::catalog::Definition;
use crate::client::McpClient;
use crate::content;

#[derive(Debug)]
pub(crate) struct McpTool {
    client: McpClient,
    definition: Arc<Definition>,
}

impl McpTool {
    pub(crate) const fn new(client: McpClient, definition: Arc<Definition>) -> Self {
        Self { client, definition }
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.definition.spec)
    }

    async fn call(&self, arguments: JsonText, context: CallContext) -> Result<ToolOutput, ToolError> {
        let result = self.client.call(&self.definition.tool, &arguments, &context).await?;
        content::normalise(&result)
    }
}
