//! Whether a text is English or Chinese, so that feedback and summaries speak its language.

use std::fmt;

use crate::terms::is_han;

/// A language Hermes itself speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Language {
    /// English; also the answer where nothing tells.
    #[default]
    English,
    /// Chinese.
    Chinese,
}

impl Language {
    /// The language tag of BCP 47: `en` or `zh`.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.tag())
    }
}

/// The beginning is enough to tell, whatever the length of the text.
const LOOK_AT_CHARS: usize = 4_096;

/// Chinese where there are at least as many Chinese characters as words in other scripts, otherwise English.
///
/// Words, not letters, are compared, and names with digits or `_` in them belong to no language: a Chinese sentence around
/// a few long identifiers stays Chinese.
///
/// ```
/// use hermes_text::lang::{Language, guess};
/// assert_eq!(guess("帮我用 get_weather 查一下杭州的天气"), Language::Chinese);
/// assert_eq!(guess("What does 你好 mean?"), Language::English);
/// ```
#[must_use]
pub fn guess(text: &str) -> Language {
    let (mut han, mut words) = (0_usize, 0_usize);
    // In a word: whether it still looks like one of a language, not like `CA1234` or `get_weather`.
    let mut open: Option<bool> = None;
    for letter in text.chars().take(LOOK_AT_CHARS).chain([' ']) {
        let chinese = is_han(letter);
        han += usize::from(chinese);
        if !chinese && (letter.is_alphanumeric() || letter == '_') {
            open = Some(open.unwrap_or(true) && letter.is_alphabetic());
        } else if !(letter == '\'' && open.is_some()) {
            words += usize::from(open == Some(true));
            open = None;
        }
    }
    if han > 0 && han >= words { Language::Chinese } else { Language::English }
}

#[cfg(test)]
mod tests {
    use super::{Language, guess};

    #[test]
    fn the_greater_share_decides() {
        for chinese in ["你好", "用 OpenAI API 写", "订单号 M-23891 什么时候到?", "查 flight CA1234", "書"]
        {
            assert_eq!(guess(chinese), Language::Chinese, "{chinese}");
        }
        for english in [
            "",
            "42",
            "hello",
            "My name is 李雷 and I live in Hangzhou",
            "Translate 你好 to English",
            "🎉",
            "get_weather(42)",
            "it's a 中",
        ] {
            assert_eq!(guess(english), Language::English, "{english}");
        }
        assert_eq!((Language::Chinese.tag(), Language::English.to_string().as_str()), ("zh", "en"));
    }
}
