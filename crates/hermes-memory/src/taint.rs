//! What may become a memory: what the user said, proved by their words, and not what a tool said (R3, R10).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use hermes_core::{MemoryKind, MemorySource, Provenance, Role, Seq};
use hermes_text::lang;
use regex::Regex;

use crate::extract::{Command, Draft, ExtractionInput, Line, Speaker};
use crate::redact::masked;
use crate::term::{folded, telling};
use crate::transcript::TurnTranscript;

/// Why a proposal is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// Its confidence is missing, out of range, or not high enough.
    Unsure,
    /// It is empty or too long.
    Unusable,
    /// It holds a secret.
    Secret,
    /// The words that should prove it were not said.
    Unproven,
    /// Its words come from a tool, or from a memory that was shown.
    Tainted,
    /// The words that prove it have nothing in common with it.
    Unsupported,
    /// It was mentioned in passing, which is no preference.
    PassingMention,
}

/// What proves a memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proof {
    pub(crate) source: MemorySource,
    pub(crate) provenance: Provenance,
}

/// What an extractor may see of a turn: every line of the user, and the assistant's where the user accepted or asked to remember them,
/// without the clauses that only repeat a tool.
pub(crate) fn input(turn: &TurnTranscript) -> ExtractionInput {
    let said: Vec<_> =
        turn.said.iter().filter(|said| matches!(said.role, Role::User | Role::Assistant)).collect();
    let user_text: String = user_texts(turn).collect::<Vec<_>>().join("\n");
    let command = if user_texts(turn).any(asks_to_remember) { Command::Remember } else { Command::None };
    let known = telling(&user_text);
    let foreign = foreign_terms(turn);
    let mut lines = Vec::new();
    for (place, message) in said.iter().enumerate() {
        if message.role == Role::User {
            lines.push(line(message.seq, Speaker::User, &message.text));
            continue;
        }
        let next = said.get(place + 1).filter(|next| next.role == Role::User);
        let wanted: Vec<&str> = match (next, command) {
            // "Remember this code": the code stands in what was said just before, and only the clause about codes is meant.
            (Some(next), Command::Remember) if asks_to_remember(&next.text) => {
                let asked = telling(&next.text);
                clauses(&message.text).filter(|clause| !telling(clause).is_disjoint(&asked)).collect()
            }
            (Some(next), _) if accepts(&next.text) => clauses(&message.text)
                .filter(|clause| telling(clause).difference(&known).all(|term| !foreign.contains(term)))
                .collect(),
            (None, Command::Remember) => clauses(&message.text).collect(),
            _ => Vec::new(),
        };
        if !wanted.is_empty() {
            lines.push(line(message.seq, Speaker::Assistant, &wanted.join("\n")));
        }
    }
    ExtractionInput {
        lines,
        said_at: turn.at.to_zoned_datetime(turn.time_zone.clone()),
        language: lang::guess(&user_text),
        command,
    }
}

/// Checks a proposal against what was said.
pub(crate) fn prove(
    draft: &Draft,
    input: &ExtractionInput,
    turn: &TurnTranscript,
) -> Result<Proof, DropReason> {
    let (line, quote) = proving_line(draft, input).ok_or(DropReason::Unproven)?;
    let shown: BTreeSet<String> = input.lines.iter().flat_map(|line| telling(&line.text)).collect();
    let mut said = draft.content.clone();
    if let Some(value) = &draft.value {
        said.push('\n');
        said.push_str(value);
    }
    let told = telling(&said);
    let new: BTreeSet<&String> = told.difference(&shown).collect();
    let foreign = foreign_terms(turn);
    if new.iter().any(|term| foreign.contains(*term)) {
        return Err(DropReason::Tainted);
    }
    // A sentence in another language than its proof shares no words with it; there the quote has to do.
    let comparable = lang::guess(&draft.content) == lang::guess(&line.text);
    if comparable && !told.is_empty() && told.is_disjoint(&shown) {
        return Err(DropReason::Unsupported);
    }
    if matches!(draft.kind, MemoryKind::Preference | MemoryKind::Habit) && only_mentioned(&quote, &line.text)
    {
        return Err(DropReason::PassingMention);
    }
    let mut messages: Vec<Seq> = vec![line.seq];
    let source = match input.command {
        Command::None => MemorySource::Explicit,
        Command::Remember => {
            messages.extend(commands(turn));
            messages.extend(tool_origins(turn, &told, input));
            MemorySource::UserCommand
        }
    };
    messages.sort_unstable();
    messages.dedup();
    Ok(Proof { source, provenance: Provenance { session: turn.session, messages, quote: Some(quote) } })
}

fn line(seq: Seq, speaker: Speaker, text: &str) -> Line {
    Line { seq, speaker, text: masked(text) }
}

fn user_texts(turn: &TurnTranscript) -> impl Iterator<Item = &str> {
    turn.said.iter().filter(|said| said.role == Role::User).map(|said| said.text.as_str())
}

/// The telling words of what tools gave and of the memories that were shown.
fn foreign_terms(turn: &TurnTranscript) -> BTreeSet<String> {
    let tools = turn.tool_texts.iter().map(|tool| tool.text.as_str());
    tools.chain(turn.recalled.iter().map(String::as_str)).flat_map(telling).collect()
}

