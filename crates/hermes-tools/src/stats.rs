//! Counters of how calls go, for each tool and model (T5).

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_core::{FailureKind, Seq, SessionId, ToolOutcome};

/// The name under which calls of tools that do not exist are counted: what a model invents must not grow the table.
pub const UNKNOWN_TOOL: &str = "(unknown tool)";

/// How many uncorrected calls are remembered at once; the oldest beyond it count as given up.
const MAX_OPEN: usize = 4_096;

/// How the calls of one tool by one model went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Calls whose arguments fitted as they came, with no refused call of the tool before them in the turn.
    pub first_try: u64,
    /// Calls whose arguments fitted after a repair of their syntax.
    pub repaired: u64,
    /// Calls that were refused for their arguments.
    pub refused: u64,
    /// Calls that fitted after an earlier one of the same turn was refused: the feedback worked.
    pub corrected: u64,
    /// Turns that ended with a refused call and no correction.
    pub given_up: u64,
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Calls that ran and failed, for whatever reason.
    pub failed: u64,
    /// Of those, the ones past their time.
    pub timed_out: u64,
    /// Of those, the ones of unknown outcome.
    pub unknown: u64,
    /// Calls that were not allowed.
    pub denied: u64,
    /// Attempts beyond each call's first.
    pub retries: u64,
    /// Calls answered by a recorded outcome.
    pub from_record: u64,
    /// The time of all attempts, in microseconds.
    pub duration_us: u64,
}

/// One row of the counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolStats {
    /// The tool, or [`UNKNOWN_TOOL`].
    pub tool: String,
    /// The model; empty where it was not said.
    pub model: String,
    /// How it went.
    pub counts: Counts,
}

/// The counters of a registry and its clones.
#[derive(Debug, Default)]
pub struct Stats {
    inner: Mutex<Inner>,
    abandoned: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    misshapen: Mutex<BTreeMap<String, u64>>,
}

#[derive(Debug, Default)]
struct Inner {
    counts: Table,
    /// Refused calls that nothing has corrected yet, oldest first.
    open: VecDeque<Open>,
}

#[derive(Debug, PartialEq, Eq)]
struct Open {
    session: SessionId,
    turn: Seq,
    tool: String,
    model: String,
}

/// Who called what, where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) session: SessionId,
    pub(crate) turn: Seq,
    pub(crate) tool: &'a str,
    pub(crate) model: &'a str,
}

/// How a call's arguments came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arguments {
    Fitting,
    Repaired,
    Refused,
}

impl Stats {
    /// All rows, by tool and model.
    #[must_use]
    pub fn rows(&self) -> Vec<ToolStats> {
        let rows = self.lock().counts.clone();
        let of_tool = |(tool, models): (String, BTreeMap<String, Counts>)| {
            models.into_iter().map(move |(model, counts)| ToolStats { tool: tool.clone(), model, counts })
        };
        rows.into_iter().flat_map(of_tool).collect()
    }

    /// The counts of one tool over all models.
    #[must_use]
    pub fn of(&self, tool: &str) -> Counts {
        let inner = self.lock();
        let models = inner.counts.get(tool).into_iter().flat_map(BTreeMap::values);
        models.fold(Counts::default(), Counts::plus)
    }

