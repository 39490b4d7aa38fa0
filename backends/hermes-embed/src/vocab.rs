//! The vocabulary and the table of traditional characters, as lookups.

use std::collections::HashMap;

/// Marks a piece that continues a Latin word, in the vocabulary file.
const CONTINUATION: &str = "##";

/// Pieces to ids. Line `i` of the file, counted from 0, is piece `i`.
#[derive(Debug)]
pub(crate) struct Vocabulary<'a> {
    /// Pieces that begin a Latin word, and all Chinese ones.
    first: HashMap<&'a str, u32>,
    /// Pieces that continue a Latin word, without their mark.
    next: HashMap<&'a str, u32>,
    longest: usize,
}

impl<'a> Vocabulary<'a> {
    pub(crate) fn parse(lines: &'a str) -> Self {
        let mut vocabulary = Self { first: HashMap::new(), next: HashMap::new(), longest: 0 };
        for (id, line) in (0..).zip(lines.lines()) {
            let (map, piece) = match line.strip_prefix(CONTINUATION) {
                Some(piece) => (&mut vocabulary.next, piece),
                None => (&mut vocabulary.first, line),
            };
            map.insert(piece, id);
            vocabulary.longest = vocabulary.longest.max(piece.len());
        }
        vocabulary
    }

    /// The id of a piece at the start of a word, or of a Chinese piece.
    pub(crate) fn first(&self, piece: &str) -> Option<u32> {
        self.first.get(piece).copied()
    }

    /// The id of a piece inside a Latin word, given without its mark.
    pub(crate) fn next(&self, piece: &str) -> Option<u32> {
        self.next.get(piece).copied()
    }

    /// The bytes of the longest piece: no longer text needs looking up.
    pub(crate) const fn longest(&self) -> usize {
        self.longest
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.first.len() + self.next.len()
    }
}

/// Traditional Chinese characters to simplified ones.
#[derive(Debug)]
pub(crate) struct Simplified(HashMap<char, char>);

impl Simplified {
    /// Reads two characters a line, traditional then simplified. Other lines are skipped.
    pub(crate) fn parse(lines: &str) -> Self {
        let pair = |line: &str| {
            let mut chars = line.chars();
            match (chars.next(), chars.next(), chars.next()) {
                (Some(traditional), Some(simplified), None) => Some((traditional, simplified)),
                _ => None,
            }
        };
        Self(lines.lines().filter_map(pair).collect())
    }

    /// The simplified form, or the character itself.
    pub(crate) fn get(&self, character: char) -> char {
        // Nothing below the Chinese blocks is listed: Latin text skips the lookup.
        if character < '\u{3400}' {
            return character;
        }
        self.0.get(&character).copied().unwrap_or(character)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
