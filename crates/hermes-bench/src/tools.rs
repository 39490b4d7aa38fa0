//! `hermes-bench tools`: what validation says about public calls and injected faults, and what a call, a registration and a choice cost.

mod call;
mod cost;
mod fault;
mod verdict;

use hermes_core::BoxError;
use serde_json::json;

use cost::Dispatch;

use crate::data::DataArgs;
use crate::error::Error;
use crate::report::Report;

pub(crate) use call::{Listed, add, contract, legal};

/// Validation, feedback and cost of tools.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    data: DataArgs,
    /// Show each disagreement and each fault that was not explained.
    #[arg(long)]
    show: bool,
}

/// Runs the measure.
pub(crate) async fn run(args: Args) -> Result<Report, Error> {
    measured(&args).await.map_err(Error::Tools)
}

async fn measured(args: &Args) -> Result<Report, BoxError> {
    let data = args.data.folder()?;
    let mut calls = call::read(&data, "bfcl_calls")?;
    calls.extend(call::read(&data, "livemcp_calls")?);
    let verdicts = verdict::compare(&calls)?;
    let faults = fault::inject(&calls)?;
    let dispatch = cost::dispatch(&calls).await?;
    let scale = cost::scale(&data).await?;

    let several = dispatch.last().ok_or("no dispatch was measured")?;
    let json = json!({
        "valid_calls": verdicts.valid,
        "valid_accepted": verdicts.accepted,
        "invalid_calls": verdicts.invalid,
        "invalid_refused": verdicts.refused,
        "faults": faults.injected(),
        "faults_caught": faults.caught(),
        "faults_explained": faults.explained(),
        "validate_ns": several.validate,
        "floor_ns": several.floor,
        "dispatch_ns": several.dispatch,
        "runtimes": dispatch.iter().map(|row| json!({
            "runtime": row.runtime, "validate_ns": row.validate, "floor_ns": row.floor, "dispatch_ns": row.dispatch,
        })).collect::<Vec<_>>(),
        "list_changes": scale.list_changes,
        "prefix_share": scale.prefix_share,
        "turns_served": scale.turns_served,
        "registration_ms_per_1000": scale.registration_ms,
        "selection_ms_10000": scale.meaning_ms,
        "selection_words_ms_10000": scale.words_ms,
    });
    let mut report = Report::new(&["fault", "injected", "refused", "repaired", "explained"], json);
    for row in &faults.rows {
        let counts = [row.injected, row.refused, row.repaired, row.explained];
        report
            .row(std::iter::once(row.kind.to_owned()).chain(counts.map(|count| count.to_string())).collect());
    }
    report.note(format!(
        "verdicts: {} of {} valid calls accepted, {} of {} invalid ones refused ({} of these are mended without loss when repair is on)",
        verdicts.accepted, verdicts.valid, verdicts.refused, verdicts.invalid, verdicts.mended
    ));
    report.note(format!(
        "valid calls that only the strict mode refuses, left out of the faults: {}",
        faults.strict_refused
    ));
    for row in &dispatch {
        let Dispatch { runtime, validate, floor, dispatch } = row;
        report.note(format!(
            "{runtime}: validate {validate} ns, floor {floor} ns, dispatch {dispatch} ns, ratio {:.2}",
            row.ratio()
        ));
    }
    report.note(format!(
        "registration {:.1} ms for 1,000; first choice among 10,000 {:.0} ms, then {:.2} ms by words, {:.2} ms with the bundled embedder",
        scale.registration_ms, scale.first_ms, scale.words_ms, scale.meaning_ms
    ));
    report.note(format!(
        "50 turns with 527 tools: {} list changes, {:.3} of the previous list kept as prefix, {} tokens at the end; \
         what the turn needed was in the list {} times",
        scale.list_changes, scale.prefix_share, scale.sent_tokens, scale.turns_served
    ));
    if args.show {
        verdicts.shown.into_iter().chain(faults.shown).for_each(|line| report.note(line));
    }
    Ok(report)
}
