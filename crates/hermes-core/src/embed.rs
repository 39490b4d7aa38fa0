//! Embeddings: texts as vectors, and what their likeness is worth (R6, R13).

use std::fmt::{self, Debug};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::error::EmbedError;
use crate::id::EmbedderId;

/// A number from 0 to 1 that means the same whoever made it: a confidence or a calibrated likeness.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(try_from = "f32", into = "f32")]
pub struct Score(f32);

/// A number that is no score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a score lies between 0 and 1")]
pub struct InvalidScore;

impl Score {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);
    /// Certainty.
    pub const ONE: Self = Self(1.0);

    /// Takes a number from 0 to 1.
    ///
    /// # Errors
    /// [`InvalidScore`] for a number outside, and for one that is not a number.
    pub fn new(value: f32) -> Result<Self, InvalidScore> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(InvalidScore) }
    }

    /// Takes a number, held between 0 and 1; what is not a number becomes 0.
    #[must_use]
    pub fn clamped(value: f32) -> Self {
        if value.is_nan() { Self::ZERO } else { Self(value.clamp(0.0, 1.0)) }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> f32 {
        self.0
    }
}

impl TryFrom<f32> for Score {
    type Error = InvalidScore;

    fn try_from(value: f32) -> Result<Self, InvalidScore> {
        Self::new(value)
    }
}

impl From<Score> for f32 {
    fn from(score: Score) -> Self {
        score.0
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A vector of unit length, or the zero vector of a text that says nothing to the embedder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f32>", into = "Vec<f32>")]
pub struct Embedding(Vec<f32>);

impl Embedding {
    /// Takes numbers and brings them to unit length; all zeros stay so.
    ///
    /// # Errors
    /// [`EmbedError::NotAVector`] when there are none, or one is not finite.
    pub fn new(mut values: Vec<f32>) -> Result<Self, EmbedError> {
        if values.is_empty() {
            return Err(EmbedError::NotAVector { reason: "it has no numbers" });
        }
        let square: f64 = values.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
        if !square.is_finite() {
            return Err(EmbedError::NotAVector { reason: "a number is not finite" });
        }
        let length = square.sqrt();
        // Numbers of unit length are left as they came, so that what was stored reads back equal.
        if length > 0.0 && (length - 1.0).abs() > 1e-6 {
            for value in &mut values {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a quotient of finite f32 values by their length fits f32"
                )]
                {
                    *value = (f64::from(*value) / length) as f32;
                }
            }
        }
        Ok(Self(values))
    }

    /// The numbers.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// How many numbers it has.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.0.len()
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|value| *value == 0.0)
    }

    /// The cosine of the angle to another, from -1 to 1; 0 with a zero vector. Numbers beyond the shorter one's length count as 0.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        dot(&self.0, &other.0)
    }
}

/// The inner product, in lanes that the compiler turns into vector instructions.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0f32; LANES];
    let (a_lanes, b_lanes) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail = a_lanes.remainder().iter().zip(b_lanes.remainder()).map(|(x, y)| x * y).sum::<f32>();
    if a.len() != b.len() {
        return a.iter().zip(b).map(|(x, y)| x * y).sum();
    }
    for (x, y) in a_lanes.zip(b_lanes) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f32>() + tail
}

impl TryFrom<Vec<f32>> for Embedding {
    type Error = EmbedError;

    fn try_from(values: Vec<f32>) -> Result<Self, EmbedError> {
        Self::new(values)
    }
}

impl From<Embedding> for Vec<f32> {
    fn from(embedding: Embedding) -> Self {
        embedding.0
    }
}

/// Turns a cosine into a score that means the same for every embedder: at 0.45, about 1 of 100 unrelated memories passes.
///
/// Raw cosines do not compare: unrelated texts reach 0.84 with multilingual-e5-small and 0.1 with others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Calibration {
    /// The cosine is the score; below 0 it is 0.
    Identity,
    /// `1 / (1 + exp(-(a · cosine + b)))`.
    Logistic {
        /// The slope.
        a: f32,
        /// The offset.
        b: f32,
    },
    /// Straight lines between points (cosine, score), ascending in cosine; level beyond the ends.
    Piecewise {
        /// The points.
        points: Vec<(f32, f32)>,
    },
}

