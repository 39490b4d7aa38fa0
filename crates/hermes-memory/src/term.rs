//! Which words of a text are telling: those that may vouch for a memory, or prove one.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use hermes_text::{rank_terms, strip_invisible};
use regex::Regex;

/// Chinese characters that carry grammar rather than matter; a pair with one of them tells nothing.
const GRAMMAR: &str = "的了我你他她它们是也很吗呢吧么什这那不让跟与或请没又着哪";

/// Words that stand in most memories and messages; the first of them is how records call their owner.
const COMMON_PAIRS: &[&str] = &[
    "用户", "一下", "一个", "一些", "一家", "一次", "一点", "一直", "三个", "上午", "上次", "下午", "下次",
    "东西", "两个", "个位", "中午", "之前", "之后", "事情", "今年", "今晚", "以前", "以后", "位置", "偏好",
    "关于", "几个", "出去", "前天", "可以", "后天", "告诉", "周末", "喜欢", "回来", "因为", "地方", "大家",
    "如果", "已经", "帮个", "帮忙", "平时", "应该", "想要", "所以", "找个", "推荐", "提到", "早上", "时候",
    "时间", "明天", "明晚", "昨天", "晚上", "最近", "有个", "有点", "每天", "每次", "比较", "现在", "知道",
    "经常", "自己", "觉得", "订个", "记住", "记得", "说过", "谢谢", "起来", "还有", "通常", "问题", "需要",
    "非常",
];

/// English stems that stand in most memories and messages (as `rank_terms` makes them).
const COMMON_STEMS: &[&str] = &[
    "alway",
    "ask",
    "book",
    "find",
    "get",
    "give",
    "go",
    "good",
    "help",
    "just",
    "know",
    "last",
    "let",
    "lik",
    "like",
    "look",
    "make",
    "mention",
    "need",
    "never",
    "new",
    "not",
    "now",
    "often",
    "ok",
    "peopl",
    "plac",
    "pleas",
    "prefer",
    "remember",
    "said",
    "say",
    "show",
    "tell",
    "thank",
    "thing",
    "think",
    "time",
    "today",
    "tomorrow",
    "tonight",
    "use",
    "used",
    "user",
    "usual",
    "want",
    "yes",
    "yesterday",
];

static COMMON: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&COMMON_PAIRS.join("|")).ok());

/// The telling words of a text, each once. Of `我上次提到的川菜馆` these are `川菜` and `菜馆`.
///
/// Common Chinese words are taken out first, so that their characters make no pairs with what stands beside them.
pub(crate) fn telling(text: &str) -> BTreeSet<String> {
    let text = match COMMON.as_ref() {
        Some(common) => common.replace_all(text, " "),
        None => Cow::Borrowed(text),
    };
    rank_terms(&text).into_iter().filter(|term| is_telling(term)).collect()
}

fn is_telling(term: &str) -> bool {
    if term.is_ascii() {
        let digits = term.bytes().any(|byte| byte.is_ascii_digit());
        return term.len() >= if digits { 2 } else { 3 } && COMMON_STEMS.binary_search(&term).is_err();
    }
    // A single Chinese character is too common to tell anything.
    term.chars().nth(1).is_some() && !term.chars().any(|letter| GRAMMAR.contains(letter))
}

/// Short English words that are in many texts without being a name of anything; sorted.
const COMMON_SHORT: &[&str] = &["am", "cm", "id", "kg", "km", "mm", "no", "pm", "up"];

/// Chinese characters that often stand alone in data without being a name of anything.
const COMMON_SINGLES: &str = "年月日时分秒元号个点周天次第共约至到为及等无有在就都会要能去来上下中大小好对行";

/// The words by which a text that somebody else gave is known when it is repeated: the telling ones, and names as short as `Bo`
/// or, where it stands alone, `王`.
pub(crate) fn marks(text: &str) -> BTreeSet<String> {
    let mut marks = telling(text);
    marks.extend(rank_terms(text).into_iter().filter(|term| is_short_name(term)));
    marks
}

/// The words by which a text may repeat the [`marks`] of another: those, and every Chinese character, since a name of one of them
/// stands in a sentence without a gap.
pub(crate) fn traces(text: &str) -> BTreeSet<String> {
    let mut traces = marks(text);
    traces.extend(text.chars().map(String::from).filter(|letter| is_short_name(letter)));
    traces
}

fn is_short_name(term: &str) -> bool {
    if term.is_ascii() {
        return term.len() == 2
            && term.bytes().all(|byte| byte.is_ascii_alphabetic())
            && COMMON_SHORT.binary_search(&term).is_err()
            && COMMON_STEMS.binary_search(&term).is_err();
    }
    let mut letters = term.chars();
    let single = letters.next().filter(|letter| ('\u{4e00}'..='\u{9fff}').contains(letter));
    single.is_some_and(|letter| {
        letters.next().is_none() && !GRAMMAR.contains(letter) && !COMMON_SINGLES.contains(letter)
    })
}

/// A text as far as it matters for comparing: letters and digits only, lower case, compatibility forms made plain.
pub(crate) fn folded(text: &str) -> String {
    strip_invisible(text)
        .chars()
        .map(narrow)
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// A full-width character as its plain form.
fn narrow(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => {
            u32::from(letter).checked_sub(0xfee0).and_then(char::from_u32).unwrap_or(letter)
        }
        _ => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_can_be_searched() {
        assert!(COMMON_STEMS.is_sorted());
        assert!(COMMON_SHORT.is_sorted());
        assert!(COMMON.is_some());
    }

    #[test]
    fn grammar_and_common_words_tell_nothing() {
        assert_eq!(telling("我上次提到的川菜馆"), ["川菜", "菜馆"].map(String::from).into());
        assert_eq!(telling("天气、上海、过敏").len(), 3);
        assert!(telling("the user likes it, please tell me what you know").is_empty());
        assert!(telling("用户喜欢").is_empty());
        assert_eq!(telling("Book the Sichuan place"), ["sichuan".to_owned()].into());
    }

    #[test]
    fn short_names_are_known_again() {
        assert_eq!(
            marks(r#"{"nick":"Bo","age":5,"at":"5 pm"}"#),
            ["age", "bo", "nick"].map(String::from).into()
        );
        assert_eq!(marks("姓：王，12 月"), ["12", "姓", "王"].map(String::from).into());
        assert!(traces("您姓王").is_superset(&["姓", "王"].map(String::from).into()));
    }

    #[test]
    fn folding_leaves_what_is_compared() {
        assert_eq!(folded(" Ｈello,\u{200b} 世界！(42) "), "hello世界42");
        assert_eq!(folded("…"), "");
    }
}
