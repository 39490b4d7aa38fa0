//! Text to pieces: normalising, runs, longest matches.
//!
//! 1. A space goes between an ASCII lower-case letter or digit and an ASCII capital after it (`getWeather`).
//! 2. NFKD, lower case, NFKD again; combining marks are dropped; traditional characters become simplified ones.
//! 3. Runs of `[a-z0-9]` and runs of Chinese characters are taken; all else only separates.
//! 4. A Latin run gives the longest piece at its start, then the longest continuing pieces; what matches nothing is
//!    skipped by one character.
//! 5. A Chinese run gives the longest match of at most four characters and, where that is a word, its characters as
//!    well: `川菜馆` gives `川菜馆`, `川`, `菜`, `馆` if it is in the vocabulary.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::vocab::{Simplified, Vocabulary};

/// The longest Chinese match, in characters.
const LONGEST_WORD: usize = 4;

/// The bytes of one Chinese character of the two blocks that count (U+3400–4DBF and U+4E00–9FFF) in UTF-8.
const CHINESE_BYTES: usize = 3;

/// Calls `found` with the id of each piece of `text`, in order.
pub(crate) fn pieces(
    text: &str,
    vocabulary: &Vocabulary<'_>,
    simplified: &Simplified,
    mut found: impl FnMut(u32),
) {
    let mut run = String::new();
    let mut kind = Script::Other;
    for character in normalise(text, simplified) {
        let script = Script::of(character);
        if script != kind {
            match_run(&run, kind, vocabulary, &mut found);
            run.clear();
            kind = script;
        }
        if script != Script::Other {
            run.push(character);
        }
    }
    match_run(&run, kind, vocabulary, &mut found);
}

/// Cuts a text into parts of at most `limit` bytes (at least one character) that give the same pieces as the whole:
/// a part ends behind a character that separates. Only where a part has no such character is it cut between any two,
/// which can divide a word; that takes `limit` bytes without a space or common punctuation mark.
pub(crate) fn parts(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (part, after) = rest.split_at_checked(cut(rest, limit)).unwrap_or((rest, ""));
        rest = after;
        Some(part)
    })
}

fn cut(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    let end = match text.floor_char_boundary(limit) {
        0 => text.ceil_char_boundary(1),
        end => end,
    };
    let head = text.get(..end).unwrap_or(text);
    head.rfind(separates).and_then(|at| Some(at + head.get(at..)?.chars().next()?.len_utf8())).unwrap_or(end)
}

/// Whether a character separates runs whatever stands beside it: it stays a separator when normalised and takes no
/// part in any composition or in rule 1.
const fn separates(character: char) -> bool {
    match character {
        '\u{3000}'..='\u{3002}' | '！' | '，' | '：' | '；' | '？' => true,
        _ => character.is_ascii() && !character.is_ascii_alphanumeric(),
    }
}

fn normalise<'a>(text: &'a str, simplified: &'a Simplified) -> impl Iterator<Item = char> + 'a {
    let mut before = ' ';
    text.chars()
        .flat_map(move |character| {
            let hump =
                character.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
            before = character;
            hump.then_some(' ').into_iter().chain([character])
        })
        .nfkd()
        .flat_map(char::to_lowercase)
        .nfkd()
        .filter(|&character| !is_combining_mark(character))
        .map(|character| simplified.get(character))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Chinese,
    Other,
}

impl Script {
    const fn of(character: char) -> Self {
        match character {
            'a'..='z' | '0'..='9' => Self::Latin,
            '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => Self::Chinese,
            _ => Self::Other,
        }
    }
}

fn match_run(run: &str, script: Script, vocabulary: &Vocabulary<'_>, found: &mut impl FnMut(u32)) {
    match script {
        Script::Latin => match_latin(run, vocabulary, found),
        Script::Chinese => match_chinese(run, vocabulary, found),
        Script::Other => {}
    }
}

fn match_latin(run: &str, vocabulary: &Vocabulary<'_>, found: &mut impl FnMut(u32)) {
    let mut start = 0;
    while start < run.len() {
        // One byte is one character here, so every end is a boundary.
        let longest = (start + vocabulary.longest()).min(run.len());
        let best = (start + 1..=longest).rev().find_map(|end| {
            let piece = run.get(start..end)?;
            let id = match start {
                0 => vocabulary.first(piece),
                _ => vocabulary.next(piece),
            };
            Some((end, id?))
        });
        start = match best {
            Some((end, id)) => {
                found(id);
                end
            }
            None => start + 1,
        };
    }
}

fn match_chinese(run: &str, vocabulary: &Vocabulary<'_>, found: &mut impl FnMut(u32)) {
    let mut rest = run;
    while !rest.is_empty() {
        let best = (1..=LONGEST_WORD).rev().find_map(|length| {
            let (piece, after) = rest.split_at_checked(length * CHINESE_BYTES)?;
            Some((length, piece, after, vocabulary.first(piece)?))
        });
        rest = match best {
            Some((length, piece, after, id)) => {
                found(id);
                if length > 1 {
                    let mut character = [0; 4];
                    piece
                        .chars()
                        .filter_map(|c| vocabulary.first(c.encode_utf8(&mut character)))
                        .for_each(&mut *found);
                }
                after
            }
            None => rest.get(CHINESE_BYTES..).unwrap_or(""),
        };
    }
}
