//! The services' token counts as buckets that do not overlap (L7, CM4).

use hermes_core::Usage;
use serde::Deserialize;

/// The `usage` object. Unknown fields are passed over, missing and null ones count as 0.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for what the cache served.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    /// OpenRouter's name for what was written to the cache.
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl WireUsage {
    /// Splits the counts, which contain each other, into buckets.
    pub(crate) fn buckets(&self) -> Usage {
        let prompt = self.prompt_tokens.unwrap_or(0);
        let completion = self.completion_tokens.unwrap_or(0);
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens).or(self.prompt_cache_hit_tokens);
        let cache_read = cached.unwrap_or(0).min(prompt);
        let cache_write =
            details.and_then(|details| details.cache_write_tokens).unwrap_or(0).min(prompt - cache_read);
        let reasoning =
            self.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens).unwrap_or(0);
        // xAI counts reasoning beside the completion and not within it; the total tells which it is.
        let beside = reasoning > 0
            && self.total_tokens == prompt.checked_add(completion).and_then(|sum| sum.checked_add(reasoning));
        let (output, reasoning) = if beside {
            (completion, reasoning)
        } else {
            let reasoning = reasoning.min(completion);
            (completion - reasoning, reasoning)
        };
        Usage { input: prompt - cache_read - cache_write, cache_read, cache_write, output, reasoning }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_do_not_overlap() {
        for (wire, expected, total) in [
            (r#"{"prompt_tokens":31,"completion_tokens":22,"total_tokens":53}"#, (31, 0, 0, 22, 0), 53),
            (
                r#"{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":64},
                   "completion_tokens_details":{"reasoning_tokens":30}}"#,
                (36, 64, 0, 20, 30),
                150,
            ),
            (
                r#"{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":40,"prompt_cache_miss_tokens":60}"#,
                (60, 40, 0, 5, 0),
                105,
            ),
            (
                r#"{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":10,"cache_write_tokens":80}}"#,
                (10, 10, 80, 5, 0),
                105,
            ),
            // xAI: reasoning stands beside the completion.
            (
                r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":115,"completion_tokens_details":{"reasoning_tokens":100}}"#,
                (10, 0, 0, 5, 100),
                115,
            ),
            (r#"{"prompt_tokens":null,"prompt_tokens_details":null,"extra":{}}"#, (0, 0, 0, 0, 0), 0),
            // Nonsense stays within what was counted.
            (
                r#"{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":9}}"#,
                (0, 5, 0, 1, 0),
                6,
            ),
        ] {
            let usage = serde_json::from_str::<WireUsage>(wire).unwrap().buckets();
            let got = (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning);
            assert_eq!((got, usage.total()), (expected, total), "{wire}");
        }
    }
}
