//! What models a service has.

use hermes_core::{ModelError, Tokens};
use reqwest::Method;
use serde::Deserialize;

use crate::client::Client;
use crate::config::Endpoint;

/// A model that a service lists.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedModel {
    /// Its name, for [`crate::OpenAiConfig::model`].
    pub id: String,
    /// How many tokens request and answer may have together, where the service says so: llama.cpp (the context it was started
    /// with, else the one the model was trained with), vLLM, OpenRouter and LM Studio do.
    pub context_window: Option<Tokens>,
}

/// The models of a service, in its order (`GET /v1/models`). Which servers run on a machine can be found out so.
///
/// # Errors
/// [`ModelError`] when the service cannot be asked or answers something else.
pub async fn models(endpoint: &Endpoint) -> Result<Vec<ListedModel>, ModelError> {
    list(&Client::new(endpoint)?).await
}

pub(crate) async fn list(client: &Client) -> Result<Vec<ListedModel>, ModelError> {
    let body = client.send(Method::GET, "models", Vec::new()).await?.read_all().await?;
    read(&body)
}

#[derive(Deserialize)]
struct Listing {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    meta: Option<Meta>,
    /// vLLM.
    max_model_len: Option<u32>,
    /// OpenRouter.
    context_length: Option<u32>,
    /// LM Studio.
    max_context_length: Option<u32>,
}

/// llama.cpp's further data.
#[derive(Deserialize)]
struct Meta {
    n_ctx: Option<u32>,
    n_ctx_train: Option<u32>,
}

fn read(body: &[u8]) -> Result<Vec<ListedModel>, ModelError> {
    let listing: Listing = serde_json::from_slice(body)
        .map_err(|error| ModelError::BadResponse { reason: format!("this is no list of models: {error}") })?;
    let models = listing.data.into_iter().map(|entry| {
        let meta = entry.meta.and_then(|meta| meta.n_ctx.or(meta.n_ctx_train));
        let window = meta.or(entry.max_model_len).or(entry.context_length).or(entry.max_context_length);
        ListedModel { id: entry.id, context_window: window.filter(|window| *window > 0).map(Tokens::new) }
    });
    Ok(models.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_found_where_it_is_said() {
        for (entry, window) in [
            (r#"{"id":"m","meta":{"n_ctx":8192,"n_ctx_train":32768}}"#, Some(8192)),
            (r#"{"id":"m","meta":{"n_ctx_train":32768}}"#, Some(32768)),
            (r#"{"id":"m","meta":null,"max_model_len":4096}"#, Some(4096)),
            (r#"{"id":"m","context_length":131072,"pricing":{}}"#, Some(131_072)),
            (r#"{"id":"m","object":"model"}"#, None),
        ] {
            let body = format!(r#"{{"object":"list","data":[{entry}]}}"#);
            let models = read(body.as_bytes()).unwrap();
            assert_eq!(
                models,
                [ListedModel { id: "m".to_owned(), context_window: window.map(Tokens::new) }],
                "{entry}"
            );
        }
        assert!(read(b"<html>").is_err());
    }
}
