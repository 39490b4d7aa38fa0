//! Sources whose tools change while they are attached (M7).

use std::sync::{Arc, Mutex};

use hermes_core::{Effect, SourceTools, Tool, ToolSource, async_trait};
use hermes_testkit::fake::RecordingTool;
use hermes_tools::{AttachError, ToolRegistry};
use serde_json::json;

use crate::{call, context, echo, open, run};

#[derive(Debug, Clone)]
struct Server(Arc<Mutex<SourceTools>>);

impl Server {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn offer(&self, generation: u64, names: &[&str]) {
        let tools = names
            .iter()
            .map(|name| Arc::new(RecordingTool::new(open(name, Effect::ReadOnly))) as Arc<dyn Tool>)
            .collect();
        *self.0.lock().unwrap() = SourceTools { generation, tools, skipped: Vec::new() };
    }
}

#[async_trait]
impl ToolSource for Server {
    fn name(&self) -> &str {
        "x"
    }

    fn tools(&self) -> SourceTools {
        self.0.lock().unwrap().clone()
    }

    async fn changed(&self, _: u64) {
        std::future::pending::<()>().await;
    }
}

fn names(registry: &ToolRegistry) -> Vec<String> {
    registry.specs().iter().map(|spec| spec.name.clone()).collect()
}

#[tokio::test]
async fn a_source_replaces_its_own_tools_and_no_others() {
    let registry = ToolRegistry::new();
    echo(&registry, open("mine", Effect::ReadOnly));
    let server = Server::new();
    server.offer(1, &["x_a", "x_b"]);
    let attached = registry.attach(server.clone()).unwrap();
    assert_eq!(
        (attached.added.len(), names(&registry)),
        (2, vec!["mine".to_owned(), "x_a".to_owned(), "x_b".to_owned()])
    );
    assert!(registry.refresh_all().is_empty());

    let running = registry.get("x_a").unwrap();
    server.offer(3, &["x_b", "x_c", "mine"]);
    let changed = registry.refresh("x").unwrap();
    assert_eq!(
        (&changed.added[..], &changed.removed[..]),
        (&["x_c".to_owned()][..], &["x_a".to_owned()][..])
    );
    assert_eq!((changed.skipped.len(), changed.skipped[0].name.as_str()), (1, "mine"));
    assert_eq!(names(&registry), ["mine", "x_b", "x_c"]);
    assert_eq!(running.spec().name, "x_a", "a call goes on with the tool it found");

    // A late answer cannot undo a newer one.
    server.offer(2, &["x_a"]);
    assert!(!registry.refresh("x").unwrap().is_change());
    assert!(run(&registry, &call("x_c", "{}"), &context()).await.is_success());
    assert!(registry.detach("x"));
    assert_eq!(names(&registry), ["mine"]);
    assert!(registry.refresh("x").is_none());
}

#[test]
fn a_collision_is_an_error_and_takes_nothing() {
    let registry = ToolRegistry::new();
    echo(&registry, open("x_a", Effect::ReadOnly));
    let server = Server::new();
    server.offer(1, &["x_a", "x_b"]);
    let error = registry.attach(server.clone()).unwrap_err();
    assert!(matches!(&error, AttachError::Collision { tool, .. } if tool.tool == "x_a"), "{error}");
    assert_eq!(names(&registry), ["x_a"]);
    assert!(registry.remove("x_a"));
    registry.attach(server.clone()).unwrap();
    assert!(matches!(registry.attach(server), Err(AttachError::Attached { .. })));
    let mine = registry.register(open("x_a", Effect::ReadOnly), |_: serde_json::Value, _| async {
        Ok::<serde_json::Value, hermes_core::ToolError>(json!(1))
    });
    assert!(mine.unwrap_err().to_string().contains("taken by a tool of source \"x\""));
}

#[test]
fn a_tool_that_cannot_be_used_costs_one_tool() {
    let registry = ToolRegistry::new();
    let server = Server::new();
    server.offer(1, &["x_a", "not a name"]);
    let attached = registry.attach(server).unwrap();
    assert_eq!(attached.added, ["x_a"]);
    assert!(attached.skipped[0].reason.contains("1 to 64"));
}
