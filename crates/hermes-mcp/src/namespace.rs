//! Names (M4): every tool has two, the server's and ours. Pure.
//!
//! Ours is `prefix_tool`. Where that is too long or holds characters that model providers refuse, it is shortened and ends in
//! a hash of the server's name. It depends on the prefix and the server's name alone, so it is the same in every order of
//! connecting, in every process and after every reconnect. The way back is the table of the names that were given out.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::error::Error;

/// The longest name of a tool that the large providers take.
pub const MAX_NAME: usize = 64;

/// The longest prefix: half of a name stays for the tool.
pub const MAX_PREFIX: usize = 32;

/// How many hexadecimal digits of the hash a shortened name carries: 40 bits, one collision expected among a million names.
const HASH_DIGITS: usize = 10;

/// Checks that a prefix can begin a name.
///
/// # Errors
/// [`Error::Prefix`] unless it is 1 to 32 of `A-Z a-z 0-9 _ -`.
pub fn check_prefix(prefix: &str) -> Result<(), Error> {
    if !prefix.is_empty() && prefix.len() <= MAX_PREFIX && prefix.bytes().all(allowed) {
        Ok(())
    } else {
        Err(Error::Prefix { prefix: hermes_text::truncate_chars(prefix, 64).into_owned() })
    }
}

/// Our name for a server's tool.
///
/// ```
/// use hermes_mcp::namespace::expose;
/// assert_eq!(expose("billing", "ping"), "billing_ping");
/// assert_eq!(expose("files", "read.file"), expose("files", "read.file"));
/// assert_ne!(expose("files", "read.file"), expose("files", "read_file"));
/// assert!(expose("files", &"x".repeat(200)).len() <= 64);
/// ```
#[must_use]
pub fn expose(prefix: &str, tool: &str) -> String {
    let plain = format!("{prefix}_{tool}");
    if !tool.is_empty() && plain.len() <= MAX_NAME && tool.bytes().all(allowed) {
        return plain;
    }
    let room = MAX_NAME.saturating_sub(prefix.len() + HASH_DIGITS + 2);
    let readable: String =
        tool.chars().map(|c| if c.is_ascii() && allowed_char(c) { c } else { '_' }).take(room).collect();
    format!("{prefix}_{readable}_{}", digest(tool))
}

/// The names that have been given out, for the way back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names(BTreeMap<String, (String, String)>);

impl Names {
    /// Gives out the name of a tool. The same tool again has the same name.
    ///
    /// # Errors
    /// [`Error::Collision`] when another tool has it.
    pub fn give(&mut self, prefix: &str, tool: &str) -> Result<String, Error> {
        let name = expose(prefix, tool);
        let owner = (prefix.to_owned(), tool.to_owned());
        match self.0.get(&name) {
            Some(other) if *other != owner => Err(Error::Collision {
                name,
                first: format!("{}/{}", other.0, other.1),
                second: format!("{prefix}/{tool}"),
            }),
            Some(_) => Ok(name),
            None => {
                self.0.insert(name.clone(), owner);
                Ok(name)
            }
        }
    }

    /// The server's prefix and its own name of a tool, exactly.
    #[must_use]
    pub fn original(&self, name: &str) -> Option<(&str, &str)> {
        self.0.get(name).map(|(prefix, tool)| (prefix.as_str(), tool.as_str()))
    }
}

const fn allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn allowed_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn digest(tool: &str) -> String {
    let mut text = hex(&Sha256::digest(tool.as_bytes()));
    text.truncate(HASH_DIGITS);
    text
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn prefixes_are_checked() {
        for good in ["a", "booking", "git-hub_2", &"x".repeat(32)] {
            assert!(check_prefix(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "täst", "a/b", &"x".repeat(33)] {
            assert!(matches!(check_prefix(bad), Err(Error::Prefix { .. })), "{bad}");
        }
    }

    #[test]
    fn a_collision_names_both_tools() {
        let mut names = Names::default();
        names.give("a", "b_c").unwrap();
        let error = names.give("a_b", "c").unwrap_err().to_string();
        assert!(error.contains("a/b_c") && error.contains("a_b/c") && error.contains("a_b_c"), "{error}");
    }

    proptest! {
        #[test]
        fn names_go_there_and_back(tools in prop::collection::btree_set(".{0,90}|[a-z_]{50,80}", 0..40), prefix in "[A-Za-z0-9_-]{1,32}") {
            let mut names = Names::default();
            let mut back = names.clone();
            let given: Vec<_> = tools.iter().map(|tool| (names.give(&prefix, tool).unwrap(), tool)).collect();
            for tool in tools.iter().rev() {
                back.give(&prefix, tool).unwrap();
            }
            prop_assert_eq!(&names, &back);
            for (name, tool) in given {
                let begins = format!("{prefix}_");
                prop_assert!(name.len() <= MAX_NAME && name.bytes().all(allowed) && name.starts_with(&begins));
                prop_assert_eq!(names.original(&name), Some((prefix.as_str(), tool.as_str())));
            }
        }
    }
}
