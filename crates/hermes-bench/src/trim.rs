//! The measure `trim`: the public trajectories, replayed through real sessions with the extractive digest and no model (S4, S6, S8, S12, S13).
//!
//! For each assistant message of each log the request before it is assembled, as an agent would do it, and looked at with eyes other than
//! the session's own: tokens and pairs are counted here.

mod check;
mod log;
mod replay;
mod tally;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use hermes_core::Tokens;
use hermes_session::{SessionConfig, Sessions};
use hermes_tiktoken::TiktokenCounter;
use serde_json::json;

use crate::data::{DataArgs, read_lines};
use crate::error::Error;
use crate::report::{Report, percent, tenths};
use crate::store::{Place, Servers, StoreName, owner, scratch};
use crate::trim::log::{Log, PlantedFact, RawLog, joined, planted};
use crate::trim::replay::{Request, replay};
use crate::trim::tally::Tally;

/// The measure `trim`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    data: DataArgs,
    /// How many logs are strung together into one long session.
    #[arg(long, value_name = "N", default_value_t = 10)]
    join: usize,
    /// A budget in tokens for every set, instead of each set's own.
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u32>,
    /// The store that the sessions are in.
    #[arg(long, value_enum, default_value = "memory")]
    store: StoreName,
    #[command(flatten)]
    servers: Servers,
    /// Write a line of JSON for each request: id, request, tokens, orphans, full, prefix, folded.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A file of trajectories, and the budget that goes with it.
struct Source {
    name: &'static str,
    file: &'static str,
    budget: u32,
}

const SOURCES: [Source; 2] = [
    Source { name: "airline", file: "sessions_tau_airline.jsonl", budget: 8_000 },
    Source { name: "livemcp", file: "sessions_livemcp_sonnet4.jsonl", budget: 24_000 },
];

/// The columns of the table.
const COLUMNS: [&str; 12] = [
    "set",
    "budget",
    "requests",
    "tokens full",
    "tokens sent",
    "share",
    "invalid",
    "over budget",
    "folds",
    "prefix",
    "planted kept",
    "at the end",
];

/// Takes the measure.
pub(crate) async fn run(args: Args) -> Result<Report, Error> {
    let folder = args.data.folder()?;
    let facts: Vec<PlantedFact> = read_lines(&folder, "planted.jsonl")?;
    let mut out = match &args.out {
        Some(path) => Some(BufWriter::new(File::create(path).map_err(unwritten)?)),
        None => None,
    };
    let scratch = scratch(None)?;
    let place = Place::new(args.store, scratch.path(), &args.servers)?;
    let mut rows = Vec::new();
    let mut sets = Vec::new();
    for source in SOURCES {
        let logs: Vec<RawLog> = read_lines(&folder, source.file)?;
        let logs: Vec<Log> = logs.into_iter().map(Log::read).collect::<Result<_, _>>()?;
        let budget = args.budget.unwrap_or(source.budget);
        let long = joined(&logs, args.join);
        let with_facts = planted(&logs, args.join, &facts);
        for (name, plain, facts_in) in [
            (source.name.to_owned(), logs, None),
            (format!("{}_joined", source.name), long, Some(with_facts)),
        ] {
            let sessions = Sessions::from_arc(place.open(&name).await?)
                .with_counter(TiktokenCounter::o200k())
                .with_config(SessionConfig::default());
            let mut tally = Tally::default();
            for log in &plain {
                let requests = replay(&sessions, &owner()?, log, Tokens::new(budget)).await?;
                if let Some(out) = &mut out {
                    write_requests(out, &name, log, &requests)?;
                }
                tally.see_plain(&requests);
            }
            for log in facts_in.iter().flatten() {
                let requests = replay(&sessions, &owner()?, log, Tokens::new(budget)).await?;
                tally.see_planted(log, &facts, &requests);
            }
            rows.push(row(&name, budget, &tally));
            let mut figures = tally.json();
            if let Some(object) = figures.as_object_mut() {
                object.insert("name".to_owned(), json!(name));
                object.insert("budget".to_owned(), json!(budget));
            }
            sets.push(figures);
        }
    }
    if let Some(mut out) = out {
        out.flush().map_err(unwritten)?;
    }
    let mut report = Report::new(
        &COLUMNS,
        json!({ "measure": "trim", "join": args.join, "store": args.store.as_str(), "sets": sets }),
    );
    rows.into_iter().for_each(|row| report.row(row));
    report.note(format!(
        "joined: {} logs in one session; tokens by o200k_base; digest only, no model",
        args.join
    ));
    Ok(report)
}

fn unwritten(source: std::io::Error) -> Error {
    Error::Io { what: "what was measured cannot be written".to_owned(), source }
}

fn row(name: &str, budget: u32, tally: &Tally) -> Vec<String> {
    let kept = |of: (usize, usize)| match of {
        (0, _) => "-".to_owned(),
        (planted, kept) => format!("{kept} of {planted}"),
    };
    vec![
        name.to_owned(),
        budget.to_string(),
        tally.requests.to_string(),
        tally.full.to_string(),
        tally.sent.to_string(),
        percent(tally.share()),
        tally.invalid.to_string(),
        tally.over_budget.to_string(),
        tally.folds.to_string(),
        tenths(tally.prefix_share().map(|share| share * 100.0)),
        kept(tally.counted()),
        kept(tally.at_end),
    ]
}

fn write_requests(
    out: &mut impl std::io::Write,
    set: &str,
    log: &Log,
    requests: &[Request],
) -> Result<(), Error> {
    for (n, request) in requests.iter().enumerate() {
        let line = json!({
            "id": format!("{set}/{}", log.id),
            "request": n,
            "tokens": request.tokens,
            "orphans": request.orphans,
            "full": request.full,
            "prefix": request.prefix,
            "folded": request.folded,
        });
        writeln!(out, "{line}").map_err(unwritten)?;
    }
    Ok(())
}
