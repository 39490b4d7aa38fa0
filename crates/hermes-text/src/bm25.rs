//! BM25: how well documents, given as lists of terms, answer a query.
//!
//! The formula is that of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009),
//! with the inverse document frequency `ln(1 + (N - n + 0.5) / (n + 0.5))` that Lucene uses, which is never negative.

use std::collections::HashMap;

/// The two settings of BM25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// How soon repeating a term stops helping; Robertson and Zaragoza give 1.2 to 2, Lucene uses 1.2.
    pub k1: f32,
    /// How much a long document is discounted, 0 to 1; they give 0.5 to 0.8, Lucene uses 0.75.
    pub b: f32,
}

impl Default for Parameters {
    /// `k1` = 1.2, `b` = 0.75: Lucene's defaults, inside the range of the paper.
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

/// An index over a fixed set of documents.
///
/// ```
/// use hermes_text::{Bm25, rank_terms};
///
/// let index = Bm25::new(["She likes hiking.", "He cooks Sichuan food.", "我喜欢川菜"].map(rank_terms));
/// let scores = index.score(&rank_terms("Sichuan cooking"));
/// assert!(scores[1] > 0.0);
/// assert_eq!((scores[0], scores[2]), (0.0, 0.0));
/// ```
#[derive(Debug, Clone)]
pub struct Bm25 {
    documents: usize,
    /// For each term the documents that have it, with what it adds to their score.
    postings: HashMap<String, Vec<(usize, f32)>>,
}

impl Bm25 {
    /// An index with the default [`Parameters`]; documents are numbered from 0 in the order given.
    #[must_use]
    pub fn new<D>(documents: impl IntoIterator<Item = D>) -> Self
    where
        D: IntoIterator<Item: Into<String>>,
    {
        Self::with_parameters(documents, Parameters::default())
    }

    /// An index with other [`Parameters`].
    #[must_use]
    pub fn with_parameters<D>(documents: impl IntoIterator<Item = D>, parameters: Parameters) -> Self
    where
        D: IntoIterator<Item: Into<String>>,
    {
        let Parameters { k1, b } = parameters;
        let mut postings: HashMap<String, Vec<(usize, f32)>> = HashMap::new();
        let mut lengths: Vec<f32> = Vec::new();
        for (number, document) in documents.into_iter().enumerate() {
            let mut length = 0.0;
            for term in document {
                length += 1.0;
                let list = postings.entry(term.into()).or_default();
                match list.last_mut() {
                    Some((last, count)) if *last == number => *count += 1.0,
                    _ => list.push((number, 1.0)),
                }
            }
            lengths.push(length);
        }
        let total = lengths.len() as f32;
        let average = (lengths.iter().sum::<f32>() / total).max(f32::MIN_POSITIVE);
        for list in postings.values_mut() {
            let having = list.len() as f32;
            let rarity = (1.0 + (total - having + 0.5) / (having + 0.5)).ln();
            for (number, weight) in list {
                let length = lengths.get(*number).copied().unwrap_or(average);
                let count = *weight;
                *weight = rarity * count * (k1 + 1.0) / (count + k1 * (1.0 - b + b * length / average));
            }
        }
        Self { documents: lengths.len(), postings }
    }

    /// The score of every document, in their order: 0 where no term of the query occurs, otherwise positive and without
    /// an upper bound. A term that the query repeats counts as often.
    #[must_use]
    pub fn score(&self, query: &[impl AsRef<str>]) -> Vec<f32> {
        let mut scores = vec![0.0; self.documents];
        for term in query {
            for &(number, weight) in self.postings.get(term.as_ref()).into_iter().flatten() {
                if let Some(score) = scores.get_mut(number) {
                    *score += weight;
                }
            }
        }
        scores
    }

    /// How many documents the index holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents
    }

    /// Whether the index holds no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Bm25, Parameters};

    fn words(text: &str) -> Vec<&str> {
        text.split(' ').collect()
    }

    #[test]
    fn scores_follow_the_formula() {
        // Worked by hand: N = 2, "a" in both (n = 2), "b" in the first; lengths 2 and 4, average 3.
        let index = Bm25::new([words("a b"), words("a a c c")]);
        let idf_a = (1.0_f32 + 0.5 / 2.5).ln();
        let idf_b = (1.0_f32 + 1.5 / 1.5).ln();
        let first = (idf_a + idf_b) * 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * 2.0 / 3.0));
        let second = idf_a * 2.0 * 2.2 / (2.0 + 1.2 * (0.25 + 0.75 * 4.0 / 3.0));
        let scores = index.score(&["a", "b", "unknown"]);
        assert!((scores[0] - first).abs() < 1e-6 && (scores[1] - second).abs() < 1e-6, "{scores:?}");
    }

    #[test]
    fn rare_terms_short_documents_and_repetition_count_more() {
        let index = Bm25::new([words("cat dog"), words("cat bird"), words("cat cat"), words("cat x y z")]);
        let scores = index.score(&["dog"]);
        assert!(scores[0] > 0.0 && scores[1] == 0.0);
        let scores = index.score(&["cat"]);
        assert!(scores[2] > scores[0] && scores[0] > scores[3]);
        assert!(index.score(&["dog"])[0] > scores[0]);
    }

    #[test]
    fn without_documents_or_terms_nothing_is_divided_by_zero() {
        let none = Bm25::new(Vec::<Vec<String>>::new());
        assert!(none.is_empty() && none.score(&["a"]).is_empty());
        let blank = Bm25::new([Vec::<String>::new(), vec!["a".to_owned()]]);
        assert_eq!(blank.len(), 2);
        assert!(blank.score(&["a"]).iter().all(|score| score.is_finite()));
        let flat = Bm25::with_parameters([words("a"), words("a b c")], Parameters { k1: 1.2, b: 0.0 });
        let scores = flat.score(&["a"]);
        assert!((scores[0] - scores[1]).abs() < 1e-6, "b = 0 ignores length");
    }
}
