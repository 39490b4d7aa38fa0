//! The embedder.

use std::sync::LazyLock;

use hermes_core::{
    Calibration, EmbedError, Embedder, EmbedderId, EmbedderInfo, Embedding, Purpose, async_trait,
};

use crate::bundle::{self, MODEL, Sum};
use crate::pace::{PART_BYTES, Pace, TEXT_BYTES};
use crate::tokenize::parts;

/// The vector space of the bundled table. Another table, dimension or tokenizer needs another name (R13).
const ID: &str = "hermes-static-en-zh-v1-256";

static INFO: LazyLock<EmbedderInfo> = LazyLock::new(|| {
    let (a, b) = MODEL.calibration();
    EmbedderInfo { id: space(), dimension: MODEL.dimension(), calibration: Calibration::Logistic { a, b } }
});

#[expect(clippy::expect_used, reason = "a constant that is a valid id; every test that asks for it shows so")]
fn space() -> EmbedderId {
    EmbedderId::new(ID).expect("a short text without control characters")
}

/// The bundled embedder for English and Chinese (R14).
///
/// It has no state of its own: making and copying it costs nothing, and all copies share the data compiled into the
/// program. Queries and passages are embedded alike.
///
/// Embedding is arithmetic on the calling thread, some microseconds for a sentence. A call gives other tasks a turn
/// after every 4 KiB of text, so that a large batch or a long text does not hold up an async runtime. Texts are not
/// cut: the time grows with their length. Dropping the future ends the work at the next such turn.
///
/// ```
/// use hermes_core::{Embedder, Purpose};
/// use hermes_embed::LocalEmbedder;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let embedder = LocalEmbedder::bundled();
/// let texts = ["最喜欢的川菜馆".to_owned(), "my favourite Sichuan restaurant".to_owned()];
/// let vectors = embedder.embed(&texts, Purpose::Passage).await?;
/// let [chinese, english] = vectors.as_slice() else { unreachable!() };
///
/// let score = embedder.info().calibration.score(chinese.cosine(english));
/// assert!(score.get() > 0.45, "a text and its translation are near");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LocalEmbedder(());

impl LocalEmbedder {
    /// The embedder of the data in this crate.
    ///
    /// The first embedding in a process builds the vocabulary's lookup, see [`warm`](Self::warm).
    #[must_use]
    pub const fn bundled() -> Self {
        Self(())
    }

    /// Builds the lookup of the vocabulary now, if nothing was embedded yet in this process: about 5 ms and 2 MB. The
    /// vectors are used where they lie in the program.
    pub fn warm(self) {
        bundle::warm();
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &INFO
    }

    async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        let mut embeddings = Vec::with_capacity(texts.len());
        let mut pace = Pace::default();
        for text in texts {
            pace.spend(TEXT_BYTES).await;
            let mut sum = Sum::new();
            for part in parts(text, PART_BYTES) {
                pace.spend(part.len()).await;
                sum.add(part);
            }
            embeddings.push(sum.into_embedding()?);
        }
        Ok(embeddings)
    }
}
