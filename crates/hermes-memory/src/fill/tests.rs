use hermes_core::{AttributeKey, MemoryRecord, Score};
use hermes_testkit::sample;
use serde_json::json;

use super::*;
use crate::recall::Gate;

fn recalled(content: &str, attribute: Option<&str>, words: &[&str]) -> Recalled {
    let attribute = attribute
        .map(|attribute| AttributeKey { subject: "user".to_owned(), attribute: attribute.to_owned() });
    Recalled {
        record: MemoryRecord { attribute, ..sample::memory(content) },
        score: Score::ONE,
        cosine: Some(1.0),
        lexical: 1.0,
        rank: 1.0,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        gate: Gate::Likeness,
    }
}

fn recall(items: Vec<Recalled>) -> Recall {
    Recall { items, ..Recall::default() }
}

fn restaurant() -> Value {
    json!({"type": "string", "x-hermes-fill": "restaurant"})
}

fn value(items: Vec<Recalled>, property: &Value) -> Option<Value> {
    filling(&recall(items), property).map(|filling| filling.value)
}

#[test]
fn the_quoted_value_of_a_keyed_memory_fills_the_field() {
    let item = recalled("用户常去的川菜馆是「川香阁」", Some("favourite_sichuan_restaurant"), &[]);
    let id = item.record.id;
    let found = filling(&recall(vec![item]), &restaurant());
    assert_eq!(found, Some(Filling { memory: id, value: json!("川香阁") }));
}

#[test]
fn without_a_hint_a_key_or_one_value_nothing_is_filled() {
    let keyed = |content: &str, key: &str| vec![recalled(content, Some(key), &[])];
    let good = || keyed("likes \"Blue Door\"", "restaurant");
    assert!(value(good(), &restaurant()).is_some());
    assert_eq!(value(good(), &json!({"type": "string"})), None, "no hint");
    assert_eq!(
        value(keyed("likes \"Blue Door\"", "favourite_bar"), &restaurant()),
        None,
        "another attribute"
    );
    assert_eq!(value(keyed("likes the Blue Door", "restaurant"), &restaurant()), None, "no span");
    assert_eq!(value(keyed("\"Blue Door\" or \"Red Door\"", "restaurant"), &restaurant()), None, "two spans");
    assert_eq!(value(keyed("likes \"\"", "restaurant"), &restaurant()), None, "an empty span");
    assert_eq!(value(Vec::new(), &restaurant()), None);
}

#[test]
fn a_memory_without_a_key_has_to_name_what_it_is() {
    let of = |content: &str| value(vec![recalled(content, None, &[])], &restaurant());
    assert_eq!(of("The user's restaurant is “Blue Door”."), Some(json!("Blue Door")));
    assert_eq!(of("Favourite restaurant: Blue Door."), Some(json!("Blue Door")));
    assert_eq!(of("Favourite restaurants: Blue Door, Red Door"), None);
    assert_eq!(of("The user's dog is \"Rex\""), None);
    let hint = json!({"x-hermes-fill": ["restaurant", "餐厅"]});
    assert_eq!(value(vec![recalled("常去的餐厅：川香阁。", None, &[])], &hint), Some(json!("川香阁")));
}

#[test]
fn the_value_has_the_fields_type_and_is_allowed() {
    let people = |schema: Value| value(vec![recalled("They are \"4\"", Some("party_size"), &[])], &schema);
    assert_eq!(people(json!({"type": "integer", "x-hermes-fill": "party size"})), Some(json!(4)));
    assert_eq!(people(json!({"type": ["null", "number"], "x-hermes-fill": "party size"})), Some(json!(4.0)));
    assert_eq!(people(json!({"type": "boolean", "x-hermes-fill": "party size"})), None);
    assert_eq!(people(json!({"enum": ["2", "4"], "x-hermes-fill": "party size"})), Some(json!("4")));
    assert_eq!(people(json!({"enum": ["2"], "x-hermes-fill": "party size"})), None);
    let words = value(
        vec![recalled("They are \"four\"", Some("party_size"), &[])],
        &json!({"type": "integer", "x-hermes-fill": "party size"}),
    );
    assert_eq!(words, None);
}

#[test]
fn of_two_values_the_one_that_the_message_means_wins_or_none() {
    let pair = |first: &[&str], second: &[&str]| {
        vec![
            recalled("eats at \"Blue Door\"", Some("favourite_restaurant"), first),
            recalled("eats at \"Chuan\"", Some("sichuan_restaurant"), second),
        ]
    };
    let chuan = Some(json!("Chuan"));
    assert_eq!(value(pair(&["restaurant"], &["restaurant", "sichuan"]), &restaurant()), chuan);
    assert_eq!(value(pair(&["restaurant"], &["restaurant"]), &restaurant()), None);
    assert_eq!(value(pair(&["door"], &["sichuan"]), &restaurant()), None);
    assert_eq!(candidates(&recall(pair(&[], &[])), &restaurant()).len(), 2);
    let same = vec![
        recalled("eats at \"Chuan\"", Some("restaurant"), &[]),
        recalled("booked 「Chuan」", Some("last_restaurant"), &[]),
    ];
    assert_eq!(value(same, &restaurant()), chuan, "two memories of one value agree");
}
