//! Anchors: exact identifiers that a summary must not blur (S4).

use std::collections::HashSet;
use std::sync::LazyLock;

use hermes_core::{Body, Message, TokenCounter, Tokens};
use regex::Regex;

/// Longer ones are text, not identifiers.
const LONGEST_ANCHOR_CHARS: usize = 120;

/// What counts as an identifier; the first rule that matches at a place takes it. Addresses and paths; dates and times; amounts;
/// code; ids that mix letters and digits; long numbers.
const ANCHOR: &str = r#"(?x)
    (?:https?://[^\s<>"'，。；）)]+)
    |(?:[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    |(?:(?:[A-Za-z]:\\|~/|\.{1,2}/|/)?[\w.-]+(?:[/\\][\w.-]+)+)
    |(?:\d{4}\s?[-/年.]\s?\d{1,2}\s?[-/月.]\s?\d{1,2}\s?[日号]?(?:[T\s]?\d{1,2}(?::\d{2}(?::\d{2})?|[点时](?:\d{1,2}分?|半)?))?
        |\d{1,2}月\d{1,2}[日号](?:\d{1,2}[点时](?:\d{1,2}分?|半)?)?
        |\d{1,2}(?:st|nd|rd|th)?\s(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?(?:,?\s\d{4})?(?:\s(?:at\s)?\d{1,2}:\d{2})?
        |(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?\s\d{1,2}(?:st|nd|rd|th)?\b(?:,?\s\d{4})?(?:\s(?:at\s)?\d{1,2}:\d{2})?
        |\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?)
    |(?:(?:人民币|[A-Z]{3}\s?|[$€£¥￥])\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:万|亿|千|k|m|bn|million|billion))?(?:元(?:\d角)?(?:\d分)?|块)?
        |\d[\d,]*(?:\.\d+)?\s?(?:万|亿)?(?:元(?:\d角)?(?:\d分)?|块钱?|美元|欧元|日元|港币|USD\b|EUR\b|CNY\b|RMB\b|dollars?\b|euros?\b|yuan\b|%|％))
    |(?:`[^`\n]{1,80}`|[A-Za-z_]\w*(?:::\w+)+(?:\(\))?|[A-Za-z_]\w*\(\)|\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b[\w-]+\.(?:rs|py|js|ts|go|java|toml|json|yaml|yml|md|txt|csv|sql|sh|pdf|docx?|xlsx?|png|jpe?g)\b)
    |(?:[A-Za-z0-9][A-Za-z0-9_-]*\d[A-Za-z0-9_-]*|\#\d+|\d{4,}(?:[.-]\d+)*)
"#;

#[expect(clippy::expect_used, reason = "the pattern is a constant, and a test compiles it")]
static RULE: LazyLock<Regex> = LazyLock::new(|| Regex::new(ANCHOR).expect("a pattern"));

/// The identifiers of a text, in order, each as it stands there.
pub(crate) fn anchors_of(text: &str) -> impl Iterator<Item = &str> {
    RULE.find_iter(text).filter_map(|found| {
        let blank = |letter: char| matches!(letter, '`' | '.' | ',' | '-' | '_') || letter.is_whitespace();
        let text = found.as_str().trim_matches(blank);
        // A short word with a digit says nothing: an ordinal, a `v2`.
        let short = text.len() < 3 && text.chars().all(|letter| letter.is_ascii_alphanumeric());
        (!short && !text.is_empty() && text.chars().count() <= LONGEST_ANCHOR_CHARS).then_some(text)
    })
}

/// The anchors so far with those of newly folded messages: each once, the newest last, the oldest gone where there is no room.
///
/// What tools gave is left out: one result may hold hundreds, and those that mattered come back in calls and answers.
pub(crate) fn merge_anchors<'m>(
    previous: &[String],
    folded: impl Iterator<Item = &'m Message>,
    max: Tokens,
    counter: &dyn TokenCounter,
) -> Vec<String> {
    let mut all: Vec<String> = previous.to_vec();
    for message in folded {
        match message.body() {
            Body::User { .. } => all.extend(anchors_of(&message.text()).map(str::to_owned)),
            Body::Assistant { calls, .. } => {
                all.extend(anchors_of(&message.text()).map(str::to_owned));
                for call in calls {
                    all.extend(anchors_of(&call.arguments).map(str::to_owned));
                }
            }
            _ => {}
        }
    }
    let (mut seen, mut room, mut kept) = (HashSet::new(), max, Vec::new());
    for anchor in all.iter().rev() {
        if !seen.insert(anchor.as_str()) {
            continue;
        }
        // The separator costs a token as well.
        let cost = counter.count(anchor) + Tokens::new(1);
        if cost > room {
            break;
        }
        room = room.saturating_sub(cost);
        kept.push(anchor.clone());
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use hermes_core::{NewMessage, Seq};
    use jiff::Timestamp;

    use super::*;
    use crate::EstimateCounter;

    #[test]
    fn exact_identifiers_are_found_as_they_stand() {
        for (text, expected) in [
            ("会员卡号6SJJEN47P，麻烦记一下。", &["6SJJEN47P"][..]),
            ("复诊时间是2027年10月16日16点40分。", &["2027年10月16日16点40分"]),
            ("对方报价人民币22219.76元。", &["人民币22219.76元"]),
            ("预算最多23985元4角。", &["23985元4角"]),
            ("We move in on 9 June 2027.", &["9 June 2027"]),
            (
                "Order M-23891 costs $1,250.50, due 2025-03-01 14:30",
                &["M-23891", "$1,250.50", "2025-03-01 14:30"],
            ),
            (
                "see src/fold/plan.rs and https://example.com/a?b=1",
                &["src/fold/plan.rs", "https://example.com/a?b=1"],
            ),
            (
                "call `git rebase -i` or get_weather, then parseConfig and std::mem::swap",
                &["git rebase -i", "get_weather", "parseConfig", "std::mem::swap"],
            ),
            ("mail dana.liu@example.org about #4521", &["dana.liu@example.org", "#4521"]),
            ("两天到，一共三个人。It is fine.", &[]),
        ] {
            assert_eq!(anchors_of(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn the_list_is_deduplicated_and_bounded() {
        let message =
            |text: &str| Message::from_new(NewMessage::user(text), Seq::new(1), Timestamp::UNIX_EPOCH);
        let folded = [message("order M-23891"), message("order K-77 then M-23891 again")];
        let counter = EstimateCounter::new();
        let all = merge_anchors(&["A-1000".to_owned()], folded.iter(), Tokens::new(100), &counter);
        assert_eq!(all, ["A-1000", "K-77", "M-23891"]);
        let few = merge_anchors(&["A-1000".to_owned()], folded.iter(), Tokens::new(10), &counter);
        assert_eq!(few, ["K-77", "M-23891"]);
    }
}
