//! Settings.

use std::fmt;
use std::time::Duration;

use hermes_core::StoreError;
use serde::Deserialize;
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

/// Where the database is and how it is used. It is read from files and never written, since the address may hold a password.
///
/// ```
/// use hermes_postgres::PostgresConfig;
///
/// let config = PostgresConfig::new("postgres://dana:secret@db.example.com/hermes").with_schema("agents");
/// assert_eq!(config.schema, "agents");
/// assert!(!format!("{config:?}").contains("secret"));
/// ```
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PostgresConfig {
    /// The address: `postgres://user:password@host:port/database`, with the parameters that libpq knows, such as `sslmode=verify-full`. What it leaves out
    /// is taken from libpq's variables (`PGHOST`, `PGPASSWORD`, …) and password file.
    pub url: String,
    /// The schema that holds the tables (`public`), made if it is not there. Stores in two schemas know nothing of each other.
    pub schema: String,
    /// How many connections are open at the same time at the most (10; at least 1).
    pub connections: u32,
    /// For how many milliseconds a call waits for a connection (30 000), before it fails with a transient error.
    pub acquire_timeout_ms: u64,
    /// After how many milliseconds the server ends a statement, its wait for other writers included (30 000), and a transaction whose
    /// client has fallen silent; 0 for never. The call fails with a transient error.
    pub statement_timeout_ms: u64,
}

impl Default for PostgresConfig {
    fn default() -> Self {
        Self {
            url: "postgres://".to_owned(),
            schema: "public".to_owned(),
            connections: 10,
            acquire_timeout_ms: 30_000,
            statement_timeout_ms: 30_000,
        }
    }
}

/// The parameters of an address that the driver knows; it would log others, with their values, and go on.
const PARAMETERS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// The most bytes that PostgreSQL keeps of a name.
const MAX_NAME_BYTES: usize = 63;

impl PostgresConfig {
    /// The default settings for an address.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }

    /// Sets the schema that holds the tables: lower-case ASCII letters, digits and `_`.
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets how many connections are open at the same time at the most.
    #[must_use]
    pub fn with_connections(mut self, connections: u32) -> Self {
        self.connections = connections;
        self
    }

    /// Sets how long a call waits for a connection.
    #[must_use]
    pub fn with_acquire_timeout(mut self, wait: Duration) -> Self {
        self.acquire_timeout_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Sets after what time the server ends a statement; zero for never.
    #[must_use]
    pub fn with_statement_timeout(mut self, limit: Duration) -> Self {
        self.statement_timeout_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        self
    }

    pub(crate) fn acquire_timeout(&self) -> Duration {
        // A year is for ever, and can be added to any clock.
        Duration::from_millis(self.acquire_timeout_ms).min(Duration::from_hours(365 * 24))
    }

    /// What the driver needs. The connections it makes see no other schema than ours.
    pub(crate) fn options(&self) -> Result<PgConnectOptions, StoreError> {
        self.check_schema()?;
        // The server takes a 32-bit number: 24 days.
        let limit = self.statement_timeout_ms.min(i32::MAX.unsigned_abs().into()).to_string();
        let options = self.address()?.disable_statement_logging().options([
            ("search_path", self.schema.as_str()),
            ("statement_timeout", limit.as_str()),
            ("idle_in_transaction_session_timeout", limit.as_str()),
            // What is read under a lock has to be what was committed before it was given.
            ("default_transaction_isolation", "read committed"),
        ]);
        Ok(options)
    }

    fn address(&self) -> Result<PgConnectOptions, StoreError> {
        let invalid = |reason: String| StoreError::Invalid { what: "database address", reason };
        let known = ["postgres://", "postgresql://"].iter().any(|scheme| self.url.starts_with(scheme));
        if !known {
            return Err(invalid("it does not begin with postgres://".to_owned()));
        }
        let (_, query) = self.url.split_once('?').unwrap_or_default();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, _) = parameter.split_once('=').unwrap_or((parameter, ""));
            if !PARAMETERS.contains(&name) {
                return Err(invalid(
                    "it has a parameter that is not known, or a ? that has to be written %3F".to_owned(),
                ));
            }
        }
        self.url.parse().map_err(|error: sqlx::Error| {
            // What the driver says may repeat parts of the address.
            let reason = match error {
                sqlx::Error::Configuration(_) => "it cannot be read",
                _ => "it cannot be used",
            };
            invalid(format!("{reason}: expected postgres://user:password@host:port/database"))
        })
    }

    fn check_schema(&self) -> Result<(), StoreError> {
        let schema = self.schema.as_str();
        let reason = if schema.len() > MAX_NAME_BYTES {
            "it is longer than 63 bytes"
        } else if schema.starts_with("pg_") {
            "names that begin with pg_ are the server's own"
        } else if !schema.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            || !schema.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        {
            "it has to be of lower-case ASCII letters, digits and _, and not begin with a digit"
        } else {
            return Ok(());
        };
        Err(StoreError::Invalid { what: "schema name", reason: reason.to_owned() })
    }
}

/// The place that options lead to, for people, without the password.
pub(crate) fn place(options: &PgConnectOptions) -> String {
    let host = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    let database = options.get_database().unwrap_or(options.get_username());
    format!("the database {database} at {host} as {}", options.get_username())
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.address().map_or_else(|error| error.to_string(), |options| place(&options));
        f.debug_struct("PostgresConfig")
            .field("url", &format_args!("<{place}>"))
            .field("schema", &self.schema)
            .field("connections", &self.connections)
            .field("acquire_timeout_ms", &self.acquire_timeout_ms)
            .field("statement_timeout_ms", &self.statement_timeout_ms)
            .finish()
    }
}

#[cfg(test)]
mod tests;
