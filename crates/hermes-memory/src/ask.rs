//! What the user asks for in a message: to remember something, and what; and whether they accept what was said (R3, R10).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::term::telling;

/// A pattern that is compiled once; the tests compile them all.
macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(
    REMEMBER,
    r"(?i)(?:^|[.!?,;:]\s*|\b(?:please|and|also|then|now)\s+)(?P<en>remember|keep in mind|do(?:n't| not|n’t) forget|make a note|note that|write (?:this|that) down)\b|(?:^|[，。,！!；;：:\s]|请|帮我|给我|替我|麻烦|要|你|并|再|然后|顺便)(?P<zh>记住|记下|记一下|记好|记着)|(?P<forget>(?:别|不要)忘(?:了|记)?)|(?:把|将)(?P<this>[^，。！？；,\n]{1,30}?)(?:记住|记下|记一下|记好|记着)"
);
// "Remember" stands in many sentences that ask for nothing; with one of these it names what to remember.
pattern!(NAMES, r"(?i)^\s*(?:[:：]|(?:that|this|these|my|the|it|i|for)\b)");
pattern!(FORGETS, r"^[，,：:\s]*(?:我|这|那|它|他|她|咱|$)");
// "Remember to read the page" asks to do something.
pattern!(TO_DO, r"(?i)^\s+to\b|^(?:要|先|去|把|给|再|帮)");
pattern!(
    ASKS_WHETHER,
    r"(?i)(?:do|did|can|could|don't)\s+you\s+(?:still\s+)?remember|你?(?:还)?记(?:住|下)(?:了)?(?:吗|没|么)"
);
pattern!(
    STATES,
    r"(?i)^\s*(?:that\s+)?(?:i|we|he|she|they|it|there)(?:['’]\w+)?\s+\w|\b(?:am|is|are|was|were|has|have|had|likes?|loves?|hates?|prefers?|lives?|works?|wants?|needs?|eats?|drinks?)\b|(?:i|we|you|they|he|she|it|there)['’](?:m|s|re|ve|ll|d)\b|n['’]t\b|[:：]\s*\S|^[，,\s]*我[^的]|是|叫|姓|住在|喜欢|讨厌|过敏|不"
);
// Where something stands, and what is done with it, is not what to remember: "read the page and remember it" names nothing.
pattern!(
    PLACES,
    r"(?i)https?://\S+|\b(?:(?:web ?)?(?:page|site)s?|articles?|documents?|files?|texts?|contents?|results?|answers?|repl(?:y|ies)|e?mails?|messages?|links?|urls?|everything|all|read|open|check|search|summari[sz]e|visit|fetch)\b|网页|页面|网站|内容|结果|文章|文件|邮件|链接|全部|所有|打开|读取?|搜索|查看?|看看?|念"
);
pattern!(
    ACCEPTS,
    r"(?i)^\s*(?:yes|yeah|yep|right|correct|exactly|sure|okay|ok|true|indeed|that's right|that’s right|that is right|please do|sounds good|agreed)(?:\W|$)|^\s*(?:对的?|是的|是啊|没错|好的?|可以|行|嗯+|正确|确认|同意|当然|就这样|不错)(?:[，。！!,.\s啊呀吧哦呢]|$)"
);
pattern!(
    QUOTED,
    r#"(?ms)(?P<block>```.*?(?:```|\z)|^[ \t]*>.*?$)|"[^"\n]{2,}"|“[^”]{2,}”|「[^」]{2,}」|『[^』]{2,}』|«[^»]{2,}»"#
);
pattern!(SPEAKS, r"(?i)\b(?:i|my|me|we|our|you|your|user)\b|我|你|您|用户");

/// From how many words on, or Chinese characters, what stands in quotation marks is a sentence of somebody and no name.
const SENTENCE: (usize, usize) = (4, 8);

fn is_match(pattern: &Option<Regex>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// What a message asks to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// What it says itself: "remember that I live in Hangzhou". Nothing that others say belongs to it.
    Stated,
    /// Something that stands elsewhere, by the telling words of each thing: "remember this coupon code".
    Named(Vec<BTreeSet<String>>),
    /// What was said just before: "remember that".
    Before,
}

impl Wish {
    /// Whether a part of a sentence is about something that is named: it has at least half of its words.
    pub(crate) fn names(&self, part: &BTreeSet<String>) -> bool {
        let Self::Named(things) = self else { return false };
        things.iter().any(|thing| thing.intersection(part).count() * 2 >= thing.len())
    }
}

