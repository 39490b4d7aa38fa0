//! The bundled data and the vector of a text.

use std::sync::LazyLock;

use hermes_core::{EmbedError, Embedding};

use crate::model::Model;
use crate::tokenize;
use crate::vocab::{Simplified, Vocabulary};

/// The bundled table. It is evaluated at compile time: with a damaged data file the crate does not compile, and no
/// error is left for run time.
pub(crate) static MODEL: Model<'static> = match Model::parse(include_bytes!("../data/model.bin")) {
    Ok(model) => model,
    Err(_) => panic!("data/model.bin is not an embedding model"),
};

static PIECES: LazyLock<Pieces> = LazyLock::new(|| Pieces {
    vocabulary: Vocabulary::parse(include_str!("../data/vocab.txt")),
    simplified: Simplified::parse(include_str!("../data/t2s.txt")),
});

#[derive(Debug)]
struct Pieces {
    vocabulary: Vocabulary<'static>,
    simplified: Simplified,
}

/// Builds the lookups, if they are not built yet.
pub(crate) fn warm() {
    LazyLock::force(&PIECES);
}

/// Calls `found` with the id of each piece of `text`, in order.
pub(crate) fn pieces(text: &str, found: impl FnMut(u32)) {
    tokenize::pieces(text, &PIECES.vocabulary, &PIECES.simplified, found);
}

/// The growing sum of a text's piece vectors.
///
/// It is kept in `f64`, so that a text of any length is summed without visible rounding.
#[derive(Debug)]
pub(crate) struct Sum(Vec<f64>);

impl Sum {
    pub(crate) fn new() -> Self {
        Self(vec![0.0; MODEL.dimension()])
    }

    pub(crate) fn add(&mut self, text: &str) {
        pieces(text, |id| MODEL.add(id, &mut self.0));
    }

    /// The vector of the text: the sum at unit length, or zero if the text had no piece.
    pub(crate) fn into_embedding(self) -> Result<Embedding, EmbedError> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounded, not cut: a sum of piece vectors, each shorter than 10, is far from the ends of f32"
        )]
        let values = self.0.into_iter().map(|value| value as f32).collect();
        Embedding::new(values)
    }
}

#[cfg(test)]
mod tests;
