//! Counting tokens: of whole messages with any counter, and of text by estimate where no tokenizer is at hand (S6).

use hermes_core::{
    ChatMessage, ContentPart, CounterId, Message, ProviderMetadata, TokenCount, TokenCounter, Tokens,
    ToolCall,
};

/// What a message costs beyond its text: role and separators. OpenAI's published counting recipe takes 3 and one for a name.
pub(crate) const MESSAGE_OVERHEAD: Tokens = Tokens::new(4);

/// What a call costs beyond its name and arguments: its id and the JSON around it; measured ids have 8 to 20 tokens.
const CALL_OVERHEAD: Tokens = Tokens::new(24);

/// What an image or file by reference costs: the most that Anthropic's documentation gives for one image (about 1,600).
pub(crate) const FILE_TOKENS: Tokens = Tokens::new(1_600);

/// How many tokens a message of a context has, by this counter.
#[must_use]
pub fn count_message(counter: &dyn TokenCounter, message: &ChatMessage) -> Tokens {
    match message {
        ChatMessage::System { content } | ChatMessage::User { content } => {
            MESSAGE_OVERHEAD + count_content(counter, content)
        }
        ChatMessage::Assistant { content, calls, provider } => {
            MESSAGE_OVERHEAD
                + count_content(counter, content)
                + calls.iter().map(|call| count_call(counter, call)).sum()
                + count_provider(counter, provider)
        }
        ChatMessage::Tool { content, .. } => {
            MESSAGE_OVERHEAD + CALL_OVERHEAD + count_content(counter, content)
        }
    }
}

pub(crate) fn count_content(counter: &dyn TokenCounter, content: &[ContentPart]) -> Tokens {
    content.iter().map(|part| part.as_text().map_or(FILE_TOKENS, |text| counter.count(text))).sum()
}

fn count_call(counter: &dyn TokenCounter, call: &ToolCall) -> Tokens {
    CALL_OVERHEAD + counter.count(&call.name) + counter.count(&call.arguments)
}

fn count_provider(counter: &dyn TokenCounter, provider: &ProviderMetadata) -> Tokens {
    provider.values().map(|data| counter.count(data.as_str())).sum()
}

/// The count that a message of the log carries, or a new one where it has none of this counter's.
pub(crate) fn count_logged(counter: &dyn TokenCounter, message: &Message, chat: &ChatMessage) -> Tokens {
    match message.tokens() {
        Some(TokenCount { tokens, counter: by }) if by == counter.id() => *tokens,
        _ => count_message(counter, chat),
    }
}

/// Counts by looking at the characters, for models whose tokenizer is not at hand.
///
/// It errs upward on purpose, since a budget that is overrun is worse than one that is not used up: Han characters count one and a
/// quarter each (`cl100k_base`, the costlier of the two common vocabularies, has 1.14 to 1.25 on the texts measured), letters a token for every
/// four of a word, digits one for every three, each mark of punctuation one, anything else one for every byte up to three.
#[derive(Debug, Clone)]
pub struct EstimateCounter {
    id: CounterId,
}

impl EstimateCounter {
    /// The counter; its id is `hermes-estimate-1`.
    #[must_use]
    #[expect(clippy::expect_used, reason = "the constant is an id")]
    pub fn new() -> Self {
        Self { id: CounterId::new("hermes-estimate-1").expect("an id") }
    }
}

impl Default for EstimateCounter {
    fn default() -> Self {
        Self::new()
    }
}

/// What the last character belonged to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    None,
    Upper,
    Lower,
    Digit,
    Break,
}

impl TokenCounter for EstimateCounter {
    fn id(&self) -> &CounterId {
        &self.id
    }

    fn count(&self, text: &str) -> Tokens {
        let (mut quarters, mut run, mut length) = (0_usize, Run::None, 0_usize);
        for letter in text.chars() {
            let kind = match letter {
                'a'..='z' => Run::Lower,
                'A'..='Z' => Run::Upper,
                '0'..='9' => Run::Digit,
                '\n' | '\r' | '\t' => Run::Break,
                _ => Run::None,
            };
            let goes_on = match (run, kind) {
                (Run::Lower, Run::Lower)
                | (Run::Digit, Run::Digit)
                | (Run::Upper, Run::Upper)
                | (Run::Break, Run::Break) => true,
                // A capital begins a word; capitals in a row are one.
                (Run::Upper, Run::Lower) => length == 1,
                _ => false,
            };
            length = if goes_on { length + 1 } else { 1 };
            run = kind;
            let every = if kind == Run::Digit { 3 } else { 4 };
            quarters += match kind {
                Run::None if letter == ' ' => 0,
                Run::None if letter.is_ascii() => 4,
                Run::None if is_wide(letter) => 5,
                Run::None => 4 * letter.len_utf8().min(3),
                _ if length % every == 1 => 4,
                _ => 0,
            };
        }
        // Runs of blanks are seldom free altogether.
        let blanks = text.matches("  ").count();
        Tokens::saturating_from(quarters.div_ceil(4) + blanks)
    }
}

/// Han, kana and hangul, and the punctuation that goes with them.
fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff65}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g33_the_estimate_is_at_least_what_o200k_counts() {
        let counter = EstimateCounter::new();
        let texts = [
            ("<|endoftext|>".to_owned(), 7),
            ("请解释 <|endoftext|> 和 <|im_start|> 是什么".to_owned(), 18),
            ("你好世界".to_owned(), 2),
            ("你好世界".repeat(250), 500),
            ("我们下周三去杭州出差，请帮我订两张高铁票。".repeat(50), 900),
            ("🔥🎉💯".to_owned(), 5),
        ];
        for (text, o200k) in texts {
            assert!(counter.count(&text) >= Tokens::new(o200k), "{text}");
        }
    }

    #[test]
    fn english_prose_and_code_are_within_reason() {
        let counter = EstimateCounter::new();
        assert_eq!(counter.count(""), Tokens::ZERO);
        // 9 words and a full stop; o200k_base has 10 tokens.
        assert_eq!(counter.count("The quick brown fox jumps over the lazy dog."), Tokens::new(13));
        assert_eq!(counter.count("A1b2"), Tokens::new(4));
        assert_eq!(counter.count("getHTTPResponse"), Tokens::new(5));
    }
}
