use hermes_core::{AttributeKey, MemoryKind};
use hermes_testkit::sample;

use super::*;
use crate::write::fingerprint;

fn said(seconds: i64, content: &str, attribute: Option<&str>) -> MemoryRecord {
    MemoryRecord {
        kind: MemoryKind::Fact,
        fingerprint: fingerprint(MemoryKind::Fact, content),
        valid_from: sample::at(seconds),
        status: MemoryStatus::Active,
        provenance: Vec::new(),
        attribute: attribute
            .map(|attribute| AttributeKey { subject: "user".to_owned(), attribute: attribute.to_owned() }),
        ..sample::memory(content)
    }
}

fn decide(new: &MemoryRecord, old: &MemoryRecord, verdict: Option<Relation>) -> Plan {
    plan(new, &[(old.clone(), verdict)])
}

#[test]
fn likeness_alone_supersedes_nothing() {
    let (spicy, mild) = (said(1, "likes spicy food", None), said(2, "no longer eats spicy food", None));
    assert_eq!(decide(&mild, &spicy, None), Plan::Add);
    assert_eq!(decide(&mild, &spicy, Some(Relation::Unrelated)), Plan::Add);
    assert_eq!(decide(&mild, &spicy, Some(Relation::Contradicts)), Plan::Supersede(vec![spicy.clone()]));
    assert_eq!(decide(&mild, &spicy, Some(Relation::Same)), Plan::Reinforce(Box::new(spicy)));
}

#[test]
fn what_was_said_later_counts() {
    let (old, new) = (said(1, "lives in \"A\"", Some("home")), said(2, "lives in \"B\"", Some("home")));
    assert_eq!(decide(&new, &old, None), Plan::Supersede(vec![old.clone()]));
    assert_eq!(decide(&old, &new, None), Plan::Precede(Box::new(new)));
}

#[test]
fn one_key_with_one_value_is_the_same_memory() {
    let (old, new) = (said(1, "lives in \"A\"", Some("home")), said(2, "has a home in 「a」", Some("home")));
    assert_eq!(decide(&new, &old, None), Plan::Reinforce(Box::new(old.clone())));
    let elsewhere = said(2, "works in \"B\"", Some("work"));
    assert_eq!(decide(&elsewhere, &old, None), Plan::Add);
}

#[test]
fn history_contradicts_nothing() {
    let old = MemoryRecord { status: MemoryStatus::Expired, ..said(1, "lives in \"A\"", Some("home")) };
    let new = said(2, "lives in \"B\"", Some("home"));
    assert_eq!(decide(&new, &old, None), Plan::Add);
}

#[test]
fn all_that_is_contradicted_is_replaced_the_latest_first() {
    let olds = [said(1, "lives in \"A\"", Some("home")), said(3, "lives in \"B\"", Some("home"))];
    let there: Vec<_> = olds.iter().map(|old| (old.clone(), None)).collect();
    let [first, second] = olds;
    assert_eq!(plan(&said(4, "lives in \"C\"", Some("home")), &there), Plan::Supersede(vec![second, first]));
}
