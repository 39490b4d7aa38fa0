//! What goes wrong, as one sentence for the person in front of the screen.

use std::fmt;
use std::path::PathBuf;

use hermes::core::ModelError;

/// Why the program ends with a failure. `Display` is a sentence; causes follow after colons.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the demo failed at its {part}: {reason}")]
    Demo { part: &'static str, reason: String },
    #[error("{0}")]
    Usage(String),
    #[error(
        "no model is configured, and no local server answers at {}\n\
         start one, such as `llama-server -m model.gguf --jinja` or `ollama serve`, and run this again,\n\
         or name one with `--base-url URL`, or set OPENAI_API_KEY (and OPENAI_BASE_URL for another service)",
        tried.join(", ")
    )]
    NoModel { tried: Vec<String> },
    #[error("interrupted")]
    Interrupted,
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error(transparent)]
    Store(#[from] hermes::core::StoreError),
    #[error(transparent)]
    Connect(#[from] hermes::ConnectError),
    #[error(transparent)]
    Session(#[from] hermes::session::Error),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Agent(#[from] hermes::agent::Error),
    #[error(transparent)]
    Build(#[from] hermes::agent::BuildError),
    #[error(transparent)]
    Register(#[from] hermes::tools::RegisterError),
    #[error(transparent)]
    Attach(#[from] hermes::tools::AttachError),
    #[error("the output could not be written")]
    Output(#[source] std::io::Error),
}

impl Error {
    pub(crate) fn demo(part: &'static str, error: impl fmt::Display) -> Self {
        Self::Demo { part, reason: error.to_string() }
    }

    pub(crate) fn file(path: impl Into<PathBuf>, error: impl fmt::Display) -> Self {
        Self::File { path: path.into(), reason: error.to_string() }
    }

    pub(crate) fn folder(path: impl Into<PathBuf>, error: &std::io::Error) -> Self {
        Self::file(path, format!("the folder cannot be made: {error}"))
    }

    /// The sentence with its causes.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Model(error @ ModelError::Unreachable { .. }) => {
                // Between the address and the system's reason the causes only name layers.
                format!("{error}: {}; is it running, and is the address right?", root(error))
            }
            _ => Self::with_causes(self),
        }
    }

    /// An error's text with those of its causes, each said once.
    pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let said = error.to_string();
            if !text.contains(&said) {
                text.push_str(": ");
                text.push_str(&said);
            }
            cause = error.source();
        }
        text
    }
}

/// The first cause.
fn root<'a>(error: &'a (dyn std::error::Error + 'static)) -> &'a (dyn std::error::Error + 'static) {
    let mut root = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    root
}
