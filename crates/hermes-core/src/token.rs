//! Counting tokens.

use std::fmt::{self, Debug};
use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::id::CounterId;

/// A number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(u32);

impl Tokens {
    /// No tokens.
    pub const ZERO: Self = Self(0);

    /// Takes a number.
    #[must_use]
    pub const fn new(n: u32) -> Self {
        Self(n)
    }

    /// Takes a length, held at `u32::MAX`.
    #[must_use]
    pub fn saturating_from(n: usize) -> Self {
        Self(u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The difference, held at zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A count together with the counter that made it. A count of another counter is not used but made anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCount {
    /// How many.
    pub tokens: Tokens,
    /// By which counter.
    pub counter: CounterId,
}

/// Counts the tokens of a text as a model would (S6).
///
/// # Contract
/// - **TC1** The empty text has no tokens.
/// - **TC2** The same text always has the same count.
/// - **TC3** Text that spells a vocabulary's special token counts as ordinary text; it is user input, not an instruction.
/// - **TC4** Counting never fails and never panics, whatever the text.
pub trait TokenCounter: Debug + Send + Sync + 'static {
    /// The counter's name, kept beside every count it makes.
    fn id(&self) -> &CounterId;

    /// Counts the tokens of a text.
    fn count(&self, text: &str) -> Tokens;
}
