//! Memory fills blanks, and blanks only (L2).

use hermes_core::{CallContext, Effect, FailureKind, Filled, JsonText, MemoryId, ToolSpec, async_trait};
use hermes_tools::{ArgumentFiller, ExecuteOptions, Executed, MissingArgument};
use serde_json::{Value, json};

use crate::{Notes, call, context, done, echo, error, output, registry};

/// A memory that offers the same for every question, asked for or not.
#[derive(Debug, Clone)]
struct Memory(Vec<(&'static str, &'static str)>, MemoryId);

#[async_trait]
impl ArgumentFiller for Memory {
    async fn fill(
        &self,
        _: &ToolSpec,
        _: &Value,
        missing: &[MissingArgument],
        _: &CallContext,
    ) -> Vec<Filled> {
        assert!(missing.iter().all(|missing| !missing.hint.is_empty()));
        let filled = |(pointer, value): &(&str, &str)| Filled {
            pointer: (*pointer).to_owned(),
            value: JsonText::parse(value).unwrap(),
            memory: self.1,
        };
        self.0.iter().map(filled).collect()
    }
}

fn spec(effect: Effect) -> ToolSpec {
    ToolSpec::new("search", "")
        .input_schema(json!({ "type": "object", "properties": {
            "cuisine": { "type": "string" },
            "party_size": { "type": "integer", "minimum": 1, "x-hermes-fill": "how many people" },
            "city": { "type": "string" }
        }, "required": ["cuisine", "party_size"] }))
        .effect(effect)
}

#[tokio::test]
async fn a_missing_argument_comes_from_memory_and_everybody_is_told() {
    let (registry, _) = registry();
    echo(&registry, spec(Effect::ReadOnly));
    let (memory, notes) =
        (Memory(vec![("/party_size", "2"), ("/city", "\"Rome\"")], MemoryId::generate()), Notes::default());
    let options = ExecuteOptions::default().with_filler(memory.clone()).with_journal(notes.clone());
    let executed =
        registry.execute(&call("search", r#"{"cuisine":"Sichuan"}"#), context(), &options).await.unwrap();
    let outcome = done(executed);
    assert_eq!(
        output(&outcome),
        &json!({ "result": { "cuisine": "Sichuan", "party_size": 2 }, "filled_from_memory": { "/party_size": 2 } })
    );
    assert_eq!(outcome.report.filled, [memory.1]);
    let entries = notes.entries.lock().unwrap();
    assert_eq!((entries[0].filled.len(), entries[0].filled[0].pointer.as_str()), (1, "/party_size"));
    assert_eq!(entries[0].arguments.as_str(), r#"{"cuisine":"Sichuan","party_size":2}"#);
}

#[tokio::test]
async fn nothing_is_overridden_guessed_or_half_filled() {
    let (registry, _) = registry();
    echo(&registry, spec(Effect::ReadOnly));
    let offer = |offers: &[(&'static str, &'static str)]| {
        ExecuteOptions::default().with_filler(Memory(offers.to_vec(), MemoryId::generate()))
    };
    let good = [("/party_size", "2")];
    for (arguments, offers) in [
        // Said, though wrong: the model is told, memory is not asked.
        (r#"{"cuisine":"Sichuan","party_size":"3"}"#, &good[..]),
        (r#"{"cuisine":"Sichuan","partysize":3}"#, &good),
        // Something without a hint is missing too.
        (r#"{}"#, &[("/party_size", "2"), ("/cuisine", "\"any\"")]),
        // What memory has does not fit.
        (r#"{"cuisine":"Sichuan"}"#, &[("/party_size", "\"two\"")]),
        (r#"{"cuisine":"Sichuan"}"#, &[("/party_size", "0")]),
        (r#"{"cuisine":"Sichuan"}"#, &[]),
    ] {
        let outcome =
            done(registry.execute(&call("search", arguments), context(), &offer(offers)).await.unwrap());
        assert_eq!(error(&outcome).0, FailureKind::InvalidArguments, "{arguments}");
    }
    let given = r#"{"cuisine":"Sichuan","party_size":3}"#;
    let outcome = done(registry.execute(&call("search", given), context(), &offer(&good)).await.unwrap());
    assert_eq!(output(&outcome)["party_size"], 3);
}

#[tokio::test]
async fn an_effect_that_rests_on_memory_wants_a_word() {
    let (registry, _) = registry();
    echo(&registry, spec(Effect::SideEffect));
    let options =
        ExecuteOptions::default().with_filler(Memory(vec![("/party_size", "2")], MemoryId::generate()));
    let executed =
        registry.execute(&call("search", r#"{"cuisine":"Sichuan"}"#), context(), &options).await.unwrap();
    let Executed::Suspended(suspended) = executed else { panic!("{executed:?}") };
    assert!(suspended.reason.contains("/party_size = 2"), "{}", suspended.reason);
}
