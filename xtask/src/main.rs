//! Commands for who works on Hermes: `cargo xtask endurance`.

use std::process::{Command, ExitCode};

/// The packages whose tests have a long form.
const ENDURING: [&str; 4] = ["hermes-agent", "hermes-postgres", "hermes-session", "hermes-sqlite"];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("endurance") => endurance(arguments),
        _ => {
            say("usage: cargo xtask endurance [arguments for cargo test]");
            ExitCode::FAILURE
        }
    }
}

/// Runs the long form of the tests that have one.
fn endurance(more: impl Iterator<Item = String>) -> ExitCode {
    let packages = ENDURING.iter().flat_map(|package| ["-p", package]);
    let status =
        Command::new("cargo").arg("test").args(packages).args(more).env("HERMES_ENDURANCE", "1").status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("cargo cannot be started: {error}"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "this is a command for a terminal")]
fn say(text: &str) {
    eprintln!("xtask: {text}");
}
