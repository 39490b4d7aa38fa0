//! Identifiers: one newtype for each thing that can be named, with no conversion between them.
//!
//! Two families exist. *Minted* ids ([`SessionId`], [`StepId`], [`MemoryId`], [`ArtifactId`]) are UUIDs of version 7, so that
//! they sort by the time they were made. *Given* ids ([`TenantId`], [`UserId`], [`CallId`], [`IdempotencyKey`], …) come from
//! outside and are checked text. A [`UserId`] where a [`SessionId`] is due does not compile (S1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that cannot be an identifier, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {kind}: {reason}")]
pub struct InvalidId {
    kind: &'static str,
    reason: &'static str,
}

impl InvalidId {
    /// The kind of identifier that was asked for, such as `user id`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }
}

/// The most bytes a given identifier may have.
pub const MAX_ID_BYTES: usize = 256;

fn check_given(kind: &'static str, text: &str) -> Result<(), InvalidId> {
    let reason = if text.is_empty() {
        "it is empty"
    } else if text.len() > MAX_ID_BYTES {
        "it is longer than 256 bytes"
    } else if text.chars().any(char::is_control) {
        "it holds a control character"
    } else {
        return Ok(());
    };
    Err(InvalidId { kind, reason })
}

macro_rules! minted {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Makes a new id (UUID version 7: later ids sort after earlier ones).
            #[must_use]
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }

            /// The id as a UUID, for a database column of that type.
            #[must_use]
            pub const fn as_uuid(&self) -> &Uuid {
                &self.0
            }

            /// Takes a UUID that was read from where an id of this kind was stored.
            #[must_use]
            pub const fn from_uuid(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Uuid::parse_str(text).map(Self).map_err(|_| InvalidId { kind: $kind, reason: "it is not a UUID" })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

macro_rules! given {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// Takes a text as an id.
            ///
            /// # Errors
            /// [`InvalidId`] when the text is empty, longer than [`MAX_ID_BYTES`] bytes or holds a control character.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
                let text = text.as_ref();
                check_given($kind, text)?;
                Ok(Self(text.into()))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.as_str())
            }
        }
    };
}

minted!(
    /// Names one conversation (S1).
    SessionId,
    "session id"
);
minted!(
    /// Names one model request and what it answered.
    StepId,
    "step id"
);
minted!(
    /// Names one memory record (R2).
    MemoryId,
    "memory id"
);
minted!(
    /// Names one stored artifact, such as the whole of a truncated tool output (T10).
    ArtifactId,
    "artifact id"
);
given!(
    /// Names one customer of the application: the outermost border between data.
    TenantId,
    "tenant id"
);
given!(
    /// Names one person within a tenant. The same text under two tenants names two people.
    UserId,
    "user id"
);
given!(
    /// Names one tool call, as the model's provider named it. Providers repeat ids: it is unique within a step only.
    CallId,
    "call id"
);
given!(
    /// Names one effect on the world, so that it happens once (T8).
    IdempotencyKey,
    "idempotency key"
);
given!(
    /// Names who holds a lease or a claim: a worker process, for people who read the database.
    HolderId,
    "holder id"
);
given!(
    /// Names a way of counting tokens, such as `o200k_base`; counts of different counters are not mixed.
    CounterId,
    "counter id"
);
given!(
    /// Names a vector space: an embedding model at one dimension. Vectors of different spaces are never compared (R13).
    EmbedderId,
    "embedder id"
);

impl CallId {
    /// Makes a call id where the provider gave none.
    #[must_use]
    pub fn generate() -> Self {
        Self(format!("call_{}", Uuid::now_v7().simple()).into())
    }
}

impl HolderId {
    /// Makes a holder id that no other process has.
    #[must_use]
    pub fn generate() -> Self {
        Self(format!("{}-{}", std::process::id(), Uuid::now_v7().simple()).into())
    }
}

/// Whose data it is: every call to every store says so (`Owner` in the signature, not in the caller's discipline).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The tenant.
    pub tenant: TenantId,
    /// The user within the tenant.
    pub user: UserId,
}

impl Owner {
    /// Joins a tenant and one of its users.
    #[must_use]
    pub fn new(tenant: TenantId, user: UserId) -> Self {
        Self { tenant, user }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.user)
    }
}

/// The place of a message in its session's log, from 1. [`Seq::START`] (0) stands before the first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(u64);

impl Seq {
    /// The place before the first message: the last sequence of an empty log.
    pub const START: Self = Self(0);

    /// Takes a number as a place.
    #[must_use]
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The place as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The next place.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The place `n` further on.
    #[must_use]
    pub const fn plus(self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Seq {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// A number that only grows and tells a writer who lost its lease from the one who has it (S9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FencingToken(u64);

impl FencingToken {
    /// Takes a stored number as a token.
    #[must_use]
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The token as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The token of the next holder.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_ids_refuse_what_a_store_could_not_hold() {
        assert!(UserId::new("").is_err());
        assert!(UserId::new("a\0b").is_err());
        assert!(UserId::new("x".repeat(257)).is_err());
        assert_eq!(UserId::new("丹娜").map(|id| id.to_string()), Ok("丹娜".to_owned()));
    }

    #[test]
    fn ids_read_back_from_their_text_and_json() {
        let id = SessionId::generate();
        assert_eq!(id.to_string().parse(), Ok(id));
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(serde_json::from_str::<SessionId>(&json).unwrap(), id);
        assert!("not-a-uuid".parse::<SessionId>().is_err());
        assert!(serde_json::from_str::<UserId>("\"\"").is_err());
    }

    #[test]
    fn later_sessions_sort_after_earlier_ones() {
        let ids: Vec<_> = (0..100).map(|_| SessionId::generate()).collect();
        assert!(ids.is_sorted());
    }
}
