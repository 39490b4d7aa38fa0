//! Secrets by their shape and by the words before them.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::{MASK, Secret, SecretKind};

/// Decides on a captured value; the second text is what follows it.
type Check = fn(&str, &str) -> bool;

struct Pattern {
    kind: SecretKind,
    regex: Regex,
    check: Check,
}

/// The patterns; where there is a group named `v`, that is the secret, otherwise the whole match is.
/// Word boundaries are those of ASCII: Chinese is written without spaces, so a key may follow a Chinese character.
static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    use SecretKind::{ApiKey, BearerToken, Jwt, Password, PrivateKey};
    let table: [(SecretKind, &str, Check); 15] = [
        (
            PrivateKey,
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
            always,
        ),
        (Jwt, r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", always),
        // OpenAI, Anthropic, DeepSeek and others; Stripe; Groq, xAI, Perplexity.
        (
            ApiKey,
            r"(?-u:\b)(?:sk-[A-Za-z0-9_-]{16,}|[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|pplx-[A-Za-z0-9]{20,})",
            has_digit,
        ),
        // GitHub, GitLab, npm, PyPI, Hugging Face.
        (
            ApiKey,
            r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|hf_[A-Za-z0-9]{30,})",
            always,
        ),
        // AWS, Alibaba Cloud, Tencent Cloud (access key ids), Google (keys and access tokens).
        (
            ApiKey,
            r"(?-u:\b)(?:(?:AKIA|ASIA)[0-9A-Z]{16}|LTAI[A-Za-z0-9]{12,20}|AKID[A-Za-z0-9]{32}|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,})",
            always,
        ),
        // Slack, SendGrid, Telegram bots.
        (
            ApiKey,
            r"(?-u:\b)(?:xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33})",
            always,
        ),
        (BearerToken, r"(?i)(?-u:\b)bearer[ \t]+(?<v>[A-Za-z0-9._~+/=-]{16,})", has_digit),
        (
            BearerToken,
            r#"(?i)(?-u:\b)authorization["']?[ \t]*[:=][ \t]*["']?(?:basic|token|apikey|bearer)[ \t]+(?<v>[A-Za-z0-9._~+/=-]{8,})"#,
            not_masked,
        ),
        // The password in a connection string.
        (Password, r"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@?#]*:(?<v>[^\s/@]+)@", literal),
        // password=…, "DB_PASSWORD": "…"; and the same in quotes, where a password may hold spaces.
        (
            Password,
            r#"(?i)(?:passwords?|passwd|pwd|passphrase|passcode)["'`]?[ \t]*(?:[:=：]|:=|=>)[ \t]*["'`“「]?(?<v>[^\s"'`“”「」,;，；。]{3,})"#,
            password,
        ),
        (
            Password,
            r#"(?i)(?:passwords?|passwd|pwd|passphrase|passcode)["'`]?[ \t]*(?:[:=：]|:=|=>)[ \t]*["“「](?<v>[^"\n“”「」]{3,})["”」]"#,
            password,
        ),
        // api_key=…, accessToken: "…", 密钥：…
        (
            ApiKey,
            r#"(?i)(?:api[_ -]?keys?|access[_ -]?keys?(?:[_ -]?id)?|secret[_ -]?keys?|private[_ -]?key|secret|token|credentials?|密钥|秘钥|令牌)["'`]?[ \t]*(?:[:=：]|:=|=>|is|是|为)[ \t]*["'`“「]?(?<v>[A-Za-z0-9_.~+/=-]{8,})"#,
            key,
        ),
        // my password is …, changed the password to …
        (
            Password,
            r#"(?i)(?-u:\b)(?:passwords?|passwd|pwd|passphrase|passcode)(?:[ \t]+(?:for|of|to|on)(?:[ \t]+[\w.'-]+){1,4}?)?[ \t]+(?:is|was|=|will be|to)[ \t]*:?[ \t]*["'`“]?(?<v>[^\s"'`“”,;]{3,})"#,
            spoken,
        ),
        (
            Password,
            r#"(?i)(?-u:\b)(?:PIN|CVV|CVC)(?:[ \t]+(?:code|number))?(?:[ \t]+(?:for|of|to|on)(?:[ \t]+[\w.'-]+){1,4}?)?[ \t]*(?:is|was|to|[:=：])[ \t]*["'`“]?(?<v>[0-9]{3,8})(?-u:\b)"#,
            not_masked,
        ),
        (
            Password,
            r#"(?i)(?:密码|密碼|口令|验证码|驗證碼|PIN码)[ \t]*(?:(?:已经|已)?(?:改为|改成|设为|设成|设置为|设置成|换成|是|为|為)|就是|叫|[:=：])?[ \t]*[:：]?[ \t]*["'`“‘「]?(?<v>[!-~]{3,})"#,
            chinese,
        ),
    ];
    table
        .into_iter()
        .filter_map(|(kind, pattern, check)| {
            // The patterns are constants that a test compiles; the error has no path to a caller.
            let regex = RegexBuilder::new(pattern).build().ok()?;
            Some(Pattern { kind, regex, check })
        })
        .collect()
});

