//! The embedder through its trait: contract, reference vectors, calibration, retrieval figures.
#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "the helpers of these tests stop at what they do not expect, and count to 300"
)]

mod retrieval;

use std::pin::pin;
use std::task::{Context, Waker};

use hermes_core::{Calibration, Embedder, Embedding, Purpose, Score};
use hermes_embed::LocalEmbedder;
use serde::Deserialize;

/// A fixture of `test_vectors.json`; its pieces are tested beside the code.
#[derive(Deserialize)]
struct Fixture {
    text: String,
    vector: Vec<f32>,
}

async fn embed(texts: &[&str]) -> Vec<Embedding> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    LocalEmbedder::bundled().embed(&texts, Purpose::Passage).await.unwrap()
}

fn near(a: &[f32], b: &[f32], tolerance: f32) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance)
}

/// R14, EM1, EM2.
#[tokio::test]
async fn vectors_equal_the_reference() {
    let fixtures: Vec<Fixture> = serde_json::from_str(include_str!("../data/test_vectors.json")).unwrap();
    let texts: Vec<&str> = fixtures.iter().map(|fixture| fixture.text.as_str()).collect();
    let vectors = embed(&texts).await;
    assert_eq!(vectors.len(), 30);
    for (vector, fixture) in vectors.iter().zip(&fixtures) {
        assert!(near(vector.as_slice(), &fixture.vector, 1e-4), "{:?}", fixture.text);
        assert_eq!(vector.dimension(), LocalEmbedder::bundled().info().dimension);
    }
}

/// EM1.
#[tokio::test]
async fn no_texts_give_no_vectors() {
    assert!(embed(&[]).await.is_empty());
}

/// EM3.
#[tokio::test]
async fn a_text_has_one_vector_alone_among_others_and_for_either_purpose() {
    let texts = ["川菜馆", "Book a table for two", "川菜馆"];
    let together = embed(&texts).await;
    let alone = LocalEmbedder::bundled().embed(&["川菜馆".to_owned()], Purpose::Query).await.unwrap();
    assert_eq!(together.first(), alone.first());
    assert_eq!(together.last(), alone.first());
}

/// EM4: a text of any length is embedded whole, as if its parts were summed.
#[tokio::test]
async fn a_long_text_has_the_vector_of_what_it_repeats() {
    for sentence in ["getWeather for Hangzhou. ", "我們下週三去杭州出差，"] {
        let long = sentence.repeat(20_000);
        let vectors = embed(&[sentence, &long]).await;
        let [short, long] = vectors.as_slice() else { unreachable!() };
        assert!(near(short.as_slice(), long.as_slice(), 1e-5), "{sentence:?}");
    }
}

/// EM4: neither a word without an end nor a text without a word.
#[tokio::test]
async fn a_long_text_of_one_word_is_embedded() {
    let texts = ["a".repeat(100_000), "我".repeat(50_000), "🎉".repeat(50_000)];
    let vectors = LocalEmbedder::bundled().embed(&texts, Purpose::Passage).await.unwrap();
    let zero: Vec<bool> = vectors.iter().map(Embedding::is_zero).collect();
    assert_eq!(zero, [false, false, true]);
}

/// The future gives way between parts of 4 KiB and not within a small batch.
#[test]
fn large_batches_give_other_tasks_a_turn() {
    fn turns(texts: &[String]) -> usize {
        let embedder = LocalEmbedder::bundled();
        let mut future = pin!(embedder.embed(texts, Purpose::Passage));
        let mut context = Context::from_waker(Waker::noop());
        let mut turns = 1;
        while future.as_mut().poll(&mut context).is_pending() {
            turns += 1;
        }
        turns
    }
    let kilobyte = "0123456 ".repeat(128);
    assert_eq!(turns(&[]), 1);
    assert_eq!(turns(&vec![kilobyte.clone(); 3]), 1);
    assert_eq!(turns(&vec![kilobyte.clone(); 5]), 2);
    assert_eq!(turns(&[kilobyte.repeat(64)]), 17);
    assert!(turns(&vec![String::new(); 10_000]) > 10, "empty texts are work as well");
}

/// R6: the figures of the model's file, and where its threshold lies.
#[test]
fn the_calibration_puts_the_threshold_at_cosine_0_449() {
    let embedder = LocalEmbedder::bundled();
    let calibration = &embedder.info().calibration;
    assert_eq!(*calibration, Calibration::Logistic { a: 21.4, b: -9.8 });
    assert!((calibration.score(0.449).get() - 0.45).abs() < 0.005);
    // The cosine at which the score is 0.45, by the inverse of the curve.
    let cosine = ((0.45_f32 / 0.55).ln() + 9.8) / 21.4;
    assert!((cosine - 0.449).abs() < 0.001, "{cosine}");
    assert!(calibration.score(cosine + 0.001) > Score::new(0.45).unwrap());
    assert!(calibration.score(cosine - 0.001) < Score::new(0.45).unwrap());
}

/// R13: stored vectors are told apart by this name, so it must not change while the data and the cutting stay.
#[test]
fn the_space_has_a_fixed_name() {
    assert_eq!(LocalEmbedder::bundled().info().id.as_str(), "hermes-static-en-zh-v1-256");
}

#[test]
fn embedders_are_shared_between_threads() {
    fn check<T: Clone + Send + Sync + 'static>() {}
    check::<LocalEmbedder>();
}
