//! Writing to the screen: a story for people, JSON Lines for programs.

use std::io::Write as _;

use owo_colors::{OwoColorize as _, Style};
use serde::Serialize;

use crate::error::Error;

/// Where a run is told, and how. Colours go when `NO_COLOR` is set or the output is no screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// For people.
    Story,
    /// One JSON object a line.
    Json,
}

impl Output {
    pub(crate) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Story }
    }

    /// A line of the story; nothing in JSON.
    pub(crate) fn line(self, text: &str) -> Result<(), Error> {
        self.piece(&format!("{text}\n"))
    }

    /// A heading of the story.
    pub(crate) fn heading(self, text: &str) -> Result<(), Error> {
        self.line(&format!("\n{}", text.style(Style::new().bold())))
    }

    /// A line that stands behind what matters.
    pub(crate) fn aside(self, text: &str) -> Result<(), Error> {
        self.line(&text.style(Style::new().dimmed()).to_string())
    }

    /// A piece of the story, without a line end.
    pub(crate) fn piece(self, text: &str) -> Result<(), Error> {
        if self == Self::Json {
            return Ok(());
        }
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)
    }

    /// An event; nothing in a story.
    pub(crate) fn event(self, event: &impl Serialize) -> Result<(), Error> {
        if self == Self::Story {
            return Ok(());
        }
        let mut line = serde_json::to_vec(event).map_err(|e| Error::Output(e.into()))?;
        line.push(b'\n');
        let mut out = std::io::stdout().lock();
        out.write_all(&line).and_then(|()| out.flush()).map_err(Error::Output)
    }
}

/// Says something on standard error; a closed one is no reason to fail.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}
