//! What services say when they fail, as errors of the core.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::ModelError;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::StatusCode;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// How much of a service's own words an error keeps, in characters.
const MESSAGE_CHARS: usize = 500;

/// The codes and types by which services say that a request is too long: OpenAI, llama.cpp.
const TOO_LONG_CODES: [&str; 3] =
    ["context_length_exceeded", "exceed_context_size_error", "string_above_max_length"];

/// How the others say it, in lower case: vLLM and OpenAI, llama.cpp, Anthropic's and Google's compatible services, TEI.
const TOO_LONG_PHRASES: [&str; 9] = [
    "maximum context length",
    "context size",
    "context window",
    "context length",
    "prompt is too long",
    "input is too long",
    "is too large to process",
    "input token count",
    "must have less than",
];

/// What a service said about its failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Its words, shortened.
    pub(crate) message: String,
    /// Its code or type, where it is a word.
    code: String,
    /// Its code, where that is an HTTP status.
    status: Option<u16>,
}

impl Complaint {
    /// Reads the body of an error in any of the usual shapes; what has no shape is quoted.
    pub(crate) fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::find(&value).unwrap_or_else(|| Self::words(body)),
            Err(_) => Self::words(body),
        }
    }

    /// The complaint in a piece of an answer, when it is one.
    pub(crate) fn within(data: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(data).ok()?;
        let is_error = value.get("error").is_some_and(|error| !error.is_null())
            || value.get("object").and_then(Value::as_str) == Some("error");
        if is_error { Self::find(&value) } else { None }
    }

    fn find(value: &Value) -> Option<Self> {
        // Google's compatible service wraps the object in a list.
        let value = value.get(0).unwrap_or(value);
        let detail = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        if let Some(words) = detail.as_str() {
            return Some(Self::words(words));
        }
        let text = |key: &str| detail.get(key).and_then(Value::as_str);
        let code = text("code").or_else(|| text("type")).unwrap_or_default().to_owned();
        // OpenRouter and llama.cpp give a number, others the number as text.
        let status = detail.get("code").and_then(|code| match code {
            Value::Number(number) => number.as_u64().and_then(|number| u16::try_from(number).ok()),
            Value::String(text) => text.parse().ok(),
            _ => None,
        });
        let status = status.filter(|status| (400..600).contains(status));
        let message = text("message").or_else(|| text("detail")).or_else(|| text("msg"));
        let message = message.map_or_else(|| detail.to_string(), str::to_owned);
        Some(Self { message: cut(&message), code, status })
    }

    fn words(text: &str) -> Self {
        Self { message: cut(text), ..Self::default() }
    }

    fn is_too_long(&self, status: u16) -> bool {
        if TOO_LONG_CODES.contains(&self.code.as_str()) || status == 413 {
            return true;
        }
        let message = self.message.to_lowercase();
        match status {
            400 | 422 => TOO_LONG_PHRASES.iter().any(|phrase| message.contains(phrase)),
            // llama.cpp calls an over-long text for an embedding an error of the server.
            500 => message.contains("is too large to process"),
            _ => false,
        }
    }

    /// The error for an answer with this status.
    pub(crate) fn into_error(self, status: u16, retry_after: Option<Duration>) -> ModelError {
        if self.is_too_long(status) {
            return ModelError::ContextTooLong { message: self.message };
        }
        match status {
            401 | 403 => ModelError::Unauthorized { status },
            // A used-up account is no matter of waiting.
            429 if self.code != "insufficient_quota" => ModelError::RateLimited { retry_after },
            408 | 500.. => ModelError::Server { status, message: self.message },
            _ => ModelError::InvalidRequest { status, message: self.message },
        }
    }

    /// The error for a complaint in the middle of an answer, whose status was 200.
    pub(crate) fn into_stream_error(self) -> ModelError {
        let named = match self.code.as_str() {
            "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" => Some(429),
            "invalid_request_error" | "insufficient_quota" => Some(400),
            "authentication_error" | "invalid_api_key" => Some(401),
            _ => None,
        };
        let status = self.status.or(named).unwrap_or(500);
        self.into_error(status, None)
    }
}

/// What must not be in an error (CM7).
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<[SecretString]>);

impl Secrets {
    /// Takes secrets; empty ones are none.
    pub(crate) fn new<'a>(secrets: impl Iterator<Item = &'a SecretString>) -> Self {
        Self(secrets.filter(|secret| !secret.expose_secret().is_empty()).cloned().collect())
    }

    /// A text of the service without secrets, since some services quote the key they refuse. Done before the text is cut, so that
    /// no half of a key is left.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose_secret(), "[hidden]"))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.0.len()).finish()
    }
}

