use super::*;

#[test]
fn every_pattern_compiles() {
    for pattern in [&LIKES, &PASSES] {
        assert!(pattern.is_some());
    }
}

#[test]
fn a_mention_without_a_liking_is_passing() {
    assert!(only_mentioned("I went to Rome last year", "I went to Rome last year"));
    assert!(!only_mentioned("I went to Rome and loved it, I love Rome", "…"));
    assert!(!only_mentioned("上次去过成都", "上次去过成都，我最爱那里的火锅"));
    assert!(!only_mentioned("I live in Rome", "I live in Rome"), "not passing at all");
}

#[test]
fn clauses_end_at_the_punctuation_of_both_languages() {
    let text = "订单 O-9 已发货，优惠码 A-1。Next, version 1.5 ships. Done";
    assert_eq!(clauses(text), ["订单 O-9 已发货", "优惠码 A-1", "Next", "version 1.5 ships", "Done"]);
    assert_eq!(clauses("Shipped! See https://a.b/?c; bye"), ["Shipped", "See https://a.b/?c", "bye"]);
    assert_eq!(
        parts("code A-1 (bank: B) and price 以及电话").collect::<Vec<_>>(),
        ["code A-1", "bank: B", "price", "电话"]
    );
}
