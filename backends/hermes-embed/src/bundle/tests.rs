//! The bundled data against the values that came with them, and the properties of every text.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Vector {
    text: String,
    tokens: Vec<String>,
    ids: Vec<u32>,
    vector: Vec<f32>,
}

fn vectors() -> Vec<Vector> {
    serde_json::from_str(include_str!("../../tests/data/test_vectors.json")).unwrap()
}

fn ids(text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    pieces(text, |id| ids.push(id));
    ids
}

fn embed(text: &str) -> Vec<f32> {
    let mut sum = Sum::new();
    sum.add(text);
    sum.into_embedding().unwrap().as_slice().to_vec()
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|x| x * x).sum::<f32>().sqrt()
}

#[test]
fn files_belong_together() {
    assert_eq!(MODEL.rows(), 44_000);
    assert_eq!(MODEL.dimension(), 256);
    assert_eq!(PIECES.vocabulary.len(), MODEL.rows());
    assert_eq!(PIECES.simplified.len(), 2_108);
    assert_eq!(MODEL.calibration(), (21.4, -9.8));
}

#[test]
fn every_row_is_a_short_vector() {
    for id in 0..44_000 {
        let mut sum = Sum::new();
        MODEL.add(id, &mut sum.0);
        let length = sum.0.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(length > 0.0 && length < 10.0, "piece {id} has length {length}");
    }
}

#[test]
fn pieces_equal_the_reference() {
    let lines: Vec<&str> = include_str!("../../data/vocab.txt").lines().collect();
    let vectors = vectors();
    assert_eq!(vectors.len(), 30);
    for expected in vectors {
        let ids = ids(&expected.text);
        let tokens: Vec<&str> = ids.iter().map(|&id| lines[usize::try_from(id).unwrap()]).collect();
        assert_eq!(tokens, expected.tokens, "{:?}", expected.text);
        assert_eq!(ids, expected.ids, "{:?}", expected.text);
    }
}

#[test]
fn vectors_equal_the_reference() {
    for expected in vectors() {
        let vector = embed(&expected.text);
        assert_eq!(vector.len(), expected.vector.len());
        for (place, (ours, theirs)) in vector.iter().zip(&expected.vector).enumerate() {
            assert!(
                (ours - theirs).abs() <= 1e-4,
                "{:?}, dimension {place}: {ours} and not {theirs}",
                expected.text
            );
        }
    }
}

#[test]
fn a_text_without_pieces_is_the_zero_vector() {
    for text in ["", " \n\t", "😀🎉", "русский", "__--__"] {
        assert_eq!(embed(text), vec![0.0; 256], "{text:?}");
    }
}

/// Latin words, Chinese in both scripts, capitals, accents, separators, other scripts.
fn mixed_text() -> impl Strategy<Value = String> {
    "([a-zA-Z0-9 _.,]{0,12}|[一-龥]{0,6}|[，。！、　]|[À-ÿ]{0,4}|[\u{300}-\u{310}]{0,2}|[ａ-ｚ０-９]{0,3}|[а-я가-하ぁ-ん]{0,3}){0,12}"
}

proptest! {
    #[test]
    fn any_text_has_unit_length_or_none(text in any::<String>()) {
        let length = length(&embed(&text));
        prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-4, "length {}", length);
    }

    #[test]
    fn mixed_text_has_unit_length_or_none(text in mixed_text()) {
        let length = length(&embed(&text));
        prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-4, "length {}", length);
        prop_assert_eq!(length == 0.0, ids(&text).is_empty());
    }

    #[test]
    fn parts_make_up_the_text(text in any::<String>(), limit in 0_usize..40) {
        let parts: Vec<&str> = tokenize::parts(&text, limit).collect();
        prop_assert_eq!(parts.concat(), text.as_str());
        prop_assert!(parts.iter().all(|part| part.len() <= limit.max(1) || part.chars().count() == 1));
    }

    #[test]
    fn parts_that_end_at_separators_have_the_pieces_of_the_whole(text in mixed_text(), limit in 4_usize..60) {
        let parts: Vec<&str> = tokenize::parts(&text, limit).collect();
        let (_, inner) = parts.split_last().unwrap_or((&"", &[]));
        // Where a part had no separator it was cut between any two characters, and words may be divided.
        prop_assume!(inner.iter().all(|part| part.ends_with([' ', '_', '.', ',', '，', '。', '！', '、', '　'])));
        let joined: Vec<u32> = parts.iter().flat_map(|part| ids(part)).collect();
        prop_assert_eq!(joined, ids(&text));
    }
}
