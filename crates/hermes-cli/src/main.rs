//! The program `hermes`: a demo of the four capabilities at work, a chat, and care of what is stored.
//!
//! It is a program like any other that uses the library `hermes`, with no way in that others do not have. What it takes and
//! where it keeps things is in the README beside this crate.

mod chat;
mod cli;
mod demo;
mod error;
mod output;
mod sessions;

use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, Command};
use crate::error::Error;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_env("HERMES_LOG").unwrap_or_else(|_| EnvFilter::new("off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&Error::Usage(format!("the program cannot start: {error}"))),
    };
    let done = runtime.block_on(async {
        match cli.command {
            Command::Demo(args) => demo::run(args).await,
            Command::Chat(args) => chat::run(args).await,
            Command::Sessions(args) => sessions::run(args).await,
            Command::DemoBooking(args) => demo::serve_booking(args.book).await,
        }
    });
    // A thread that still waits for a line of standard input must not hold the program up.
    runtime.shutdown_background();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &Error) -> ExitCode {
    output::warn(&format!("hermes: {}", error.sentence()));
    match error {
        // As a shell says it of a program that Ctrl-C has ended.
        Error::Interrupted => ExitCode::from(130),
        _ => ExitCode::FAILURE,
    }
}
