//! How a connection is, and with whom.

use jiff::Timestamp;

/// How a connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// The first attempt is under way.
    Connecting,
    /// The server answered the handshake, and the connection has not ended since.
    Connected,
    /// There is no connection; attempts go on in the background, with growing pauses.
    Down {
        /// Since when.
        since: Timestamp,
        /// Why, in one sentence.
        reason: String,
    },
    /// The client was shut down.
    Closed,
}

/// What a server says about itself. Its texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The protocol version that was agreed on, such as `2025-11-25`.
    pub protocol: String,
    /// What it says about how to use it, cleaned and cut.
    pub instructions: Option<String>,
}
