//! Choosing a store at run time, by URL.

use std::sync::Arc;

use hermes_core::{ArtifactStore, EpisodicStore, IdempotencyStore, SessionStore, StateStore, StoreError};

/// The stores behind one URL. The parts are one and the same database.
#[derive(Debug, Clone)]
pub struct Store {
    /// Sessions and their leases.
    pub sessions: Arc<dyn SessionStore>,
    /// Episodic memories.
    pub episodic: Arc<dyn EpisodicStore>,
    /// Claims on effects.
    pub idempotency: Arc<dyn IdempotencyStore>,
    /// Artifacts.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Small durable facts.
    pub state: Arc<dyn StateStore>,
}

/// No store could be had for a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The text has no scheme.
    #[error("{url:?} is no store URL: expected something like sqlite://hermes.db or memory:")]
    NotAUrl {
        /// What was given.
        url: String,
    },
    /// The scheme belongs to a backend that this program was built without.
    #[error("{scheme}: needs the feature `{feature}` of the crate `hermes`")]
    FeatureOff {
        /// The scheme.
        scheme: String,
        /// The feature to turn on.
        feature: &'static str,
    },
    /// No backend has the scheme.
    #[error("no backend for {scheme}: known are memory:, sqlite: and postgres:")]
    UnknownScheme {
        /// The scheme.
        scheme: String,
    },
    /// The backend could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// The stores of a value that is all of them.
    pub fn of<S>(store: S) -> Self
    where
        S: SessionStore + EpisodicStore + IdempotencyStore + ArtifactStore + StateStore,
    {
        let store = Arc::new(store);
        Self {
            sessions: Arc::<S>::clone(&store),
            episodic: Arc::<S>::clone(&store),
            idempotency: Arc::<S>::clone(&store),
            artifacts: Arc::<S>::clone(&store),
            state: store,
        }
    }
}

/// Opens the stores behind a URL, making and migrating the database where needed: `memory:` (feature `inmemory`),
/// `sqlite://path` (feature `sqlite`) or `postgres://user:password@host/database` (feature `postgres`).
///
/// # Errors
/// [`ConnectError`]; a scheme whose feature is off names the feature.
pub async fn connect(url: &str) -> Result<Store, ConnectError> {
    let Some((scheme, _)) = url.split_once(':') else {
        return Err(ConnectError::NotAUrl { url: url.to_owned() });
    };
    match scheme {
        #[cfg(feature = "inmemory")]
        "memory" => Ok(Store::of(hermes_inmemory::InMemoryStore::new())),
        #[cfg(not(feature = "inmemory"))]
        "memory" => Err(ConnectError::FeatureOff { scheme: scheme.to_owned(), feature: "inmemory" }),
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Store::of(hermes_sqlite::SqliteStore::connect(url).await?)),
        #[cfg(not(feature = "sqlite"))]
        "sqlite" => Err(ConnectError::FeatureOff { scheme: scheme.to_owned(), feature: "sqlite" }),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Ok(Store::of(hermes_postgres::PostgresStore::connect(url).await?)),
        #[cfg(not(feature = "postgres"))]
        "postgres" | "postgresql" => {
            Err(ConnectError::FeatureOff { scheme: scheme.to_owned(), feature: "postgres" })
        }
        other => Err(ConnectError::UnknownScheme { scheme: other.to_owned() }),
    }
}
