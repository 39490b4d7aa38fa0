//! What a measure gives, and how it is printed: a table for people on standard error, JSON for programs on standard output.

use std::io::Write as _;
use std::process::ExitCode;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;

use crate::error::Error;

/// What a measure gives.
#[derive(Debug)]
pub(crate) struct Report {
    table: Table,
    notes: Vec<String>,
    json: Value,
}

impl Report {
    /// A report with these columns and this JSON object.
    pub(crate) fn new(columns: &[&str], json: Value) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(columns);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let mut notes = Vec::new();
        if cfg!(debug_assertions) {
            notes.push("built without optimisation: times say nothing; use `cargo run --release`".to_owned());
        }
        Self { table, notes, json }
    }

    /// Adds a row to the table.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.table.add_row(cells);
    }

    /// Adds a line below the table.
    pub(crate) fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// Prints it.
    pub(crate) fn print(&self, json: bool) -> ExitCode {
        let mut text = format!("{}\n", self.table);
        for note in &self.notes {
            text.push_str(note);
            text.push('\n');
        }
        // Whoever closed the stream does not want to read it.
        let mut printed = std::io::stderr().write_all(text.as_bytes());
        if json {
            printed = printed.and_then(|()| writeln!(std::io::stdout(), "{}", self.json));
        }
        if printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Says why there is no report.
pub(crate) fn failed(error: &Error) -> ExitCode {
    let sentence = format!("hermes-bench: {}\n", error.sentence());
    match std::io::stderr().write_all(sentence.as_bytes()) {
        Ok(()) | Err(_) => ExitCode::FAILURE,
    }
}

/// A number with one digit after the point, or a dash for none.
pub(crate) fn tenths(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}

/// A share in percent, or a dash for none.
pub(crate) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}
