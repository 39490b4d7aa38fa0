//! The key of an effect: what makes two calls the same (T8).

use hermes_core::{CallContext, CallId, IdempotencyKey, KeyRule, KeyScope, Owner, Seq, SessionId, StepId};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// Where a call stands: what a key may reach over.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The session.
    pub session: SessionId,
    /// The first message of the turn.
    pub turn: Seq,
    /// The model's step.
    pub step: StepId,
    /// The call.
    pub call: &'a CallId,
}

impl<'a> From<&'a CallContext> for Place<'a> {
    fn from(context: &'a CallContext) -> Self {
        Self { session: context.session, turn: context.turn, step: context.step, call: &context.call }
    }
}

/// The key of a call, by the rule of its tool: SHA-256 over the canonical JSON (RFC 8785) of owner, scope, tool and arguments.
///
/// A rule that counts some arguments only is meant for calls that have them: a call with none of them gets the key of the default
/// rule, since otherwise all such calls would be one.
///
/// # Errors
/// When the arguments are nested too deep to have a canonical form.
pub fn key_of(
    rule: &KeyRule,
    owner: &Owner,
    place: Place<'_>,
    tool: &str,
    arguments: &Value,
) -> Result<IdempotencyKey, hermes_text::CanonicalError> {
    let picked =
        rule.arguments.as_ref().map(|pointers| pick(pointers, arguments)).filter(|picked| !picked.is_empty());
    let (scope, arguments) = match (picked, &rule.arguments) {
        (Some(picked), _) => (rule.scope, Value::Object(picked)),
        (None, Some(_)) => (KeyScope::Turn, arguments.clone()),
        (None, None) => (rule.scope, arguments.clone()),
    };
    let Place { session, turn, step, call } = place;
    let place = match scope {
        KeyScope::Call => json!([session.to_string(), step.to_string(), call.as_str()]),
        KeyScope::Turn => json!([session.to_string(), turn.get()]),
        KeyScope::Session => json!([session.to_string()]),
        KeyScope::User => json!([]),
    };
    let whole = json!([owner.tenant.as_str(), owner.user.as_str(), place, tool, arguments]);
    let digest = Sha256::digest(hermes_text::canonical(&whole)?);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    // Letters and digits only: always a legal key.
    IdempotencyKey::new(format!("h1-{hex}"))
        .map_err(|error| hermes_text::CanonicalError::Serialize(serde::de::Error::custom(error)))
}

fn pick(pointers: &[String], arguments: &Value) -> Map<String, Value> {
    let given = |pointer: &String| Some((pointer.clone(), arguments.pointer(pointer)?.clone()));
    pointers.iter().filter_map(given).collect()
}

#[cfg(test)]
mod tests {
    use hermes_core::{TenantId, UserId};
    use proptest::prelude::*;

    use super::*;

    fn owner(user: &str) -> Owner {
        Owner::new(TenantId::new("t").unwrap(), UserId::new(user).unwrap())
    }

    fn key(rule: &KeyRule, turn: u64, arguments: &Value) -> IdempotencyKey {
        key_of(rule, &owner("u"), place(turn, &CallId::new("k1").unwrap()), "pay", arguments).unwrap()
    }

    fn place(turn: u64, call: &CallId) -> Place<'_> {
        let step = "01890000-0000-7000-8000-000000000002".parse().unwrap();
        Place { session: session(), turn: Seq::new(turn), step, call }
    }

    fn session() -> SessionId {
        "01890000-0000-7000-8000-000000000001".parse().unwrap()
    }

    #[test]
    fn the_default_key_is_what_the_requirement_says() {
        let expected = Sha256::digest(
            r#"["t","u",["01890000-0000-7000-8000-000000000001",7],"pay",{"amount":5,"to":"李雷"}]"#,
        );
        let hex: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        let made = key(&KeyRule::default(), 7, &json!({ "to": "李雷", "amount": 5.0 }));
        assert_eq!(made.as_str(), format!("h1-{hex}"));
    }

    #[test]
    fn a_repeat_in_the_turn_is_the_same_and_a_wish_in_a_later_turn_is_not() {
        let arguments = json!({ "n": 1 });
        let rule = KeyRule::default();
        assert_eq!(key(&rule, 1, &arguments), key(&rule, 1, &json!({ "n": 1.0 })));
        assert_ne!(key(&rule, 1, &arguments), key(&rule, 2, &arguments));
        let wide = KeyRule { scope: KeyScope::Session, arguments: None };
        assert_eq!(key(&wide, 1, &arguments), key(&wide, 2, &arguments));
        let (one, two) = (CallId::new("k1").unwrap(), CallId::new("k2").unwrap());
        let other = key_of(&rule, &owner("v"), place(1, &one), "pay", &arguments).unwrap();
        assert_ne!(other, key(&rule, 1, &arguments));
        let alone = KeyRule { scope: KeyScope::Call, arguments: None };
        let of = |call| key_of(&alone, &owner("u"), place(1, call), "pay", &arguments).unwrap();
        assert_eq!(of(&one), of(&one));
        assert_ne!(of(&one), of(&two));
    }

    #[test]
    fn a_rule_counts_some_arguments_and_never_none() {
        let rule = KeyRule { scope: KeyScope::User, arguments: Some(vec!["/order/number".to_owned()]) };
        let order = |number: &str, note: &str| json!({ "order": { "number": number }, "note": note });
        assert_eq!(key(&rule, 1, &order("A1", "x")), key(&rule, 9, &order("A1", "y")));
        assert_ne!(key(&rule, 1, &order("A1", "x")), key(&rule, 1, &order("A2", "x")));
        assert_ne!(key(&rule, 1, &json!({ "note": "x" })), key(&rule, 1, &json!({ "note": "y" })));
        assert_ne!(key(&rule, 1, &json!({ "note": "x" })), key(&rule, 2, &json!({ "note": "x" })));
    }

    proptest! {
        #[test]
        fn the_spelling_of_the_arguments_says_nothing(fields in prop::collection::btree_map("[a-z~/\\PC]{0,4}", any::<i32>(), 0..6)) {
            let forward: String = fields.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect::<Vec<_>>().join(",");
            let backward: String =
                fields.iter().rev().map(|(name, value)| format!("{} : {value}.0", json!(name))).collect::<Vec<_>>().join(" , ");
            let read = |text: String| serde_json::from_str::<Value>(&format!("{{{text}}}")).unwrap();
            let rule = KeyRule::default();
            prop_assert_eq!(key(&rule, 1, &read(forward)), key(&rule, 1, &read(backward)));
        }
    }
}