/// What a message of the user asks to remember; what it quotes from others asks for nothing.
pub(crate) fn wishes(text: &str) -> Vec<Wish> {
    let own = own(text);
    let own = ACCEPTS.as_ref().map_or(own.as_str().into(), |yes| yes.replace(&own, ""));
    sentences(&own)
        .into_iter()
        .filter(|sentence| !is_match(&ASKS_WHETHER, sentence))
        .filter_map(wish)
        .collect()
}

/// Whether a message of the user asks to remember something.
pub(crate) fn asks_to_remember(text: &str) -> bool {
    !wishes(text).is_empty()
}

/// Whether a message of the user accepts what was said before it.
pub(crate) fn accepts(text: &str) -> bool {
    is_match(&ACCEPTS, text)
}

fn wish(sentence: &str) -> Option<Wish> {
    REMEMBER.as_ref()?.captures_iter(sentence).find_map(|found| {
        let whole = found.get(0)?;
        let (before, after) = (sentence.get(..whole.start())?, sentence.get(whole.end()..)?);
        let asks = match (found.name("en"), found.name("zh")) {
            (Some(verb), _) if verb.as_str().eq_ignore_ascii_case("remember") => is_match(&NAMES, after),
            (Some(_), _) => !is_match(&TO_DO, after),
            (_, Some(verb)) => {
                // "I want to keep it in my own head" asks nobody.
                let own_task = whole.as_str().starts_with('要') && before.ends_with('我');
                !own_task && (verb.as_str() != "记住" || !is_match(&TO_DO, after))
            }
            _ => found.name("forget").is_none() || is_match(&FORGETS, after),
        };
        asks.then(|| match found.name("this") {
            Some(this) => of(this.as_str(), ""),
            None => of(after.split(['，', ',']).find(|part| !part.trim().is_empty()).unwrap_or(""), before),
        })
    })
}

/// The wish whose object follows the verb, or, where that only points back, stands before it in the sentence.
fn of(after: &str, before: &str) -> Wish {
    let object = if telling(after).is_empty() && !is_match(&STATES, after) { before } else { after };
    if is_match(&STATES, object) {
        return Wish::Stated;
    }
    let object = PLACES.as_ref().map_or(object.into(), |places| places.replace_all(object, " "));
    let things: Vec<_> = object
        .split(['和', '与', '、', ','])
        .flat_map(|thing| thing.split(" and "))
        .map(telling)
        .filter(|thing| !thing.is_empty())
        .collect();
    if things.is_empty() { Wish::Before } else { Wish::Named(things) }
}

fn sentences(text: &str) -> Vec<&str> {
    cut(text, &['。', '！', '？', '；', '\n'], &['.', '!', '?', ';'])
}

/// Cuts a text at marks that always part it, and at plain ones where no more of a word, number or address follows.
pub(crate) fn cut<'a>(text: &'a str, always: &[char], at_end: &[char]) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((place, letter)) = letters.next() {
        let ends = letters.peek().is_none_or(|(_, next)| next.is_whitespace() || !next.is_ascii());
        if always.contains(&letter) || (ends && at_end.contains(&letter)) {
            pieces.extend(text.get(start..place));
            start = place + letter.len_utf8();
        }
    }
    pieces.extend(text.get(start..));
    pieces.into_iter().map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

/// A message without the sentences that it quotes from others: blocks, lines after `>`, and whole sentences in quotation marks.
pub(crate) fn own(text: &str) -> String {
    let Some(quoted) = QUOTED.as_ref() else { return text.to_owned() };
    let replaced = quoted.replace_all(text, |found: &regex::Captures<'_>| {
        let span = found.get(0).map_or("", |span| span.as_str());
        if found.name("block").is_some() || is_speech(span) { " … ".to_owned() } else { span.to_owned() }
    });
    replaced.into_owned()
}

/// The sentences that a message quotes from others.
pub(crate) fn speech(text: &str) -> impl Iterator<Item = &str> {
    QUOTED
        .as_ref()
        .into_iter()
        .flat_map(move |quoted| quoted.captures_iter(text))
        .filter_map(|found| Some((found.get(0)?.as_str(), found.name("block").is_some())))
        .filter(|(span, block)| *block || is_speech(span))
        .map(|(span, _)| span)
}

fn is_speech(span: &str) -> bool {
    let (words, letters) = SENTENCE;
    span.split_whitespace().count() >= words
        || span.chars().filter(|letter| ('\u{4e00}'..='\u{9fff}').contains(letter)).count() >= letters
        || is_match(&SPEAKS, span)
}

#[cfg(test)]
mod tests;
