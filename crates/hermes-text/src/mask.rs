//! Finding and masking secrets: keys, card numbers, passwords (R12, L7).
//!
//! A secret is recognised by its own shape (the prefix of a provider's keys, a card number's check digit), or by what
//! stands before it (`password=`, `my PIN is`, `密码是`). Order numbers, dates, phone numbers, UUIDs and hashes are
//! none, and talk about secrets (`the password is wrong`) is none either. It is a filter, not a proof: a password
//! that nothing announces cannot be seen.

use std::{borrow::Cow, fmt, ops::Range};

mod card;
mod pattern;

/// What kind of secret a text holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SecretKind {
    /// A key or token of a service, by its shape or by the name it is assigned to.
    ApiKey,
    /// The credentials of an `Authorization` header.
    BearerToken,
    /// A JSON Web Token.
    Jwt,
    /// A private key in PEM form.
    PrivateKey,
    /// The number of a payment card.
    CardNumber,
    /// A password, passphrase, PIN or one-time code.
    Password,
}

impl fmt::Display for SecretKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ApiKey => "API key",
            Self::BearerToken => "bearer token",
            Self::Jwt => "JSON web token",
            Self::PrivateKey => "private key",
            Self::CardNumber => "card number",
            Self::Password => "password",
        })
    }
}

/// A secret and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What it is.
    pub kind: SecretKind,
    /// Its bytes in the text, without the words or quotes around it.
    pub range: Range<usize>,
}

/// How every mask begins; a value that begins so is not a secret any more.
const MASK: &str = "[masked ";

/// The text with every secret replaced by `[masked …]`, which names its kind. Masking a masked text changes nothing.
///
/// ```
/// use hermes_text::mask_secrets;
/// assert_eq!(mask_secrets("DB_PASSWORD=s3cr3t-pw"), "DB_PASSWORD=[masked password]");
/// assert_eq!(mask_secrets("card 4111 1111 1111 1111, thanks"), "card [masked card number], thanks");
/// assert_eq!(mask_secrets("order 20250314-77 is late"), "order 20250314-77 is late");
/// ```
#[must_use]
pub fn mask_secrets(text: &str) -> Cow<'_, str> {
    let found = secrets(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for secret in found {
        masked.push_str(text.get(end..secret.range.start).unwrap_or_default());
        masked.push_str(&format!("{MASK}{}]", secret.kind));
        end = secret.range.end;
    }
    masked.push_str(text.get(end..).unwrap_or_default());
    Cow::Owned(masked)
}

/// The kind of the first secret in the text, if there is one.
///
/// ```
/// use hermes_text::{SecretKind, contains_secret};
/// assert_eq!(contains_secret("my PIN is 4821"), Some(SecretKind::Password));
/// assert_eq!(contains_secret("银行卡密码忘了怎么办"), None);
/// ```
#[must_use]
pub fn contains_secret(text: &str) -> Option<SecretKind> {
    secrets(text).first().map(|secret| secret.kind)
}

/// All secrets of a text in order; they do not overlap.
#[must_use]
pub fn secrets(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    pattern::find(text, &mut found);
    card::find(text, &mut found);
    // Of overlapping finds the one that starts first says what it is; what reaches beyond it is masked with it.
    found.sort_by_key(|secret| (secret.range.start, usize::MAX - secret.range.end));
    let mut merged: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match merged.last_mut() {
            Some(last) if secret.range.start < last.range.end => {
                last.range.end = last.range.end.max(secret.range.end)
            }
            _ => merged.push(secret),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
