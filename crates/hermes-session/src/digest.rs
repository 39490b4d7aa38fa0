//! The digest: a summary by rule, which stands in where no model writes one (S4).
//!
//! It keeps, turn by turn and each with its speaker, what the user asked and what was concluded, and names the tools that ran. When it
//! outgrows its measure, what matters least goes first: names of tools, then old answers, then the ends of long lines, then the oldest lines.

use std::sync::Arc;

use hermes_core::{Body, Message, TokenCounter, Tokens};
use hermes_text::{Language, truncate_chars};

/// How much of what the user said stays, in characters. Our choice: three or four sentences.
const USER_CHARS: usize = 240;
/// How much of a conclusion stays.
const ANSWER_CHARS: usize = 160;
/// What a long line is cut to when room is short.
const SHORT_CHARS: usize = 80;

/// The words that a digest needs.
struct Words {
    user: &'static str,
    assistant: &'static str,
    notice: &'static str,
    tools: &'static str,
    failed: &'static str,
    left_out: &'static str,
}

const fn words(language: Language) -> Words {
    match language {
        Language::English => Words {
            user: "- User: ",
            assistant: "- Assistant: ",
            notice: "- Notice: ",
            tools: "- Tools: ",
            failed: " (failed)",
            left_out: "(Earlier points are left out here; they are in the log.)",
        },
        Language::Chinese => Words {
            user: "- 用户：",
            assistant: "- 助手：",
            notice: "- 通知：",
            tools: "- 工具：",
            failed: "（失败）",
            left_out: "（更早的要点此处从略，完整内容在日志中。）",
        },
    }
}

/// The digest of the summary so far and of further turns, with at most `max` tokens.
pub(crate) fn digest(
    previous: Option<&str>,
    turns: &[&[Arc<Message>]],
    language: Language,
    max: Tokens,
    counter: &dyn TokenCounter,
) -> String {
    let words = words(language);
    let mut lines: Vec<Line> = Vec::new();
    let mut was_cut = false;
    for line in previous.unwrap_or_default().lines().filter(|line| !line.trim().is_empty()) {
        if is_left_out(line) {
            was_cut = true;
        } else {
            lines.push(Line::new(line.to_owned(), counter));
        }
    }
    for turn in turns {
        lines.extend(lines_of(turn, &words).into_iter().map(|line| Line::new(line, counter)));
    }
    let room = max.saturating_sub(counter.count(words.left_out) + Tokens::new(1));
    was_cut |= fit(&mut lines, room, counter);
    let mut text = String::new();
    if was_cut {
        text.push_str(words.left_out);
    }
    for line in &lines {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line.text);
    }
    text
}

fn is_left_out(line: &str) -> bool {
    [Language::English, Language::Chinese].iter().any(|&language| words(language).left_out == line)
}

/// A line with its tokens, the line end included.
struct Line {
    text: String,
    tokens: Tokens,
}

impl Line {
    fn new(text: String, counter: &dyn TokenCounter) -> Self {
        let tokens = counter.count(&text) + Tokens::new(1);
        Self { text, tokens }
    }

    fn speaks(&self, who: impl Fn(Words) -> &'static str) -> bool {
        [Language::English, Language::Chinese]
            .iter()
            .any(|&language| self.text.starts_with(who(words(language))))
    }
}

/// What one turn leaves in a digest.
fn lines_of(turn: &[Arc<Message>], words: &Words) -> Vec<String> {
    let mut lines = Vec::new();
    let mut tools: Vec<(&str, bool)> = Vec::new();
    let mut answer = String::new();
    for message in turn {
        match message.body() {
            Body::User { .. } => lines.push(line(words.user, &message.text(), USER_CHARS)),
            Body::System { .. } => lines.push(line(words.notice, &message.text(), ANSWER_CHARS)),
            // The last thing said is the conclusion.
            Body::Assistant { .. } if !message.text().trim().is_empty() => answer = message.text(),
            Body::ToolResult(result) => match tools.iter_mut().find(|(name, _)| *name == result.tool) {
                Some((_, failed)) => *failed = result.failure.is_some(),
                None => tools.push((&result.tool, result.failure.is_some())),
            },
            Body::Assistant { .. } | Body::CallStarted(_) => {}
        }
    }
    if !tools.is_empty() {
        let names: Vec<_> = tools
            .iter()
            .map(|(name, failed)| format!("{name}{}", if *failed { words.failed } else { "" }))
            .collect();
        lines.push(line(words.tools, &names.join(", "), ANSWER_CHARS));
    }
    if !answer.is_empty() {
        lines.push(line(words.assistant, &answer, ANSWER_CHARS));
    }
    lines
}

