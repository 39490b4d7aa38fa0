//! What servers send, read leniently: one odd tool must cost one tool, and one odd block of content one block (M7). Pure.

use serde_json::{Map, Value};

/// A tool as a server defines it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WireTool {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) input_schema: Option<Value>,
    pub(crate) output_schema: Option<Value>,
    pub(crate) annotations: Annotations,
}

/// What a server says about a tool's effects. Hints only: nothing makes them true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Annotations {
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) open_world: Option<bool>,
}

/// One page of `tools/list`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ToolPage {
    pub(crate) tools: Vec<WireTool>,
    /// Entries that are not tools, with the reason.
    pub(crate) odd: Vec<(String, String)>,
    pub(crate) next: Option<String>,
}

/// Reads the result of `tools/list`; `None` when there is no list in it.
pub(crate) fn tool_page(result: &Value) -> Option<ToolPage> {
    let mut page = ToolPage::default();
    for (place, entry) in result.get("tools")?.as_array()?.iter().enumerate() {
        match tool(entry) {
            Some(tool) => page.tools.push(tool),
            None => page.odd.push((format!("#{place}"), "its definition has no name".to_owned())),
        }
    }
    page.next = text(result.get("nextCursor")).filter(|cursor| !cursor.is_empty());
    Some(page)
}

/// Reads a tool's definition; `None` when it has no name.
pub(crate) fn tool(entry: &Value) -> Option<WireTool> {
    let entry = entry.as_object()?;
    let name = text(entry.get("name")).filter(|name| !name.is_empty())?;
    let hints = entry.get("annotations").and_then(Value::as_object);
    let hint = |key: &str| hints.and_then(|hints| hints.get(key)).and_then(Value::as_bool);
    Some(WireTool {
        name,
        title: text(entry.get("title")).or_else(|| text(hints.and_then(|hints| hints.get("title")))),
        description: text(entry.get("description")),
        input_schema: present(entry, "inputSchema"),
        output_schema: present(entry, "outputSchema"),
        annotations: Annotations {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        },
    })
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn present(entry: &Map<String, Value>, key: &str) -> Option<Value> {
    entry.get(key).filter(|value| !value.is_null()).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_odd_entry_costs_one_entry() {
        let page = tool_page(&json!({ "tools": [
            { "name": "a", "inputSchema": true, "execution": { "taskSupport": "optional" } },
            7,
            { "inputSchema": {} },
            { "name": "b", "description": 3, "inputSchema": {}, "annotations": { "readOnlyHint": true, "destructiveHint": "no" } },
        ], "nextCursor": "p2" }))
        .unwrap();
        assert_eq!(page.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(page.odd.len(), 2);
        assert_eq!(page.next.as_deref(), Some("p2"));
        assert_eq!(
            page.tools[1].annotations,
            Annotations { read_only: Some(true), ..Annotations::default() }
        );
        assert_eq!(tool_page(&json!({ "tools": "none" })), None);
    }
}
