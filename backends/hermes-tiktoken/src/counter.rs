//! The counter.

use std::fmt;
use std::sync::LazyLock;

use hermes_core::{CounterId, TokenCounter, Tokens};
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

use crate::model;
use crate::part::{PART_BYTES, parts};

/// What an estimate adds, in percent of the o200k_base count. Vocabularies of other makers differ from o200k_base by
/// language and kind of text; a quarter is room for most, not a bound for all.
const MARGIN_PERCENT: u32 = 25;

static O200K: LazyLock<CounterId> = LazyLock::new(|| counter_id("o200k_base"));
static CL100K: LazyLock<CounterId> = LazyLock::new(|| counter_id("cl100k_base"));
static ESTIMATE: LazyLock<CounterId> = LazyLock::new(|| counter_id(&format!("o200k_base+{MARGIN_PERCENT}%")));

#[expect(
    clippy::expect_used,
    reason = "called with the three constants above only, and a test asks for each"
)]
fn counter_id(text: &str) -> CounterId {
    CounterId::new(text).expect("a short text without control characters")
}

/// A vocabulary of byte-pair pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Vocabulary {
    O200k,
    Cl100k,
}

impl Vocabulary {
    /// The encoder, made by the first call in the process.
    fn encoder(self) -> &'static CoreBPE {
        match self {
            Self::O200k => o200k_base_singleton(),
            Self::Cl100k => cl100k_base_singleton(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Exact(Vocabulary),
    Estimate,
}

/// Counts tokens with OpenAI's vocabularies (S6).
///
/// Making, copying and holding a counter costs nothing; the first *count* in a process builds the vocabulary, see
/// [`warm`](Self::warm).
///
/// ```
/// use hermes_core::{TokenCounter, Tokens};
/// use hermes_tiktoken::TiktokenCounter;
///
/// let counter = TiktokenCounter::o200k();
/// assert_eq!(counter.count("你好世界"), Tokens::new(2));
/// assert_eq!(counter.id().as_str(), "o200k_base");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TiktokenCounter(Kind);

impl TiktokenCounter {
    /// The vocabulary `o200k_base`: GPT-4o, GPT-4.1, GPT-5, the o series, gpt-oss.
    #[must_use]
    pub const fn o200k() -> Self {
        Self(Kind::Exact(Vocabulary::O200k))
    }

    /// The vocabulary `cl100k_base`: GPT-4, GPT-3.5, and the `text-embedding-3` models.
    #[must_use]
    pub const fn cl100k() -> Self {
        Self(Kind::Exact(Vocabulary::Cl100k))
    }

    /// For models whose vocabulary is not here: the `o200k_base` count and a quarter more, rounded up.
    ///
    /// It errs on the safe side for most texts, so that a budget kept by it holds. The id, `o200k_base+25%`, says that
    /// it is an estimate.
    #[must_use]
    pub const fn estimate() -> Self {
        Self(Kind::Estimate)
    }

    /// The exact counter of a model, or `None` if its vocabulary is not one of the two.
    ///
    /// Dated, fine-tuned (`ft:gpt-4o:…`) and routed (`openai/gpt-4o`) names are understood.
    ///
    /// ```
    /// use hermes_tiktoken::TiktokenCounter;
    ///
    /// assert_eq!(TiktokenCounter::for_model("gpt-4o-2024-08-06"), Some(TiktokenCounter::o200k()));
    ///
    /// let other = TiktokenCounter::for_model("qwen3-32b").unwrap_or_else(TiktokenCounter::estimate);
    /// assert_eq!(other, TiktokenCounter::estimate());
    /// ```
    #[must_use]
    pub fn for_model(model: &str) -> Option<Self> {
        Some(Self(Kind::Exact(model::vocabulary(model)?)))
    }

    /// Builds the vocabulary now, if no counter of it has counted yet in this process.
    ///
    /// That takes about 0.3 s and 45 MB for `o200k_base`, 0.05 s and 23 MB for `cl100k_base` (optimised build), and is
    /// what the first count would do otherwise. In an async program call it at start on a thread that may block, such
    /// as Tokio's `spawn_blocking`. It is safe to call from several threads: one builds, the others wait.
    pub fn warm(self) {
        self.vocabulary().encoder();
    }

    const fn vocabulary(self) -> Vocabulary {
        match self.0 {
            Kind::Exact(vocabulary) => vocabulary,
            Kind::Estimate => Vocabulary::O200k,
        }
    }
}

impl fmt::Debug for TiktokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TiktokenCounter").field(self.id()).finish()
    }
}

impl TokenCounter for TiktokenCounter {
    fn id(&self) -> &CounterId {
        match self.0 {
            Kind::Exact(Vocabulary::O200k) => &O200K,
            Kind::Exact(Vocabulary::Cl100k) => &CL100K,
            Kind::Estimate => &ESTIMATE,
        }
    }

    fn count(&self, text: &str) -> Tokens {
        let encoder = self.vocabulary().encoder();
        // `count_ordinary` knows no special tokens: what spells one is ordinary text (TC3).
        let exact = parts(text, PART_BYTES).map(|part| encoder.count_ordinary(part)).sum::<usize>();
        match self.0 {
            Kind::Exact(_) => Tokens::saturating_from(exact),
            Kind::Estimate => with_margin(Tokens::saturating_from(exact)),
        }
    }
}

fn with_margin(tokens: Tokens) -> Tokens {
    let exact = tokens.get();
    let margin = u64::from(exact) * u64::from(MARGIN_PERCENT);
    Tokens::new(exact.saturating_add(u32::try_from(margin.div_ceil(100)).unwrap_or(u32::MAX)))
}