/// What an answer's head says about waiting: seconds or a date (RFC 9110, section 10.2.3).
pub(crate) fn retry_after(header: Option<&str>, now: Timestamp) -> Option<Duration> {
    let text = header?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = DateTimeParser::new().relaxed_weekday(true).parse_zoned_datetime(text).ok()?;
    // A date that has passed means now.
    Some(Duration::try_from(date.timestamp().duration_since(now)).unwrap_or(Duration::ZERO))
}

/// The error for a redirection, which is not followed: it would send the request, or the key, elsewhere.
pub(crate) fn redirected(status: StatusCode, url: &str) -> ModelError {
    ModelError::Config {
        reason: format!(
            "{url} answers with a redirection ({}): set the base URL to where the service is",
            status.as_u16()
        ),
    }
}

/// The first characters of a text, with white space in one form.
fn cut(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if words.len() > 4 * MESSAGE_CHARS {
            break;
        }
    }
    match words.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => {
            words.truncate(end);
            words.push('…');
            words
        }
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(error: &ModelError) -> &'static str {
        match error {
            ModelError::RateLimited { .. } => "rate",
            ModelError::Unauthorized { .. } => "key",
            ModelError::ContextTooLong { .. } => "long",
            ModelError::InvalidRequest { .. } => "invalid",
            ModelError::Server { .. } => "server",
            _ => "other",
        }
    }

    #[test]
    fn every_status_has_its_error() {
        for (status, body, expected) in [
            (401, "{}", "key"),
            (403, "no", "key"),
            (404, r#"{"error":{"message":"no such model"}}"#, "invalid"),
            (408, "", "server"),
            (429, r#"{"error":{"code":"rate_limit_exceeded"}}"#, "rate"),
            (429, r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#, "invalid"),
            (500, "<html>oops</html>", "server"),
            (503, r#"{"error":{"code":503,"message":"Loading model"}}"#, "server"),
            (400, r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#, "long"),
            (
                400,
                r#"{"error":{"code":400,"message":"request (20030 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error"}}"#,
                "long",
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":400}"#,
                "long",
            ),
            (413, r#"{"error":"Input validation error: `inputs` must have less than 512 tokens"}"#, "long"),
            (500, r#"{"error":{"message":"input (900 tokens) is too large to process"}}"#, "long"),
            (400, r#"[{"error":{"code":400,"message":"bad role","status":"INVALID_ARGUMENT"}}]"#, "invalid"),
            (422, r#"{"detail":"field required"}"#, "invalid"),
        ] {
            let error = Complaint::read(body).into_error(status, None);
            assert_eq!(name(&error), expected, "{status} {body}: {error}");
        }
    }

    #[test]
    fn the_words_are_found_in_every_shape_and_cut() {
        for body in [
            r#"{"error":{"message":"why"}}"#,
            r#"{"error":"why"}"#,
            r#"{"message":"why"}"#,
            r#"{"detail":"why"}"#,
            r#"[{"error":{"message":"why"}}]"#,
            "  why\n",
        ] {
            assert_eq!(Complaint::read(body).message, "why", "{body}");
        }
        assert_eq!(Complaint::read(&"坏".repeat(2000)).message.chars().count(), MESSAGE_CHARS + 1);
    }

    #[test]
    fn an_error_in_an_answer_is_told_from_an_answer() {
        assert_eq!(Complaint::within(r#"{"choices":[],"error":null}"#), None);
        let limited = Complaint::within(r#"{"error":{"message":"slow","code":429}}"#).unwrap();
        assert_eq!(name(&limited.into_stream_error()), "rate");
        let broken = Complaint::within(r#"{"error":{"message":"boom","type":"server_error"}}"#).unwrap();
        assert_eq!(name(&broken.into_stream_error()), "server");
    }

    #[test]
    fn waiting_is_said_in_seconds_or_as_a_date() {
        let now: Timestamp = "1994-11-06T08:49:30Z".parse().unwrap();
        for (header, seconds) in [
            (Some("7"), Some(7.0)),
            (Some("0.5"), Some(0.5)),
            (Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some(7.0)),
            (Some("Sun, 06 Nov 1994 08:49:00 GMT"), Some(0.0)),
            (Some("-3"), None),
            (Some("soon"), None),
            (None, None),
        ] {
            assert_eq!(retry_after(header, now).map(|wait| wait.as_secs_f64()), seconds, "{header:?}");
        }
    }

    #[test]
    fn secrets_are_taken_out_of_the_words() {
        let given = [SecretString::from("sk-123"), SecretString::from("")];
        let secrets = Secrets::new(given.iter());
        assert_eq!(secrets.hide("key sk-123 is wrong"), "key [hidden] is wrong");
        assert!(!format!("{secrets:?}").contains("sk-123"));
    }
}
