//! Payment card numbers: digits that a card network could have issued and whose check digit is right.

use std::sync::LazyLock;

use regex::Regex;

use super::{Secret, SecretKind};

/// 13 to 19 digits (ISO/IEC 7812), single spaces or hyphens between groups.
static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[0-9](?:[ -]?[0-9]){12,18}").ok());

/// How far before a number the words are looked for that say what it is.
const CONTEXT_BYTES: usize = 40;

/// Words that say a number is something else.
const OTHER_NUMBERS: &[&str] = &[
    "order",
    "invoice",
    "tracking",
    "parcel",
    "ticket no",
    "serial",
    "imei",
    "isbn",
    "订单",
    "运单",
    "快递",
    "单号",
    "流水",
    "编号",
];

/// Words that say a number is a card's.
const CARDS: &[&str] = &["card", "visa", "credit", "debit", "卡号", "银行卡", "信用卡"];

pub(super) fn find(text: &str, found: &mut Vec<Secret>) {
    let Some(digits) = DIGITS.as_ref() else { return };
    let mut from = 0;
    while let Some(candidate) = digits.find_at(text, from) {
        let range = candidate.range();
        // What is part of a longer number or word (a hash, a UUID, a decimal) is not a card number.
        let before = text.get(..range.start).unwrap_or_default();
        let after = text.get(range.end..).unwrap_or_default();
        let glued = before.ends_with(glue)
            || after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            || after.trim_start_matches(['-', '.']).len() < after.len()
                && after.trim_start_matches(['-', '.']).starts_with(|c: char| c.is_ascii_alphanumeric());
        if !glued && is_card(candidate.as_str(), &context(before)) {
            found.push(Secret { kind: SecretKind::CardNumber, range: range.clone() });
            from = range.end;
        } else {
            // "3 4111 1111 1111 1111" starts at the 3: go on behind its first group.
            let group = candidate.as_str().find([' ', '-']).unwrap_or(candidate.len());
            from = range.start + group;
        }
    }
}

fn glue(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | '+' | '#')
}

/// The end of what stands before, lower-cased.
fn context(before: &str) -> String {
    let start = before.ceil_char_boundary(before.len().saturating_sub(CONTEXT_BYTES));
    before.get(start..).unwrap_or_default().to_lowercase()
}

fn is_card(written: &str, context: &str) -> bool {
    let groups: Vec<usize> = written.split([' ', '-']).map(str::len).collect();
    let digits: Vec<u8> = written.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
    let last = |words: &[&str]| words.iter().filter_map(|word| context.rfind(word)).max();
    let named = last(CARDS);
    // The nearer word decides: "card for order 12: 4111 …" and "card order no. …" differ.
    if last(OTHER_NUMBERS) > named {
        return false;
    }
    let grouped = match groups.as_slice() {
        [_] => false,
        [4, 4, 4, 1..=4] | [4, 4, 4, 4, 1..=3] | [4, 6, 4 | 5] | [6, 13] => true,
        _ => return false,
    };
    issued(&digits, grouped || named.is_some()) && luhn(&digits)
}

/// Whether a network issues numbers of this beginning and length. Lengths that are rare among cards and common among
/// other numbers (13-digit article numbers, 19-digit database keys) need a sign: groups of four, or the word "card".
fn issued(digits: &[u8], sign: bool) -> bool {
    match (digits, digits.len()) {
        ([4, ..], 16) => true,
        ([4, ..], 13 | 19) => sign,                    // Visa
        ([5, 1..=5, ..] | [2, 2..=7, ..], 16) => true, // Mastercard
        ([3, 4 | 7, ..], 15) => true,                  // American Express
        ([6, 2, ..], 16) => true,
        ([6, 2, ..], 17..=19) => true, // UnionPay
        ([6, 0, 1, 1, ..] | [6, 4, 4..=9, ..] | [6, 5, ..], 16) => true, // Discover
        ([3, 5, ..], 16) => true,      // JCB
        ([3, 0 | 6 | 8 | 9, ..], 14) => sign, // Diners Club
        ([5, 0 | 6..=9, ..] | [6, ..] | [9, ..], 13..=19) => sign, // Maestro, local networks
        _ => false,
    }
}

/// The check digit of ISO/IEC 7812-1, annex B.
fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| match (place % 2, u32::from(digit) * 2) {
            (0, doubled) => doubled / 2,
            (_, doubled) if doubled > 9 => doubled - 9,
            (_, doubled) => doubled,
        })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|&digit| digit != 0)
}