impl Calibration {
    /// The score of a cosine.
    #[must_use]
    pub fn score(&self, cosine: f32) -> Score {
        match self {
            Self::Identity => Score::clamped(cosine),
            Self::Logistic { a, b } => Score::clamped(1.0 / (1.0 + (-(a * cosine + b)).exp())),
            Self::Piecewise { points } => Score::clamped(piecewise(points, cosine)),
        }
    }
}

fn piecewise(points: &[(f32, f32)], x: f32) -> f32 {
    let mut before: Option<(f32, f32)> = None;
    for &(px, py) in points {
        if x <= px {
            return match before {
                Some((bx, by)) if px > bx => by + (py - by) * (x - bx) / (px - bx),
                _ => py,
            };
        }
        before = Some((px, py));
    }
    before.map_or(0.0, |(_, y)| y)
}

/// What an embedder is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbedderInfo {
    /// The vector space.
    pub id: EmbedderId,
    /// How many numbers its vectors have.
    pub dimension: usize,
    /// What its cosines are worth.
    pub calibration: Calibration,
}

/// What a text is embedded for; some embedders make different vectors of questions and of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To look something up.
    Query,
    /// To be found.
    Passage,
}

/// Turns texts into vectors.
///
/// # Contract
/// - **EM1** `embed` gives one vector for each text, in order, each of the dimension that `info` says; none for none.
/// - **EM2** Vectors have unit length, or are zero.
/// - **EM3** The same text for the same purpose gives the same vector (to 1e-3), alone or among others.
/// - **EM4** Any text is accepted: empty, very long (it may be cut), in any script.
#[async_trait]
pub trait Embedder: Debug + Send + Sync + 'static {
    /// What this embedder is.
    fn info(&self) -> &EmbedderInfo;

    /// Embeds texts.
    ///
    /// # Errors
    /// [`EmbedError`] when the model or service behind it fails.
    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Embedding>, EmbedError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_unit_length() {
        let vector = Embedding::new(vec![3.0, 4.0]).unwrap();
        assert_eq!(vector.as_slice(), [0.6, 0.8]);
        assert!((vector.cosine(&vector) - 1.0).abs() < 1e-6);
        assert!(Embedding::new(vec![0.0; 3]).unwrap().is_zero());
        assert!(Embedding::new(vec![]).is_err());
        assert!(Embedding::new(vec![f32::NAN]).is_err());
    }

    #[test]
    fn the_inner_product_agrees_with_the_plain_sum_at_every_length() {
        for n in 1..70u8 {
            let a: Vec<f32> = (0..n).map(|i| f32::from(i) - 20.0).collect();
            let b: Vec<f32> = (0..n).map(|i| 1.0 / (1.0 + f32::from(i))).collect();
            let plain: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            assert!((dot(&a, &b) - plain).abs() < 1e-3, "{n}");
        }
    }

    #[test]
    fn calibrations_put_the_threshold_where_they_were_fitted() {
        // The bundled embedder's figures: 0.45 lies at cosine 0.449.
        let bundled = Calibration::Logistic { a: 21.4, b: -9.8 };
        assert!((bundled.score(0.449).get() - 0.45).abs() < 0.01);
        let e5 =
            Calibration::Piecewise { points: vec![(0.74, 0.0), (0.81, 0.45), (0.86, 0.70), (0.92, 1.0)] };
        for (cosine, score) in [(0.5, 0.0), (0.74, 0.0), (0.81, 0.45), (0.835, 0.575), (0.95, 1.0)] {
            assert!((e5.score(cosine).get() - score).abs() < 1e-4, "{cosine}");
        }
        assert_eq!(Calibration::Identity.score(-0.3), Score::ZERO);
        assert_eq!(Calibration::Piecewise { points: vec![] }.score(0.9), Score::ZERO);
    }
}
