//! The measure `session`: append, load and assembly at growing lengths of a log, beside a bare loop of the same inserts in the same run
//! (S3, S6).
//!
//! Logs are built as an agent builds them, with their folds; then all lengths are measured in turn, round by round, so that what else
//! runs on the machine falls on all of them alike.

mod bare;
mod built;
mod figures;
mod text;

use std::path::PathBuf;

use hermes_session::{Sessions, assemble};
use hermes_tiktoken::TiktokenCounter;
use serde_json::json;

use crate::error::Error;
use crate::report::{Report, tenths};
use crate::session::bare::Bare;
use crate::session::built::{Built, spec};
use crate::session::figures::Figures;
use crate::session::text::MESSAGES_A_TURN;
use crate::store::{Place, Servers, StoreName, scratch};
use crate::timing::{timed, timed_call};

/// The measure `session`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The stores that are measured.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "memory,sqlite")]
    stores: Vec<StoreName>,
    /// The lengths of the logs, in messages; each is rounded up to whole batches of four turns.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "100,10000,100000")]
    sizes: Vec<usize>,
    /// How many rounds; the median of the quietest one counts.
    #[arg(long, value_name = "N", default_value_t = 7)]
    rounds: usize,
    /// How many samples of each thing a round takes.
    #[arg(long, value_name = "N", default_value_t = 30)]
    samples: usize,
    /// Where files are written, in a folder that goes when the measure ends; without it where the system keeps such.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    servers: Servers,
}

/// The columns of the table.
const COLUMNS: [&str; 12] = [
    "store",
    "messages",
    "open µs",
    "view µs",
    "load µs",
    "assemble µs",
    "context µs",
    "append µs",
    "of it store µs",
    "bare µs",
    "indexed µs",
    "growth",
];

/// Takes the measure.
pub(crate) async fn run(args: Args) -> Result<Report, Error> {
    // The vocabulary is made once in a process and is no part of any step.
    TiktokenCounter::o200k().warm();
    let folder = scratch(args.scratch.as_deref())?;
    let mut rows = Vec::new();
    let mut stores = Vec::new();
    for &name in &args.stores {
        let place = Place::new(name, folder.path(), &args.servers)?;
        let taken = measured(&args, &place).await;
        for size in &args.sizes {
            place.clear(&database(*size)).await?;
            place.clear(&bare_database(*size)).await?;
        }
        let (figures, bare) = taken?;
        rows.extend(figures.iter().map(|figures| row(name, figures)));
        let sizes: Vec<_> = figures.iter().map(Figures::json).collect();
        stores.push(json!({ "store": name.as_str(), "bare_append_us": bare, "sizes": sizes }));
    }
    let optimised = !cfg!(debug_assertions);
    let mut report = Report::new(
        &COLUMNS,
        json!({ "measure": "session", "optimised": optimised, "rounds": args.rounds, "samples": args.samples, "stores": stores }),
    );
    rows.into_iter().for_each(|row| report.row(row));
    report.note("load: open and view. append: a step of three messages in one transaction. bare: the same three inserts and no more;".to_owned());
    report.note("indexed: bare with full-text terms and the session's row, as the store writes. growth: database bytes a turn / bytes of its text".to_owned());
    Ok(report)
}

/// The figures of each size, and the bare loop's time over all.
async fn measured(args: &Args, place: &Place) -> Result<(Vec<Figures>, Option<f64>), Error> {
    let mut logs = Vec::new();
    for &size in &args.sizes {
        let database = database(size);
        let sessions =
            Sessions::from_arc(place.open(&database).await?).with_counter(TiktokenCounter::o200k());
        let built = Built::new(sessions, place, &database, size).await?;
        let mut figures = Figures::new(built.turns() * MESSAGES_A_TURN);
        figures.text_per_turn = built.text_per_turn();
        figures.bytes_per_turn = built.bytes_per_turn();
        logs.push((built, Bare::new(place, &bare_database(size)).await?, figures));
    }
    for _ in 0..args.rounds {
        for (built, _, figures) in &mut logs {
            for _ in 0..args.samples {
                read(built, figures).await?;
            }
            figures.end_round();
        }
    }
    // Appending makes the logs longer, so it comes last.
    for _ in 0..args.rounds {
        for (built, bare, figures) in &mut logs {
            for _ in 0..args.samples {
                append(built, bare.as_mut(), figures).await?;
            }
            figures.end_round();
        }
    }
    let bare = logs.iter().filter_map(|(_, _, figures)| figures.bare.micros()).min_by(f64::total_cmp);
    let mut all = Vec::new();
    for (_, bare, figures) in logs {
        if let Some(bare) = bare {
            bare.close().await?;
        }
        all.push(figures);
    }
    Ok((all, bare))
}

/// The database of the log of a length, and that of the bare loop beside it.
fn database(size: usize) -> String {
    format!("log_{size}")
}

fn bare_database(size: usize) -> String {
    format!("bare_{size}")
}

/// What a worker reads and makes for a step of a session that it did not have.
async fn read(built: &Built, figures: &mut Figures) -> Result<(), Error> {
    let sessions = built.sessions();
    let (session, open) = timed(sessions.open(built.owner(), built.session().id())).await;
    let session = session?;
    let (view, viewed) = timed(session.view()).await;
    let view = view?;
    figures.open.add(open);
    figures.view.add(viewed);
    figures.load.add(open + viewed);
    let spec = spec();
    let (context, assembled) =
        timed_call(|| assemble(&view, &spec, sessions.config(), sessions.counter().as_ref()));
    let tokens = context.map_err(hermes_session::Error::from)?.tokens();
    figures.tokens = tokens.get();
    figures.assemble.add(assembled);
    let (context, whole) = timed(session.context(&spec)).await;
    if context?.tokens() != tokens {
        return Err(Error::Usage("two contexts of one log differ".to_owned()));
    }
    figures.context.add(whole);
    Ok(())
}

/// The same step, by the session, by the store alone, and by the bare loop.
async fn append(built: &mut Built, bare: Option<&mut Bare>, figures: &mut Figures) -> Result<(), Error> {
    let step = built.next_step().await?;
    if let Some(bare) = bare {
        let rows = bare::rows(&step)?;
        let (done, plain) = timed(bare.append(&rows)).await;
        done?;
        figures.bare.add(plain);
        let (done, indexed) = timed(bare.append_indexed(&rows)).await;
        done?;
        figures.indexed.add(indexed);
    }
    let counted = built.counted(&step).await?;
    figures.store_append.add(counted);
    let (done, whole) = timed(built.session().append_all(step)).await;
    done?;
    figures.append.add(whole);
    Ok(())
}

fn row(name: StoreName, figures: &Figures) -> Vec<String> {
    let growth = figures.bytes_per_turn.map(|bytes| bytes / figures.text_per_turn);
    vec![
        name.as_str().to_owned(),
        figures.messages.to_string(),
        tenths(figures.open.micros()),
        tenths(figures.view.micros()),
        tenths(figures.load.micros()),
        tenths(figures.assemble.micros()),
        tenths(figures.context.micros()),
        tenths(figures.append.micros()),
        tenths(figures.store_append.micros()),
        tenths(figures.bare.micros()),
        tenths(figures.indexed.micros()),
        growth.map_or_else(|| "-".to_owned(), |growth| format!("{growth:.2}")),
    ]
}
