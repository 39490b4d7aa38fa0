//! The figures of one length of a log.

use serde_json::{Value, json};

use crate::timing::Times;

/// The figures of one length of a log in one store.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) messages: usize,
    /// Finding the session's row.
    pub(crate) open: Times,
    /// Reading the window.
    pub(crate) view: Times,
    /// Both.
    pub(crate) load: Times,
    /// The pure function, on what was loaded.
    pub(crate) assemble: Times,
    /// Reading the window and assembling it, with a session at hand.
    pub(crate) context: Times,
    /// A step by the session.
    pub(crate) append: Times,
    /// The same by the store alone, counted beforehand.
    pub(crate) store_append: Times,
    /// The same inserts and no more.
    pub(crate) bare: Times,
    /// With full-text terms and the session's row.
    pub(crate) indexed: Times,
    /// The tokens of the context.
    pub(crate) tokens: u32,
    /// The bytes of what is said in a turn, and of its calls' arguments.
    pub(crate) text_per_turn: f64,
    /// By how many bytes the database grew with each turn; `None` in memory.
    pub(crate) bytes_per_turn: Option<f64>,
}

impl Figures {
    pub(crate) fn new(messages: usize) -> Self {
        Self {
            messages,
            open: Times::default(),
            view: Times::default(),
            load: Times::default(),
            assemble: Times::default(),
            context: Times::default(),
            append: Times::default(),
            store_append: Times::default(),
            bare: Times::default(),
            indexed: Times::default(),
            tokens: 0,
            text_per_turn: 0.0,
            bytes_per_turn: None,
        }
    }

    pub(crate) fn end_round(&mut self) {
        for times in [
            &mut self.open,
            &mut self.view,
            &mut self.load,
            &mut self.assemble,
            &mut self.context,
            &mut self.append,
            &mut self.store_append,
            &mut self.bare,
            &mut self.indexed,
        ] {
            times.end_round();
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "messages": self.messages,
            "open_us": self.open.micros(),
            "view_us": self.view.micros(),
            "load_us": self.load.micros(),
            "assemble_us": self.assemble.micros(),
            "context_us": self.context.micros(),
            "context_tokens": self.tokens,
            "append_step_us": self.append.micros(),
            "store_append_us": self.store_append.micros(),
            "bare_append_us": self.bare.micros(),
            "bare_indexed_append_us": self.indexed.micros(),
            "bytes_per_turn": self.bytes_per_turn,
            "text_per_turn": self.text_per_turn,
        })
    }
}
