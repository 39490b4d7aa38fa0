//! Sources of tools that may change while they are attached (M7).

use std::collections::BTreeMap;
use std::sync::Arc;

use hermes_core::{SkippedTool, SourceTools, ToolSource};

use crate::contract::{self, Entry};
use crate::error::{AttachError, ContractError, RegisterError};
use crate::registry::{Shared, Table};

/// An attached source and the state of it that the registry has.
#[derive(Debug, Clone)]
pub(crate) struct Attached {
    pub(crate) source: Arc<dyn ToolSource>,
    generation: u64,
}

/// What looking at a source has changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refreshed {
    /// The source.
    pub source: String,
    /// The generation that the registry has now.
    pub generation: u64,
    /// The names that are new.
    pub added: Vec<String>,
    /// The names that are gone.
    pub removed: Vec<String>,
    /// The names whose contract has changed.
    pub changed: Vec<String>,
    /// What the source offers and cannot be used, with the reason.
    pub skipped: Vec<SkippedTool>,
}

impl Refreshed {
    /// Whether any tool came, went or changed.
    #[must_use]
    pub fn is_change(&self) -> bool {
        !(self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty())
    }
}

/// The tools of a source, compiled where they can be.
struct Compiled {
    generation: u64,
    entries: BTreeMap<String, Arc<Entry>>,
    skipped: Vec<SkippedTool>,
}

fn compile(name: &Arc<str>, tools: SourceTools) -> Compiled {
    let SourceTools { generation, tools, mut skipped } = tools;
    let mut entries: BTreeMap<String, Arc<Entry>> = BTreeMap::new();
    for tool in tools {
        let called = tool.spec().name.clone();
        match contract::compile(tool, Some(Arc::clone(name))) {
            Ok(entry) if !entries.contains_key(&called) => {
                entries.insert(called, Arc::new(entry));
            }
            Ok(_) => {
                skipped.push(skip(called, &ContractError::Duplicate { holder: format!("source {name:?}") }))
            }
            Err(problem) => skipped.push(skip(called, &problem)),
        }
    }
    Compiled { generation, entries, skipped }
}

fn skip(name: String, problem: &ContractError) -> SkippedTool {
    SkippedTool { name, reason: problem.to_string() }
}

pub(crate) fn attach(shared: &Shared, source: Arc<dyn ToolSource>) -> Result<Refreshed, AttachError> {
    let name: Arc<str> = source.name().into();
    let compiled = compile(&name, source.tools());
    shared.change(|table| {
        if table.sources.contains_key(&*name) {
            return Err(AttachError::Attached { source_name: name.to_string() });
        }
        for tool in compiled.entries.keys() {
            if let Some(holder) = table.holder_of(tool) {
                let tool = Box::new(RegisterError {
                    tool: tool.clone(),
                    problem: ContractError::Duplicate { holder },
                });
                return Err(AttachError::Collision { source_name: name.to_string(), tool });
            }
        }
        table.sources.insert(name.to_string(), Attached { source, generation: compiled.generation });
        Ok(take_over(table, &name, compiled))
    })
}

pub(crate) fn detach(shared: &Shared, name: &str) -> bool {
    shared.change(|table| {
        table.tools.retain(|_, entry| entry.source.as_deref() != Some(name));
        table.sources.remove(name).is_some()
    })
}

pub(crate) fn refresh(shared: &Shared, name: &str) -> Option<Refreshed> {
    let attached = shared.table().sources.get(name)?.clone();
    let unchanged =
        Refreshed { source: name.to_owned(), generation: attached.generation, ..Refreshed::default() };
    let tools = attached.source.tools();
    if tools.generation <= attached.generation {
        return Some(unchanged);
    }
    // Compiling takes time, so it is done before the lock; who is newer is decided under it.
    let compiled = compile(&name.into(), tools);
    shared.change(|table| {
        let known = table.sources.get_mut(name)?;
        if compiled.generation <= known.generation {
            return Some(Refreshed { generation: known.generation, ..unchanged });
        }
        known.generation = compiled.generation;
        Some(take_over(table, name, compiled))
    })
}

pub(crate) fn refresh_all(shared: &Shared) -> Vec<Refreshed> {
    let names: Vec<String> = shared.table().sources.keys().cloned().collect();
    names.iter().filter_map(|name| refresh(shared, name)).filter(Refreshed::is_change).collect()
}

/// Replaces the tools of one source by its new ones, leaving alone what belongs to others.
fn take_over(table: &mut Table, name: &str, compiled: Compiled) -> Refreshed {
    let Compiled { generation, entries, skipped } = compiled;
    let mut refreshed = Refreshed { source: name.to_owned(), generation, skipped, ..Refreshed::default() };
    let owned = |entry: &Entry| entry.source.as_deref() == Some(name);
    table.tools.retain(|tool, entry| {
        let stays = !owned(entry) || entries.contains_key(tool);
        if !stays {
            refreshed.removed.push(tool.clone());
        }
        stays
    });
    for (tool, entry) in entries {
        match table.tools.get(&tool) {
            Some(present) if !owned(present) => {
                let holder = table.holder_of(&tool).unwrap_or_default();
                refreshed.skipped.push(skip(tool, &ContractError::Duplicate { holder }));
                continue;
            }
            Some(present) if present.spec != entry.spec => refreshed.changed.push(tool.clone()),
            Some(_) => {}
            None => refreshed.added.push(tool.clone()),
        }
        table.tools.insert(tool, entry);
    }
    for SkippedTool { name: tool, reason } in &refreshed.skipped {
        tracing::warn!(source = name, tool, reason, "a tool of a source is skipped");
    }
    refreshed
}
