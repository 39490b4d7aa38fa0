//! An embedder without a model: texts that share words are alike.

use hermes_core::{
    Calibration, EmbedError, Embedder, EmbedderId, EmbedderInfo, Embedding, Purpose, async_trait,
};

/// Embeds a text as the hashed counts of its words (and of its Han characters, singly and in pairs): the same everywhere
/// and always. Texts without a common word are nearly orthogonal; a text without words has the zero vector.
#[derive(Debug, Clone)]
pub struct HashEmbedder(EmbedderInfo);

impl HashEmbedder {
    /// An embedder of 256 numbers.
    #[must_use]
    pub fn new() -> Self {
        Self::with_dimension(256)
    }

    /// An embedder of so many numbers, with a space of its own.
    ///
    /// # Panics
    /// For dimension 0.
    #[must_use]
    pub fn with_dimension(dimension: usize) -> Self {
        assert!(dimension > 0, "a vector has at least one number");
        let id = EmbedderId::new(format!("hash@{dimension}")).expect("a valid id");
        Self(EmbedderInfo { id, dimension, calibration: Calibration::Identity })
    }

    /// The vector of a text, without asking through the trait.
    ///
    /// # Panics
    /// Never: counts are finite.
    #[must_use]
    pub fn vector(&self, text: &str) -> Embedding {
        let mut counts = vec![0.0f32; self.0.dimension];
        for term in terms(text) {
            let hash = fnv1a(term.as_bytes());
            let dimension = u64::try_from(counts.len()).expect("a length fits");
            let place = usize::try_from(hash % dimension).expect("it is below a length");
            // The sign keeps texts that meet in a place by chance from looking alike on the whole.
            counts[place] += if hash >> 63 == 0 { 1.0 } else { -1.0 };
        }
        Embedding::new(counts).expect("counts are finite")
    }
}

impl Default for HashEmbedder {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Embedder for HashEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.0
    }

    async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let han: Vec<char> = word.chars().filter(|c| ('\u{3400}'..='\u{9fff}').contains(c)).collect();
        terms.extend(han.iter().map(char::to_string));
        terms.extend(han.windows(2).map(|pair| pair.iter().collect()));
        let rest: String = word.chars().filter(|c| !han.contains(c)).collect();
        if !rest.is_empty() {
            terms.push(rest.to_lowercase());
        }
    }
    terms
}

/// FNV-1a with a final mix (the constants of FNV's and `MurmurHash3`'s authors), so that all bits depend on all bytes.
fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_make_texts_alike_in_both_scripts() {
        let embedder = HashEmbedder::new();
        let like = |a: &str, b: &str| embedder.vector(a).cosine(&embedder.vector(b));
        assert!(like("I like Sichuan food", "Sichuan food, please") > 0.5);
        assert!(like("我喜欢四川菜", "四川菜馆") > 0.4);
        assert!(like("I like Sichuan food", "the train leaves at nine").abs() < 0.3);
        assert!(embedder.vector(" …!").is_zero());
    }
}