/// The line that holds the quote, with the quote; without a quote the line that holds most of the sentence's words, at least half.
fn proving_line<'a>(draft: &Draft, input: &'a ExtractionInput) -> Option<(&'a Line, String)> {
    let quote = draft.quote.as_deref().map(masked);
    if let Some((quote, plain)) =
        quote.as_ref().map(|quote| (quote, folded(quote))).filter(|(_, p)| !p.is_empty())
    {
        let line = input.lines.iter().find(|line| folded(&line.text).contains(&plain))?;
        return Some((line, quote.clone()));
    }
    let plain = folded(&draft.content);
    let words = telling(&draft.content);
    let shared = |line: &Line| telling(&line.text).intersection(&words).count();
    let line =
        input.lines.iter().find(|line| !plain.is_empty() && folded(&line.text).contains(&plain)).or_else(
            || {
                let best = input.lines.iter().max_by_key(|line| shared(line))?;
                (!words.is_empty() && shared(best) * 2 >= words.len()).then_some(best)
            },
        )?;
    Some((line, line.text.clone()))
}

/// The user's messages that ask to remember.
fn commands(turn: &TurnTranscript) -> impl Iterator<Item = Seq> {
    turn.said
        .iter()
        .filter(|said| said.role == Role::User && asks_to_remember(&said.text))
        .map(|said| said.seq)
}

/// The tool messages that what is remembered on command came from: those that hold a word of it that the user did not say.
fn tool_origins(turn: &TurnTranscript, told: &BTreeSet<String>, input: &ExtractionInput) -> Vec<Seq> {
    let users: BTreeSet<String> = input
        .lines
        .iter()
        .filter(|line| line.speaker == Speaker::User)
        .flat_map(|line| telling(&line.text))
        .collect();
    let from_elsewhere: BTreeSet<&String> = told.difference(&users).collect();
    turn.tool_texts
        .iter()
        .filter(|tool| telling(&tool.text).iter().any(|term| from_elsewhere.contains(term)))
        .map(|tool| tool.seq)
        .collect()
}

fn clauses(text: &str) -> impl Iterator<Item = &str> {
    text.split(['。', '！', '？', '；', '，', '\n'])
        .flat_map(|part| part.split(". "))
        .flat_map(|part| part.split(", "))
        .map(str::trim)
        .filter(|clause| !clause.is_empty())
}

/// A pattern that is compiled once; the tests compile them all.
macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(
    REMEMBER,
    r"(?i)(?:^|[.!?,;:]\s*|\b(?:please|and|also|then|now)\s+)(?:remember\s+(?:that|this|these|my|the|it|i\b|to\b|for)|keep in mind|do(?:n't| not|n’t) forget|make a note|note that|write (?:this|that) down)|(?:^|[，。,！!；;\s]|请|帮我|给我|替我|麻烦|要|你)(?:记住|记下|记一下|记好|记着)|(?:别|不要)忘"
);
pattern!(
    ASKS_WHETHER,
    r"(?i)(?:do|did|can|could|don't)\s+you\s+(?:still\s+)?remember|你?(?:还)?记(?:住|下)(?:了)?(?:吗|没|么)"
);
pattern!(
    ACCEPTS,
    r"(?i)^\s*(?:yes|yeah|yep|right|correct|exactly|sure|okay|ok|true|indeed|that's right|that’s right|that is right|please do|sounds good|agreed)(?:\W|$)|^\s*(?:对的?|是的|是啊|没错|好的?|可以|行|嗯+|正确|确认|同意|当然|就这样|不错)(?:[，。！!,.\s啊呀吧哦呢]|$)"
);
pattern!(
    LIKES,
    r"(?i)\b(?:like|likes|love|loves|prefer\w*|hate|hates|dislike\w*|favou?rite|enjoy\w*|always|never|usually|every|want\w*|wish|rather|stand|allergic|please|don't|do not|only|need|needs|no longer|stop)\b|喜欢|爱|偏好|讨厌|不吃|不喝|不要|想要|希望|习惯|总是|每次|每天|通常|一般|最好|请|别|倾向|常|只|受不了|过敏|忌"
);
pattern!(
    PASSES,
    r"(?i)\b(?:once|went|visited|passed through|have been|has been|was in|used to|saw|tried)\b|去过|来过|吃过|看过|到过|玩过|曾经|有一次|有次|路过|那次|刚去|刚从"
);

fn is_match(pattern: &Option<Regex>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Whether a message of the user asks to remember something.
pub(crate) fn asks_to_remember(text: &str) -> bool {
    is_match(&REMEMBER, text) && !is_match(&ASKS_WHETHER, text)
}

/// Whether a message of the user accepts what was said before it.
fn accepts(text: &str) -> bool {
    is_match(&ACCEPTS, text)
}

/// Whether the words tell of something that happened, and of no liking.
fn only_mentioned(quote: &str, line: &str) -> bool {
    is_match(&PASSES, quote) && !is_match(&LIKES, quote) && !is_match(&LIKES, line)
}

#[cfg(test)]
mod tests;
