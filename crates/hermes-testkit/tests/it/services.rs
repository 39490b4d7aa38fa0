//! The suites of services, passed by the simplest that can pass them.

use hermes_core::{ChatEvent, ChatRequest, CounterId, FinishReason, TokenCounter, Tokens, ToolChoice, Usage};
use hermes_testkit::Fresh;
use hermes_testkit::fake::{Answer, HashEmbedder, ScriptedModel};

/// Counts characters.
#[derive(Debug)]
pub(crate) struct CharacterCounter(CounterId);

impl CharacterCounter {
    pub(crate) fn new() -> Self {
        Self(CounterId::new("characters").expect("a valid id"))
    }
}

impl TokenCounter for CharacterCounter {
    fn id(&self) -> &CounterId {
        &self.0
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens::saturating_from(text.chars().count())
    }
}

/// Answers in the shape that was asked for.
fn obedient(request: &ChatRequest, _number: usize) -> Answer {
    let usage = Usage { input: 9, output: 3, ..Usage::default() };
    let answer = if request.tool_choice == ToolChoice::Required {
        Answer::calls([("get_weather", "{\"city\":\"Paris\"}")])
    } else if request.options.max_output == Some(Tokens::new(8)) {
        Answer::events([ChatEvent::Text("one two".to_owned()), ChatEvent::Finished(FinishReason::Length)])
    } else {
        Answer::text("It is sunny.")
    };
    answer.with_usage(usage)
}

hermes_testkit::embedder_suite!(|| async { Fresh::new(HashEmbedder::new()) });
hermes_testkit::token_counter_suite!(|| async { Fresh::new(CharacterCounter::new()) });
hermes_testkit::chat_model_suite!(|| async { Fresh::new(ScriptedModel::responding(obedient)) });
