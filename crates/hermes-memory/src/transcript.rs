//! A turn as the memory sees it.

use hermes_core::{Owner, Role, Seq, SessionId};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// What was said in a turn, and what tools gave, to learn from.
///
/// `said` begins with the assistant's last text before the turn, if there is one, so that a "yes" of the user can be told to
/// accept it. `tool_texts` are what tools gave in this turn and in those before it that the model still saw: they are there to
/// recognise what is only repeated from them, and never reach the extractor (R10). Summaries and recalled memories
/// do not belong in `said`; they belong in `summaries` and `recalled`, for the same purpose.
#[derive(Debug, Clone)]
pub struct TurnTranscript {
    /// The session.
    pub session: SessionId,
    /// Whose memory it is.
    pub owner: Owner,
    /// The texts of user and assistant, in the log's order.
    pub said: Vec<Said>,
    /// What tools gave.
    pub tool_texts: Vec<ToolText>,
    /// The memories that the model was shown in this turn.
    pub recalled: Vec<String>,
    /// The summaries of earlier turns that the model was shown in this turn.
    pub summaries: Vec<String>,
    /// Names of the tools that were called with success in this turn, for recognising habits.
    pub tools_used: Vec<String>,
    /// The user's time zone.
    pub time_zone: TimeZone,
    /// When the user's message of the turn was said.
    pub at: Timestamp,
}

/// One message of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its place in the log.
    pub seq: Seq,
    /// Who said it; what is neither user nor assistant is passed over.
    pub role: Role,
    /// The text.
    pub text: String,
}

/// What a tool gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolText {
    /// Its place in the log.
    pub seq: Seq,
    /// The text.
    pub text: String,
}

impl TurnTranscript {
    /// A turn of which nothing is known yet, in UTC.
    #[must_use]
    pub fn new(owner: Owner, session: SessionId, at: Timestamp) -> Self {
        Self {
            session,
            owner,
            said: Vec::new(),
            tool_texts: Vec::new(),
            recalled: Vec::new(),
            summaries: Vec::new(),
            tools_used: Vec::new(),
            time_zone: TimeZone::UTC,
            at,
        }
    }

    /// Sets the user's time zone by its IANA name, such as `Asia/Shanghai`; an unknown name leaves UTC.
    #[must_use]
    pub fn with_time_zone_name(mut self, name: Option<&str>) -> Self {
        self.time_zone = time_zone(name);
        self
    }

    /// Adds what the user said.
    #[must_use]
    pub fn with_user(self, seq: Seq, text: impl Into<String>) -> Self {
        self.with_said(seq, Role::User, text)
    }

    /// Adds what the assistant said.
    #[must_use]
    pub fn with_assistant(self, seq: Seq, text: impl Into<String>) -> Self {
        self.with_said(seq, Role::Assistant, text)
    }

    /// Adds what a tool gave.
    #[must_use]
    pub fn with_tool(mut self, seq: Seq, text: impl Into<String>) -> Self {
        self.tool_texts.push(ToolText { seq, text: text.into() });
        self
    }

    /// Adds a summary of earlier turns that the model was shown.
    #[must_use]
    pub fn with_summary(mut self, text: impl Into<String>) -> Self {
        self.summaries.push(text.into());
        self
    }

    fn with_said(mut self, seq: Seq, role: Role, text: impl Into<String>) -> Self {
        self.said.push(Said { seq, role, text: text.into() });
        self
    }

    /// The last message of the user.
    #[must_use]
    pub fn last_user(&self) -> Option<&Said> {
        self.said.iter().rev().find(|said| said.role == Role::User)
    }
}

/// The time zone of an IANA name; UTC for none and for an unknown one, which is told to the log.
#[must_use]
pub fn time_zone(name: Option<&str>) -> TimeZone {
    let Some(name) = name else { return TimeZone::UTC };
    TimeZone::get(name).unwrap_or_else(|error| {
        tracing::warn!(name, %error, "unknown time zone, taking UTC");
        TimeZone::UTC
    })
}
