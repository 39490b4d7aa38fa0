//! Telling what was found, for people or as JSON Lines.

use hermes::core::{Body, Message, SearchHit, SessionId, StoredSession};
use hermes::session::Explanation;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Error;
use crate::output::Output;

/// How much of a message a line of a search shows.
const SNIPPET_CHARS: usize = 160;

pub(crate) struct Tell {
    out: Output,
    zone: TimeZone,
}

impl Tell {
    pub(crate) fn new(out: Output) -> Self {
        Self { out, zone: TimeZone::system() }
    }

    fn time(&self, at: Timestamp) -> String {
        at.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
    }

    fn both(&self, json: &impl Serialize, line: &str) -> Result<(), Error> {
        self.out.event(json)?;
        self.out.line(line)
    }

    pub(crate) fn session(&self, session: &StoredSession) -> Result<(), Error> {
        let (record, state) = (&session.record, &session.state);
        self.both(
            session,
            &format!("{}  {}  {:>7}  {}", record.id, self.time(state.updated), state.last, record.title),
        )
    }

    pub(crate) fn message(&self, message: &Message) -> Result<(), Error> {
        let head = format!(
            "{:>6}  {}  {:<9}  ",
            message.seq(),
            self.time(message.created()),
            message.role().as_str()
        );
        self.both(message, &format!("{head}{}", said(message)))
    }

    pub(crate) fn hit(&self, hit: &SearchHit) -> Result<(), Error> {
        let text: String = said(&hit.message).chars().take(SNIPPET_CHARS).collect();
        self.both(
            hit,
            &format!(
                "{}  {:>6}  {}  {}: {text}",
                hit.session,
                hit.message.seq(),
                self.time(hit.message.created()),
                hit.title
            ),
        )
    }

    pub(crate) fn done(&self, what: &str, session: SessionId) -> Result<(), Error> {
        self.both(&json!({ "done": what, "session": session }), &format!("{what} {session}"))
    }

    pub(crate) fn explanation(&self, json: &Value, explanation: &Explanation) -> Result<(), Error> {
        self.both(json, &explanation.to_string())
    }
}

/// A message in one line.
fn said(message: &Message) -> String {
    let text = message.text().split_whitespace().collect::<Vec<_>>().join(" ");
    match message.body() {
        Body::Assistant { calls, .. } if !calls.is_empty() => {
            let calls: Vec<String> = calls.iter().map(ToString::to_string).collect();
            format!("{text}{}calls {}", if text.is_empty() { "" } else { " · " }, calls.join(", "))
        }
        Body::CallStarted(started) => format!("starts {}({})", started.tool, started.arguments),
        Body::ToolResult(result) => format!("{} gave {text}", result.tool),
        _ => text,
    }
}
