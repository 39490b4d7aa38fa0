//! Which vocabulary a model reads with.

use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};

use crate::counter::Vocabulary;

/// The vocabulary of a model that the tokenizer's own table knows, if it is one of the two of this crate.
///
/// A routed name counts by its last part (`openai/gpt-4o`).
pub(crate) fn vocabulary(model: &str) -> Option<Vocabulary> {
    let name = model.rsplit('/').next().unwrap_or(model);
    match get_tokenizer(name)? {
        // Harmony is o200k_base with more special tokens, and special tokens are never counted as such here.
        Tokenizer::O200kBase | Tokenizer::O200kHarmony => Some(Vocabulary::O200k),
        Tokenizer::Cl100kBase => Some(Vocabulary::Cl100k),
        Tokenizer::P50kBase | Tokenizer::P50kEdit | Tokenizer::R50kBase | Tokenizer::Gpt2 => None,
    }
}