    /// How many runs of a tool were abandoned while they went on (T6).
    #[must_use]
    pub fn abandoned(&self, tool: &str) -> u64 {
        let abandoned = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        abandoned.get(tool).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// How many outputs of a tool broke its own output schema.
    #[must_use]
    pub fn misshapen_outputs(&self, tool: &str) -> u64 {
        self.misshapen.lock().unwrap_or_else(PoisonError::into_inner).get(tool).copied().unwrap_or_default()
    }

    pub(crate) fn misshapen(&self, tool: &str) {
        let mut misshapen = self.misshapen.lock().unwrap_or_else(PoisonError::into_inner);
        *misshapen.entry(tool.to_owned()).or_default() += 1;
    }

    /// Says that a turn has ended: what was refused in it and not corrected counts as given up.
    pub fn end_turn(&self, session: SessionId, turn: Seq) {
        self.lock().give_up(|open| open.session == session && open.turn <= turn);
    }

    pub(crate) fn abandoned_of(&self, tool: &str) -> Arc<AtomicU64> {
        let mut abandoned = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(abandoned.entry(tool.to_owned()).or_default())
    }

    /// Counts how a call's arguments came.
    pub(crate) fn checked(&self, caller: Caller<'_>, arguments: Arguments) {
        let mut inner = self.lock();
        // A new turn of the session ends the one before.
        inner.give_up(|open| open.session == caller.session && open.turn < caller.turn);
        let matches = |open: &Open| {
            open.session == caller.session
                && open.turn == caller.turn
                && open.tool == caller.tool
                && open.model == caller.model
        };
        let place = inner.open.iter().position(matches);
        inner.count(caller, |counts| match arguments {
            Arguments::Refused => counts.refused += 1,
            Arguments::Repaired => counts.repaired += 1,
            Arguments::Fitting => counts.first_try += u64::from(place.is_none()),
        });
        match (arguments, place) {
            (Arguments::Refused, None) => inner.open(caller),
            (Arguments::Refused, Some(_)) | (_, None) => {}
            (_, Some(place)) => {
                inner.count(caller, |counts| counts.corrected += 1);
                inner.open.remove(place);
            }
        }
    }

    /// Counts how a call ended.
    pub(crate) fn ended(&self, caller: Caller<'_>, outcome: &ToolOutcome) {
        let report = &outcome.report;
        self.lock().count(caller, |counts| {
            counts.retries += u64::from(report.attempts.saturating_sub(1));
            counts.duration_us = counts.duration_us.saturating_add(report.duration_us);
            counts.from_record += u64::from(report.from_record);
            match outcome.failure_kind() {
                None => counts.succeeded += 1,
                Some(FailureKind::InvalidArguments | FailureKind::UnknownTool) => {}
                Some(FailureKind::Denied) => counts.denied += 1,
                Some(kind) => {
                    counts.failed += 1;
                    counts.timed_out += u64::from(kind == FailureKind::TimedOut);
                    counts.unknown += u64::from(kind == FailureKind::OutcomeUnknown);
                }
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn count(&mut self, caller: Caller<'_>, change: impl FnOnce(&mut Counts)) {
        count(&mut self.counts, caller.tool, caller.model, change);
    }

    fn open(&mut self, caller: Caller<'_>) {
        let Caller { session, turn, tool, model } = caller;
        self.open.push_back(Open { session, turn, tool: tool.to_owned(), model: model.to_owned() });
        if self.open.len() > MAX_OPEN
            && let Some(oldest) = self.open.pop_front()
        {
            count(&mut self.counts, &oldest.tool, &oldest.model, |counts| counts.given_up += 1);
        }
    }

    fn give_up(&mut self, ends: impl Fn(&Open) -> bool) {
        let Self { counts, open } = self;
        open.retain(|open| {
            let ends = ends(open);
            if ends {
                count(counts, &open.tool, &open.model, |counts| counts.given_up += 1);
            }
            !ends
        });
    }
}

/// By tool, then by model.
type Table = BTreeMap<String, BTreeMap<String, Counts>>;

/// Changes the counts of a tool and model. It is on the path of each call, and copies the names only the first time.
fn count(table: &mut Table, tool: &str, model: &str, change: impl FnOnce(&mut Counts)) {
    match table.get_mut(tool).and_then(|models| models.get_mut(model)) {
        Some(counts) => change(counts),
        None => change(table.entry(tool.to_owned()).or_default().entry(model.to_owned()).or_default()),
    }
}

impl Counts {
    fn plus(mut self, other: &Self) -> Self {
        self.first_try += other.first_try;
        self.repaired += other.repaired;
        self.refused += other.refused;
        self.corrected += other.corrected;
        self.given_up += other.given_up;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.unknown += other.unknown;
        self.denied += other.denied;
        self.retries += other.retries;
        self.from_record += other.from_record;
        self.duration_us = self.duration_us.saturating_add(other.duration_us);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_that_works_is_told_from_feedback_that_does_not() {
        let stats = Stats::default();
        let session = SessionId::generate();
        let caller = |turn| Caller { session, turn: Seq::new(turn), tool: "t", model: "m" };
        stats.checked(caller(1), Arguments::Fitting);
        stats.checked(caller(1), Arguments::Refused);
        stats.checked(caller(1), Arguments::Refused);
        stats.checked(caller(1), Arguments::Fitting);
        stats.checked(caller(5), Arguments::Refused);
        stats.checked(caller(9), Arguments::Repaired);
        stats.checked(caller(9), Arguments::Refused);
        stats.end_turn(session, Seq::new(9));
        let counts = stats.of("t");
        assert_eq!((counts.first_try, counts.repaired, counts.refused), (1, 1, 4));
        assert_eq!((counts.corrected, counts.given_up), (1, 2));
    }
}
