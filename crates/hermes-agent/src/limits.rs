//! Calls that go in circles: warned, then blocked with advice, then stopped (L6).

use std::collections::HashMap;

use hermes_core::ToolCall;
use hermes_text::Language;

use crate::config::LoopLimits;

/// What to do with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Run it.
    Run,
    /// Run it, and warn the model.
    Warn,
    /// Do not run it, and advise the model.
    Block,
    /// Do not run it, and end the turn.
    Stop,
}

/// Counts equal calls of one turn: the same tool with arguments that are the same JSON value, however they are written.
#[derive(Debug)]
pub(crate) struct LoopGuard {
    limits: LoopLimits,
    seen: HashMap<(String, String), u32>,
}

impl LoopGuard {
    pub(crate) fn new(limits: LoopLimits) -> Self {
        Self { limits, seen: HashMap::new() }
    }

    pub(crate) fn check(&mut self, call: &ToolCall) -> Verdict {
        let arguments = serde_json::from_str(&call.arguments)
            .ok()
            .and_then(|value| hermes_text::canonical(&value).ok())
            .unwrap_or_else(|| call.arguments.clone());
        let times = self.seen.entry((call.name.clone(), arguments)).or_default();
        *times += 1;
        match *times {
            n if n >= self.limits.stop => Verdict::Stop,
            n if n >= self.limits.block => Verdict::Block,
            n if n >= self.limits.warn => Verdict::Warn,
            _ => Verdict::Run,
        }
    }
}

/// What the model is told about a call that was not run.
pub(crate) fn advice(language: Language) -> &'static str {
    match language {
        Language::English => {
            "this call was not run: you have made the same call with the same arguments several times in this turn. Use the results \
             you have, change the arguments, or tell the user what is missing"
        }
        Language::Chinese => {
            "此调用未执行：你在本轮中已多次以相同参数发起同一调用。请利用已有结果、更改参数，或告诉用户缺少什么"
        }
    }
}

/// What the model is told about a call beyond the most of one step.
pub(crate) fn too_many(language: Language) -> &'static str {
    match language {
        Language::English => {
            "this call was not run: there were too many calls in one step. Make fewer at once"
        }
        Language::Chinese => "此调用未执行：单步中的调用过多，请减少一次发起的调用",
    }
}

/// What the model is told beside the result of a call that begins to go in circles.
pub(crate) fn warning(language: Language) -> &'static str {
    match language {
        Language::English => {
            "note: this call repeats an earlier one of this turn; one more repeat will not be run"
        }
        Language::Chinese => "注意：此调用与本轮先前的调用相同，再次重复将不会执行",
    }
}

#[cfg(test)]
mod tests {
    use hermes_core::CallId;

    use super::*;

    #[test]
    fn equal_calls_are_warned_blocked_and_stopped_however_they_are_written() {
        let mut guard = LoopGuard::new(LoopLimits::default());
        let call = |arguments: &str| ToolCall::new(CallId::generate(), "look", arguments);
        let spellings = [
            r#"{"a":1,"b":2}"#,
            r#"{"b":2,"a":1}"#,
            r#"{ "a": 1.0, "b": 2 }"#,
            r#"{"a":1,"b":2}"#,
            r#"{"a":1,"b":2}"#,
            r#"{"a":1,"b":2}"#,
        ];
        let verdicts: Vec<_> = spellings.iter().map(|spelling| guard.check(&call(spelling))).collect();
        use Verdict::{Block, Run, Stop, Warn};
        assert_eq!(verdicts, [Run, Run, Warn, Block, Block, Stop]);
        assert_eq!(guard.check(&call(r#"{"a":2,"b":2}"#)), Run);
    }
}
