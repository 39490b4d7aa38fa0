//! Terms as they stand in the index: each with a mark of its owner before it.
//!
//! An index of arrays sorts by term alone, and a term that everybody uses would lead a search through the messages of
//! everybody. With the mark, a search reads only what its owner wrote. The mark is a hash: where two owners share one,
//! a search reads the messages of both, and tells them apart by their sessions.

use hermes_core::{Message, Owner};

use crate::escape::escaped;

/// What the mark is written with; 32 of them, so that each stands for five bits.
const LETTERS: [char; 32] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k',
    'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v',
];

/// Six letters tell 2^30 owners apart, and lengthen each term by little.
const MARK_LETTERS: u32 = 6;

/// The mark of an owner. It is stored: changing how it is made needs a migration.
fn mark(owner: &Owner) -> String {
    let text = [owner.tenant.as_str().as_bytes(), &[0], owner.user.as_str().as_bytes()].concat();
    let hash = fnv1a(&text);
    (0..MARK_LETTERS)
        .filter_map(|n| LETTERS.get(usize::try_from((hash >> (5 * n)) & 31).unwrap_or_default()))
        .collect()
}

/// FNV-1a with 64 bits, <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Terms of an owner as they stand in the index.
pub(crate) fn marked(owner: &Owner, terms: &[String]) -> Vec<String> {
    let mark = mark(owner);
    terms.iter().map(|term| format!("{mark}{}", escaped(term))).collect()
}

/// What a message is found by, joined by spaces, of which terms have none.
pub(crate) fn of_message(owner: &Owner, message: &Message) -> String {
    marked(owner, &hermes_text::index_terms(&message.body().search_text())).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        // Test vectors of the draft, appendix C.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn owners_have_marks_of_their_own() {
        let owner = |tenant: &str, user: &str| Owner::new(tenant.parse().unwrap(), user.parse().unwrap());
        let marks = [owner("acme", "dana"), owner("acmed", "ana"), owner("dana", "acme")].map(|o| mark(&o));
        assert!(marks.iter().all(|mark| mark.len() == 6), "{marks:?}");
        assert!(marks[0] != marks[1] && marks[1] != marks[2] && marks[0] != marks[2], "{marks:?}");
    }
}
