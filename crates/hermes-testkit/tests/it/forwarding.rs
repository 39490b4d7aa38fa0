//! A shared or boxed implementation is an implementation: whatever is called on it reaches what is inside.

use std::sync::Arc;

use hermes_core::{
    CancelSignal, ChatModel, ChatModelExt as _, ChatRequest, Clock, Embedder, Purpose, SessionStore,
    StateStore, Tool, ToolSpec,
};
use hermes_inmemory::InMemoryStore;
use hermes_testkit::fake::{Answer, FailingStore, HashEmbedder, ManualClock, RecordingTool, ScriptedModel};
use hermes_testkit::sample;

/// Takes an implementation by its trait, as an application would hold it.
fn shared<S: SessionStore + StateStore + Clone>(store: S) -> (Arc<dyn SessionStore>, Box<dyn StateStore>) {
    (Arc::new(store.clone()), Box::new(store))
}

#[tokio::test]
async fn calls_reach_the_store_inside() {
    let counted = FailingStore::new(InMemoryStore::new());
    let (sessions, state) = shared(counted.clone());
    // An `Arc` in an `Arc` goes through both.
    let nested: Arc<dyn SessionStore> = Arc::new(sessions);
    let session = sample::session("S");
    nested.create(&session).await.expect("it is made");
    assert!(nested.get(&session.owner, session.id).await.expect("it is read").is_some());
    let boxed: Box<dyn StateStore> = Box::new(state);
    assert!(boxed.get(&session.owner, &sample::state_key("k")).await.expect("it is read").is_none());
    assert_eq!(counted.calls(), ["SessionStore::create", "SessionStore::get", "StateStore::get"]);
}

#[tokio::test]
async fn models_embedders_tools_and_clocks_forward_too() {
    let model: Arc<dyn ChatModel> = Arc::new(Box::new(ScriptedModel::new([Answer::text("hi")])));
    assert_eq!(model.info().provider, "scripted");
    assert_eq!(model.ask(ChatRequest::default()).await.expect("an answer").text, "hi");

    let embedder: Box<dyn Embedder> = Box::new(Arc::new(HashEmbedder::with_dimension(8)));
    assert_eq!(embedder.info().dimension, 8);
    assert_eq!(embedder.embed(&["tea".to_owned()], Purpose::Query).await.expect("a vector").len(), 1);

    let inside = RecordingTool::new(ToolSpec::new("t", "T"));
    let tool: Arc<dyn Tool> = Arc::new(Box::new(inside.clone()));
    assert_eq!(tool.spec().name, "t");
    let context = sample::call_context().with_cancel(CancelSignal::never());
    tool.call(sample::json("{}"), context).await.expect("an output");
    assert_eq!(inside.started(), 1);

    let clock: Arc<dyn Clock> = Arc::new(Box::new(ManualClock::default()));
    assert_eq!(clock.now(), sample::at(0));
}
