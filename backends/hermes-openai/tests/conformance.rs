//! The contracts of chat models (CM) and embedders (EM), against live servers where they are.

use hermes_openai::{Endpoint, OpenAiConfig, OpenAiEmbedder, OpenAiEmbedderConfig, OpenAiModel, PurposeHint};
use hermes_testkit::{Fresh, chat_model_suite, embedder_suite, server};

chat_model_suite!(requires "llm", |url: String| async move {
    let model = server::llm().unwrap().model;
    Fresh::new(OpenAiModel::new(&OpenAiConfig::new(Endpoint::new(url), model)).unwrap())
});

embedder_suite!(requires "embeddings", |url: String| async move {
    let live = server::embeddings().unwrap();
    let config = OpenAiEmbedderConfig::new(Endpoint::new(url), live.model, live.dimension)
        .with_purpose(PurposeHint::InputType);
    Fresh::new(OpenAiEmbedder::new(&config).unwrap())
});
