//! Settings.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_core::StoreError;
use serde::{Deserialize, Serialize};

/// Where the database is and how it is used.
///
/// ```
/// use hermes_sqlite::{Durability, SqliteConfig};
///
/// let config = SqliteConfig::from_url("sqlite://hermes.db")?.with_durability(Durability::Normal);
/// assert_eq!(config.path.as_deref(), Some(std::path::Path::new("hermes.db")));
/// assert_eq!(SqliteConfig::from_url("sqlite::memory:")?.path, None);
/// # Ok::<(), hermes_core::StoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SqliteConfig {
    /// The database file, made if it is not there; its folder has to be. `None` keeps everything in memory, where it ends with the
    /// last clone of the store.
    pub path: Option<PathBuf>,
    /// What a power failure may take with it.
    pub durability: Durability,
    /// How many connections read at the same time (4; at least 1). One more writes. In memory there is one for all.
    pub readers: u32,
    /// For how many milliseconds a call waits while another process writes (10 000), before it fails with a transient error.
    pub busy_timeout_ms: u64,
}

/// What is promised of a write that was acknowledged.
///
/// Under either, a process that is killed at any instant loses nothing that was acknowledged, and what was not
/// acknowledged is there wholly or not at all: the operating system has the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// A failure of power or of the operating system may take the last writes with it, but damages nothing
    /// (`synchronous = NORMAL`). Writes do not wait for the disk. What a lost write said of an effect on the world is lost with it: after a failure of
    /// power a call may be carried out that had been carried out before (T8).
    Normal,
    /// It takes nothing that was acknowledged, as far as the disk keeps its word (`synchronous = FULL`). Each write waits for the disk. The
    /// default, since the log is the journal of what was done.
    #[default]
    Full,
}

impl Default for SqliteConfig {
    fn default() -> Self {
        Self { path: None, durability: Durability::default(), readers: 4, busy_timeout_ms: 10_000 }
    }
}

impl SqliteConfig {
    /// The default settings for a file.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: Some(path.into()), ..Self::default() }
    }

    /// The default settings for an address: `sqlite://` or `sqlite:` and a path, taken as it stands, or `sqlite::memory:`.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for another scheme, for no path, and for parameters after a `?`, which this configuration has fields for.
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        let invalid =
            |reason: &str| StoreError::Invalid { what: "database address", reason: reason.to_owned() };
        let path = url
            .strip_prefix("sqlite://")
            .or_else(|| url.strip_prefix("sqlite:"))
            .ok_or_else(|| invalid("it does not begin with sqlite://"))?;
        match path {
            "" => Err(invalid("it names no file; sqlite::memory: keeps everything in memory")),
            ":memory:" => Ok(Self::default()),
            path if path.contains('?') => {
                Err(invalid("it has parameters after a question mark; set them in the configuration"))
            }
            path => Ok(Self::new(path)),
        }
    }

    /// Sets what a power failure may take.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets how many connections read at the same time.
    #[must_use]
    pub fn with_readers(mut self, readers: u32) -> Self {
        self.readers = readers;
        self
    }

    /// Sets how long a call waits while another process writes.
    #[must_use]
    pub fn with_busy_timeout(mut self, wait: Duration) -> Self {
        self.busy_timeout_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// The file, or `None` for memory. Names that SQLite takes for something else than a file are told apart here.
    pub(crate) fn file(&self) -> Result<Option<&Path>, StoreError> {
        let Some(path) = &self.path else { return Ok(None) };
        match path.to_str() {
            Some(":memory:") => Ok(None),
            Some("") => {
                let reason = "it is empty; leave it out to keep everything in memory".to_owned();
                Err(StoreError::Invalid { what: "database path", reason })
            }
            Some(uri) if uri.starts_with("file:") => {
                let reason =
                    "it begins with file: and would be read as an address; begin it with ./".to_owned();
                Err(StoreError::Invalid { what: "database path", reason })
            }
            _ => Ok(Some(path)),
        }
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        // SQLite takes a 32-bit number: 24 days.
        Duration::from_millis(self.busy_timeout_ms.min(i32::MAX.unsigned_abs().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_file_or_memory() {
        for (url, path) in [
            ("sqlite://a.db", Some("a.db")),
            ("sqlite:a.db", Some("a.db")),
            ("sqlite:///tmp/a b.db", Some("/tmp/a b.db")),
            ("sqlite::memory:", None),
            ("sqlite://:memory:", None),
        ] {
            assert_eq!(SqliteConfig::from_url(url).unwrap().path, path.map(PathBuf::from), "{url}");
        }
        for url in ["", "sqlite://", "postgres://a", "a.db", "sqlite://a.db?mode=ro"] {
            assert!(matches!(SqliteConfig::from_url(url), Err(StoreError::Invalid { .. })), "{url}");
        }
    }

    #[test]
    fn names_that_are_no_files_do_not_pass_for_some() {
        assert_eq!(SqliteConfig::new("a.db").file().unwrap(), Some(Path::new("a.db")));
        assert_eq!(SqliteConfig::new(":memory:").file().unwrap(), None);
        assert!(SqliteConfig::new("").file().is_err());
        assert!(SqliteConfig::new("file:a.db?mode=memory").file().is_err());
    }

    #[test]
    fn settings_left_out_have_their_defaults_and_unknown_ones_are_refused() {
        let config: SqliteConfig = serde_json::from_str(r#"{"path":"a.db","durability":"normal"}"#).unwrap();
        assert_eq!(config, SqliteConfig::new("a.db").with_durability(Durability::Normal));
        assert_eq!(SqliteConfig::default().durability, Durability::Full);
        assert!(serde_json::from_str::<SqliteConfig>(r#"{"pth":"a.db"}"#).is_err());
    }
}
