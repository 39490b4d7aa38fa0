//! The vectors of an answer, in the order of their texts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::{EmbedError, Embedding, ModelError};
use serde::Deserialize;

use crate::error::{Complaint, Secrets};

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vector,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Vector {
    Float(Vec<f32>),
    Base64(String),
}

/// Reads `count` vectors of one dimension.
pub(crate) fn read(
    body: &[u8],
    count: usize,
    dimension: usize,
    secrets: &Secrets,
) -> Result<Vec<Embedding>, EmbedError> {
    let bad = |reason: String| EmbedError::Service(ModelError::BadResponse { reason });
    let answer: Answer = match serde_json::from_slice(body) {
        Ok(answer) => answer,
        Err(error) => {
            let complaint = Complaint::within(&secrets.hide(&String::from_utf8_lossy(body)));
            return Err(complaint.map_or_else(
                || bad(error.to_string()),
                |complaint| EmbedError::Service(complaint.into_stream_error()),
            ));
        }
    };
    let mut places: Vec<Option<Embedding>> = vec![None; count];
    for (at, item) in answer.data.into_iter().enumerate() {
        let index = item.index.unwrap_or(at);
        let numbers = match item.embedding {
            Vector::Float(numbers) => numbers,
            Vector::Base64(text) => {
                decode(&text).ok_or_else(|| bad("a vector is no base64 of numbers".to_owned()))?
            }
        };
        if numbers.len() != dimension {
            return Err(EmbedError::Dimension { expected: dimension, actual: numbers.len() });
        }
        match places.get_mut(index) {
            Some(place @ None) => *place = Some(Embedding::new(numbers)?),
            Some(Some(_)) => return Err(bad(format!("there are two vectors with index {index}"))),
            None => return Err(bad(format!("there is a vector with index {index} for {count} texts"))),
        }
    }
    let missing = places.iter().filter(|place| place.is_none()).count();
    if missing > 0 {
        return Err(bad(format!("{missing} of {count} vectors are missing")));
    }
    Ok(places.into_iter().flatten().collect())
}

/// Little-endian numbers of four bytes each.
fn decode(text: &str) -> Option<Vec<f32>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| numbers.iter().copied().map(f32::from_le_bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(body: &str) -> Result<Vec<Vec<f32>>, EmbedError> {
        let made = read(body.as_bytes(), 2, 2, &Secrets::default())?;
        Ok(made.into_iter().map(|vector| vector.as_slice().to_vec()).collect())
    }

    #[test]
    fn vectors_are_put_in_order_of_their_index_and_have_unit_length() {
        let expected = vec![vec![0.6, 0.8], vec![0.0, -1.0]];
        let by_index = r#"{"data":[{"index":1,"embedding":[0,-2]},{"index":0,"embedding":[3,4]}]}"#;
        assert_eq!(vectors(by_index).unwrap(), expected);
        let in_order = r#"{"object":"list","data":[{"embedding":[3,4]},{"embedding":[0,-2]}],"usage":{}}"#;
        assert_eq!(vectors(in_order).unwrap(), expected);
        // 3.0 and 4.0 are 0x40400000 and 0x40800000; -2.0 is 0xC0000000.
        let base64 = r#"{"data":[{"embedding":"AABAQAAAgEA="},{"embedding":"AAAAAAAAAMA="}]}"#;
        assert_eq!(vectors(base64).unwrap(), expected);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        for body in [
            r#"{"data":[{"embedding":[3,4]}]}"#,
            r#"{"data":[{"index":0,"embedding":[3,4]},{"index":0,"embedding":[3,4]}]}"#,
            r#"{"data":[{"index":0,"embedding":[3,4]},{"index":2,"embedding":[3,4]}]}"#,
            r#"{"data":[{"embedding":"AABA"},{"embedding":"AAAA"}]}"#,
            "<html>",
        ] {
            assert!(
                matches!(vectors(body), Err(EmbedError::Service(ModelError::BadResponse { .. }))),
                "{body}"
            );
        }
        let long = r#"{"data":[{"embedding":[1,2,3]},{"embedding":[1,2,3]}]}"#;
        assert!(matches!(vectors(long), Err(EmbedError::Dimension { expected: 2, actual: 3 })));
        let refused = r#"{"error":{"message":"loading","code":503}}"#;
        assert!(matches!(vectors(refused), Err(EmbedError::Service(ModelError::Server { status: 503, .. }))));
    }
}
