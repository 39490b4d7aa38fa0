//! The measures of Hermes: each subcommand runs the product's own code paths on public or generated data and prints what it found.
//!
//! A readable table goes to standard error; with `--json` one JSON object is the last line of standard output. Nothing here is a
//! test, and nothing here is needed to use Hermes. What each measure does and what its figures mean is in the README beside this crate.

mod data;
mod error;
mod report;
mod session;
mod store;
mod timing;
mod tool_selection;
mod tools;
mod trim;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Error;
use crate::report::Report;

/// The measures of Hermes.
#[derive(Debug, Parser)]
#[command(name = "hermes-bench", version)]
struct Cli {
    #[command(subcommand)]
    measure: Measure,
    /// Print one JSON object as the last line of standard output.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Measure {
    /// Append, load and assembly at growing lengths of a log, beside a bare loop of inserts.
    Session(session::Args),
    /// What trimming saves and keeps on the public trajectories.
    Trim(trim::Args),
    /// What validation says about public calls and injected faults, and what a call, a registration and a choice cost.
    Tools(tools::Args),
    /// Which tools are found for public requests, as a run file.
    ToolSelection(tool_selection::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match measured(cli.measure) {
        Ok(report) => report.print(cli.json),
        Err(error) => report::failed(&error),
    }
}

fn measured(measure: Measure) -> Result<Report, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::Io { what: "the runtime cannot start".to_owned(), source })?;
    runtime.block_on(async {
        match measure {
            Measure::Session(args) => session::run(args).await,
            Measure::Trim(args) => trim::run(args).await,
            Measure::Tools(args) => tools::run(args).await,
            Measure::ToolSelection(args) => tool_selection::run(args).await,
        }
    })
}