fn line(who: &str, text: &str, max: usize) -> String {
    // A line stays one, so that the digest can be shortened line by line.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{who}{}", truncate_chars(&text, max))
}

/// Brings the lines down to the room; says whether any line went altogether.
fn fit(lines: &mut Vec<Line>, room: Tokens, counter: &dyn TokenCounter) -> bool {
    let mut total: Tokens = lines.iter().map(|line| line.tokens).sum();
    if total <= room {
        return false;
    }
    let before = lines.len();
    drop_oldest(lines, &mut total, room, |line| line.speaks(|words| words.tools));
    let half = lines.len() / 2;
    let mut at = 0;
    // Answers of the older half, then long lines of all, then what is oldest.
    drop_oldest(lines, &mut total, room, |line| {
        at += 1;
        at <= half && line.speaks(|words| words.assistant)
    });
    for line in lines.iter_mut() {
        if total <= room {
            break;
        }
        let short = Line::new(truncate_chars(&line.text, SHORT_CHARS).into_owned(), counter);
        if short.tokens < line.tokens {
            total = total.saturating_sub(line.tokens) + short.tokens;
            *line = short;
        }
    }
    drop_oldest(lines, &mut total, room, |_| true);
    lines.len() < before
}

fn drop_oldest(
    lines: &mut Vec<Line>,
    total: &mut Tokens,
    room: Tokens,
    mut which: impl FnMut(&Line) -> bool,
) {
    lines.retain(|line| {
        let goes = which(line) && *total > room;
        if goes {
            *total = total.saturating_sub(line.tokens);
        }
        !goes
    });
}

/// The text of turns that a summariser is given: who said what, the calls and the beginnings of their results.
pub(crate) fn transcript(turns: &[&[Arc<Message>]], language: Language) -> String {
    let words = words(language);
    let mut text = String::new();
    let mut push = |who: &str, said: &str| {
        if !said.trim().is_empty() {
            text.push_str(who.trim_start_matches("- "));
            text.push_str(said.trim());
            text.push('\n');
        }
    };
    for message in turns.iter().copied().flatten() {
        match message.body() {
            Body::User { .. } => push(words.user, &message.text()),
            Body::System { .. } => push(words.notice, &message.text()),
            Body::Assistant { calls, .. } => {
                push(words.assistant, &message.text());
                for call in calls {
                    push(words.tools, &truncate_chars(&call.to_string(), USER_CHARS));
                }
            }
            Body::ToolResult(result) => {
                push(
                    words.tools,
                    &format!("{} → {}", result.tool, truncate_chars(&message.text(), USER_CHARS)),
                );
            }
            Body::CallStarted(_) => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use hermes_core::{NewMessage, Seq};
    use jiff::Timestamp;

    use super::*;
    use crate::EstimateCounter;

    fn turn(user: &str, answer: &str) -> Vec<Arc<Message>> {
        [NewMessage::user(user), NewMessage::assistant(answer)]
            .into_iter()
            .map(|new| Arc::new(Message::from_new(new, Seq::new(1), Timestamp::UNIX_EPOCH)))
            .collect()
    }

    #[test]
    fn requests_and_conclusions_stay_with_their_speakers() {
        let turns = [turn("Book a table\nfor two", "Booked: M-23891."), turn("thanks", "You are welcome.")];
        let turns: Vec<_> = turns.iter().map(Vec::as_slice).collect();
        let text = digest(None, &turns, Language::English, Tokens::new(600), &EstimateCounter::new());
        let expected = "- User: Book a table for two\n- Assistant: Booked: M-23891.\n- User: thanks\n- Assistant: You are welcome.";
        assert_eq!(text, expected);
    }

    #[test]
    fn it_stays_within_its_measure_however_often_it_grows() {
        let counter = EstimateCounter::new();
        for max in [0, 1, 20, 100, 600] {
            let mut text = String::new();
            for n in 0..60 {
                let turn = turn(
                    &format!("第 {n} 个问题：{}", "请看看".repeat(n)),
                    &"好的，已经完成。".repeat(n % 7),
                );
                text = digest(Some(&text), &[&turn], Language::Chinese, Tokens::new(max), &counter);
                // Where not even the notice fits, it alone stands: whoever sends it cuts it.
                let least = counter.count(words(Language::Chinese).left_out);
                assert!(counter.count(&text) <= Tokens::new(max).max(least), "{max}: {text}");
            }
            assert!(max < 600 || text.contains("第 59 个问题"), "{max}: {text}");
        }
    }
}