pub(super) fn find(text: &str, found: &mut Vec<Secret>) {
    for Pattern { kind, regex, check } in PATTERNS.iter() {
        for captures in regex.captures_iter(text) {
            let Some(value) = captures.name("v").or_else(|| captures.get(0)) else { continue };
            // A sentence's full stop or closing bracket is not part of the secret before it.
            let secret =
                value.as_str().trim_end_matches(['.', ',', ';', '?', ')', ']', '}', '>', '"', '\'', '`']);
            let end = value.start() + secret.len();
            let after = text.get(end..).unwrap_or_default();
            if !secret.starts_with(MASK.trim_end()) && check(secret, after) {
                found.push(Secret { kind: *kind, range: value.start()..end });
            }
        }
    }
}

fn always(_: &str, _: &str) -> bool {
    true
}

fn not_masked(value: &str, _: &str) -> bool {
    !value.is_empty()
}

fn has_digit(value: &str, _: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

fn has_letter(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Not a placeholder, variable or expression that stands for the value.
fn literal(value: &str, after: &str) -> bool {
    let stands_for = ["${", "$(", "{", "<", "%", "[", "(", "os.", "env.", "process.", "std::", "self.", "&"];
    let variable = value.strip_prefix('$').is_some_and(|name| {
        name.len() > 1
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
    });
    value.bytes().any(|byte| byte.is_ascii_alphanumeric())
        && !variable
        && !after.starts_with('(')
        && !value.ends_with(['(', '['])
        && !stands_for.iter().any(|start| value.starts_with(start))
}

/// What is assigned to a password: anything of three characters or more but placeholders and the names of types.
fn password(value: &str, after: &str) -> bool {
    value.len() >= 3 && literal(value, after) && has_ascii(value) && !is_talk(value)
}

/// What is assigned to a key or token: long, of letters and digits, and not a date.
fn key(value: &str, after: &str) -> bool {
    let dated = matches!(value.as_bytes(), [a, b, c, d, b'-', ..] if [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()));
    value.len() >= 8 && has_digit(value, after) && has_letter(value) && literal(value, after) && !dated
}

/// What is said of a password: "is wrong" says nothing secret; after "to" only what looks made up counts.
fn spoken(value: &str, after: &str) -> bool {
    let made_up = has_digit(value, after) || value.bytes().any(|byte| byte.is_ascii_punctuation());
    // "is correct and …": a password is seldom followed by more of the same clause, a remark often is.
    let sentence_goes_on =
        after.starts_with(' ') && after.trim_start().starts_with(|next: char| next.is_ascii_lowercase());
    value.len() >= 3
        && has_ascii(value)
        && literal(value, after)
        && !is_talk(value)
        && (made_up && value.len() >= 4 || !sentence_goes_on)
}

/// After 密码: ASCII that is not a number of characters, a year or a Latin word in a Chinese sentence.
fn chinese(value: &str, after: &str) -> bool {
    let counted = value.bytes().all(|byte| byte.is_ascii_digit())
        && after.trim_start().starts_with(['位', '个', '年', '月', '次', '天', '分', '秒', '小', '种', '元']);
    let plain_word = value.bytes().all(|byte| byte.is_ascii_alphabetic())
        && after.trim_start().starts_with(crate::terms::is_han);
    literal(value, after)
        && !counted
        && !plain_word
        && !is_talk(value)
        && value.bytes().filter(u8::is_ascii_alphanumeric).count() >= 3
}

fn has_ascii(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// Words that follow "password is" or "password:" without being one.
const TALK: &[&str] = &[
    "a",
    "about",
    "absent",
    "again",
    "all",
    "already",
    "also",
    "always",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "as",
    "at",
    "bad",
    "be",
    "been",
    "being",
    "bool",
    "boolean",
    "bytes",
    "case",
    "case-sensitive",
    "changed",
    "char",
    "compromised",
    "confirmed",
    "correct",
    "created",
    "default",
    "different",
    "easy",
    "empty",
    "encrypted",
    "enough",
    "entered",
    "expired",
    "expiring",
    "false",
    "field",
    "for",
    "forgotten",
    "found",
    "good",
    "gone",
    "hard",
    "hashed",
    "hidden",
    "in",
    "incorrect",
    "input",
    "invalid",
    "it",
    "just",
    "kept",
    "known",
    "lost",
    "mandatory",
    "masked",
    "missing",
    "must",
    "my",
    "needed",
    "never",
    "no",
    "none",
    "not",
    "null",
    "ok",
    "old",
    "on",
    "only",
    "optional",
    "option",
    "protected",
    "random",
    "redacted",
    "required",
    "reset",
    "safe",
    "same",
    "saved",
    "secret",
    "secure",
    "sent",
    "set",
    "shared",
    "should",
    "still",
    "stored",
    "str",
    "string",
    "strong",
    "text",
    "the",
    "too",
    "true",
    "undefined",
    "unknown",
    "used",
    "valid",
    "weak",
    "wrong",
];

fn is_talk(value: &str) -> bool {
    let word = value.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()).to_ascii_lowercase();
    TALK.contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::PATTERNS;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.len(), 15);
    }
}
