//! What becomes of a new memory beside those that are there (R9): a pure decision.
//!
//! Likeness shows that two memories are related, not that they contradict each other ("likes spicy food" and "no longer eats spicy
//! food" are very alike). So one supersedes another only where both have the same subject and attribute, or where a [`Judge`] says so;
//! and what counts is when it was said, not when it was processed.

use std::fmt::Debug;

use async_trait::async_trait;
use hermes_core::{BoxError, MemoryRecord, MemoryStatus};

use crate::fill::quoted;
use crate::term::folded;

/// How a new memory stands to one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Both say the same.
    Same,
    /// Both cannot be so at one time.
    Contradicts,
    /// Both can be so.
    Unrelated,
}

/// Decides how two memories of a user stand to each other, where their attributes do not tell.
#[async_trait]
pub trait Judge: Debug + Send + Sync + 'static {
    /// Says how the new one stands to each of the old ones, in their order; what is missing counts as unrelated.
    ///
    /// # Errors
    /// When no verdict could be had; the new memory is then added beside the old ones.
    async fn judge(&self, new: &MemoryRecord, old: &[MemoryRecord]) -> Result<Vec<Relation>, BoxError>;
}

/// What to do with a new memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plan {
    /// Write it.
    Add,
    /// It is there already: note that it was said again.
    Reinforce(Box<MemoryRecord>),
    /// Write it in the place of these, the latest first.
    Supersede(Vec<MemoryRecord>),
    /// Something said later has taken its place already: write it as history before that one.
    Precede(Box<MemoryRecord>),
    /// It is there already, from the same words.
    Drop(Box<MemoryRecord>),
}

/// Decides from the records that are there, with the judge's verdict on each where there is one.
pub(crate) fn plan(new: &MemoryRecord, there: &[(MemoryRecord, Option<Relation>)]) -> Plan {
    if let Some((old, _)) = there.iter().find(|(old, _)| same_words(new, old) && proved_by_the_same(new, old))
    {
        return Plan::Drop(Box::new(old.clone()));
    }
    let active = || there.iter().filter(|(old, _)| old.status == MemoryStatus::Active);
    if let Some((old, _)) = active().find(|(old, verdict)| relation(new, old, *verdict) == Relation::Same) {
        return Plan::Reinforce(Box::new(old.clone()));
    }
    let mut against: Vec<MemoryRecord> = active()
        .filter(|(old, verdict)| relation(new, old, *verdict) == Relation::Contradicts)
        .map(|(old, _)| old.clone())
        .collect();
    against.sort_by_key(|old| std::cmp::Reverse((old.valid_from, old.id)));
    match against.first() {
        None => Plan::Add,
        Some(latest) if latest.valid_from > new.valid_from => Plan::Precede(Box::new(latest.clone())),
        Some(_) => Plan::Supersede(against),
    }
}

fn relation(new: &MemoryRecord, old: &MemoryRecord, verdict: Option<Relation>) -> Relation {
    if same_words(new, old) {
        return Relation::Same;
    }
    let same_key = new.attribute.is_some() && new.attribute == old.attribute;
    if same_key {
        let values = (quoted(&new.content), quoted(&old.content));
        let same_value = matches!(values, (Some(a), Some(b)) if folded(&a) == folded(&b));
        return if same_value { Relation::Same } else { verdict.unwrap_or(Relation::Contradicts) };
    }
    verdict.unwrap_or(Relation::Unrelated)
}

fn same_words(new: &MemoryRecord, old: &MemoryRecord) -> bool {
    new.fingerprint == old.fingerprint
}

/// Whether the new one's messages are among those that prove the old one: the same turn was learned from twice.
fn proved_by_the_same(new: &MemoryRecord, old: &MemoryRecord) -> bool {
    !new.provenance.is_empty()
        && new.provenance.iter().all(|new| {
            old.provenance.iter().any(|old| {
                old.session == new.session && new.messages.iter().all(|seq| old.messages.contains(seq))
            })
        })
}

#[cfg(test)]
mod tests;
