//! What was shortened is read back, page by page (T10).

use hermes_core::{
    CallContext, Effect, FailureKind, NewMessage, Seq, SessionStore as _, ToolError, ToolOutput, WriteGuard,
};
use hermes_inmemory::InMemoryStore;
use hermes_testkit::sample;
use hermes_tools::ToolRegistry;
use hermes_tools::builtin::ReadArtifact;
use serde_json::{Value, json};

use crate::{call, context, error, open, output, registry, run};

fn with_reader(text: String) -> (ToolRegistry, InMemoryStore) {
    let (registry, store) = registry();
    registry
        .register(open("long", Effect::ReadOnly), move |_: Value, _: CallContext| {
            let text = text.clone();
            async move { Ok::<ToolOutput, ToolError>(ToolOutput::text(text)) }
        })
        .unwrap();
    registry.add(ReadArtifact::new(&registry, store.clone()).with_log(store.clone())).unwrap();
    (registry, store)
}

async fn read(registry: &ToolRegistry, near: &CallContext, arguments: Value) -> Value {
    output(&run(registry, &call("read_artifact", &arguments.to_string()), near).await).clone()
}

#[tokio::test]
async fn pages_join_to_the_original_whatever_their_size() {
    let text = "始🌏 é→시\n".repeat(900);
    let (registry, _) = with_reader(text.clone());
    let near = context();
    let outcome = run(&registry, &call("long", "{}"), &near).await;
    let handle = format!("artifact:{}", outcome.report.artifact.unwrap());
    assert!(output(&outcome).as_str().unwrap().contains(&handle));
    for bytes in [16, 17, 1_001, 16_384] {
        let (mut whole, mut offset) = (String::new(), json!(0));
        while !offset.is_null() {
            let page =
                read(&registry, &near, json!({ "handle": handle, "offset": offset, "bytes": bytes })).await;
            whole.push_str(page["text"].as_str().unwrap());
            assert_eq!(page["total_bytes"], text.len());
            offset = page["next_offset"].clone();
        }
        assert_eq!(whole, text, "{bytes}");
    }
}

#[tokio::test]
async fn lines_are_counted_and_wrong_handles_explained() {
    let lines: String = (1..=5_000).map(|n| format!("line {n}\n")).collect();
    let (registry, _) = with_reader(lines);
    let near = context();
    let outcome = run(&registry, &call("long", "{}"), &near).await;
    let handle = format!("artifact:{}", outcome.report.artifact.unwrap());
    let page = read(&registry, &near, json!({ "handle": handle, "line": 4_000, "lines": 2 })).await;
    assert_eq!((page["text"].as_str(), &page["next_line"]), (Some("line 4000\nline 4001\n"), &json!(4_002)));

    // Another session has no such artifact; nor is anything else a handle.
    for (near, handle) in
        [(&context(), handle.as_str()), (&near, "artifact:x"), (&near, "log:99"), (&near, "/etc/passwd")]
    {
        let outcome =
            run(&registry, &call("read_artifact", &json!({ "handle": handle }).to_string()), near).await;
        assert_eq!(error(&outcome).0, FailureKind::InvalidArguments, "{handle}");
    }
}

#[tokio::test]
async fn entries_of_the_sessions_own_log_are_read_too() {
    let (registry, store) = with_reader(String::new());
    let session = store.create(&sample::session("s")).await.unwrap();
    let mut near = context();
    near.session = session.record.id;
    store
        .append(
            &near.owner,
            near.session,
            Seq::START,
            &[NewMessage::user("很长的一段话")],
            WriteGuard::unleased(sample::at(1)),
        )
        .await
        .unwrap();
    let page = read(&registry, &near, json!({ "handle": "log:1", "offset": 1 })).await;
    assert_eq!((page["text"].as_str(), &page["offset"]), (Some("长的一段话"), &json!(3)));
}
