//! The cases of [`Embedder`], clause by clause.

use hermes_core::{Embedder, Embedding, Purpose};

use crate::check::ok;

const TEXTS: [&str; 4] = ["She likes Sichuan food.", "我想吃四川火锅", "The train leaves at nine.", "x"];

async fn embed(clause: &str, embedder: &dyn Embedder, texts: &[&str], purpose: Purpose) -> Vec<Embedding> {
    let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
    let vectors = ok(clause, embedder.embed(&texts, purpose).await);
    assert_eq!(vectors.len(), texts.len(), "{clause}: one vector for each text");
    vectors
}

fn same(clause: &str, a: &Embedding, b: &Embedding, what: &str) {
    let apart = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart < 1e-3, "{clause}: {what}: the vectors are {apart} apart");
}

/// EM1: each text gets a vector of the dimension that `info` says, and no text none.
pub async fn one_vector_for_each_text(embedder: &dyn Embedder) {
    let dimension = embedder.info().dimension;
    assert!(dimension > 0, "EM1: a space has at least one dimension");
    for purpose in [Purpose::Query, Purpose::Passage] {
        assert!(embed("EM1", embedder, &[], purpose).await.is_empty(), "EM1: no text, no vector");
        for n in 1..=TEXTS.len() {
            for vector in embed("EM1", embedder, &TEXTS[..n], purpose).await {
                assert_eq!(vector.dimension(), dimension, "EM1: the dimension of {:?}", embedder.info().id);
            }
        }
    }
}

/// EM1: vectors come in the order of their texts.
pub async fn vectors_come_in_order(embedder: &dyn Embedder) {
    let forward = embed("EM1", embedder, &TEXTS, Purpose::Passage).await;
    let mut reversed = TEXTS;
    reversed.reverse();
    let backward = embed("EM1", embedder, &reversed, Purpose::Passage).await;
    for ((a, b), text) in forward.iter().zip(backward.iter().rev()).zip(TEXTS) {
        same("EM1", a, b, text);
    }
}

/// EM2: vectors have unit length, or are zero.
pub async fn vectors_have_unit_length(embedder: &dyn Embedder) {
    for purpose in [Purpose::Query, Purpose::Passage] {
        for (vector, text) in embed("EM2", embedder, &TEXTS, purpose).await.iter().zip(TEXTS) {
            let square: f32 = vector.as_slice().iter().map(|value| value * value).sum();
            assert!(
                vector.is_zero() || (square - 1.0).abs() < 1e-3,
                "EM2: {text:?} has square length {square}"
            );
        }
    }
}

/// EM3: the same text gives the same vector, again, alone or among others of any length.
pub async fn the_same_text_gives_the_same_vector(embedder: &dyn Embedder) {
    let long = "四川 Sichuan food ".repeat(40);
    let among = [TEXTS[0], &long, TEXTS[1], "", TEXTS[2], TEXTS[3], TEXTS[0]];
    for purpose in [Purpose::Query, Purpose::Passage] {
        let together = embed("EM3", embedder, &among, purpose).await;
        for (vector, text) in together.iter().zip(among) {
            let alone = embed("EM3", embedder, &[text], purpose).await;
            same("EM3", vector, &alone[0], text);
        }
    }
}

/// EM4: any text is accepted: empty, blank, long, in any script, with odd characters.
pub async fn any_text_is_accepted(embedder: &dyn Embedder) {
    let long = "The train to Chengdu leaves at nine. 火车九点开。".repeat(400);
    let unbroken = "x".repeat(5_000);
    let odd = [
        "",
        " \n\t",
        "\0",
        "\u{feff}\u{202e}\u{200d}",
        "\u{1f468}\u{200d}\u{1f469}",
        "שלום مرحبا नमस्ते 안녕",
        &long,
        &unbroken,
    ];
    for purpose in [Purpose::Query, Purpose::Passage] {
        embed("EM4", embedder, &odd, purpose).await;
    }
}

/// EM1, EM3: many texts at once are as good as one by one.
pub async fn many_texts_at_once(embedder: &dyn Embedder) {
    let texts: Vec<_> = (0..100).map(|n| format!("text number {n}")).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let vectors = embed("EM1", embedder, &texts, Purpose::Passage).await;
    for n in [0, 49, 99] {
        let alone = embed("EM3", embedder, &texts[n..=n], Purpose::Passage).await;
        same("EM3", &vectors[n], &alone[0], texts[n]);
    }
}
