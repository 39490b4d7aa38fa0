//! From a server's list of tools to contracts (M2, M4, M8). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hermes_core::{Effect, KeyRule, KeyScope, SkippedTool, ToolOrigin, ToolSpec, UnknownFields};

use crate::clean;
use crate::client::Settings;
use crate::error::Error;
use crate::namespace::Names;
use crate::pin::{Fingerprint, fingerprint};
use crate::schema;
use crate::wire::{Annotations, WireTool};

/// One usable tool.
#[derive(Debug, PartialEq)]
pub(crate) struct Definition {
    /// The server's own name.
    pub(crate) tool: String,
    pub(crate) spec: Arc<ToolSpec>,
}

/// What a server offers.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) definitions: Vec<Arc<Definition>>,
    pub(crate) skipped: Vec<SkippedTool>,
    pub(crate) offered: BTreeMap<String, Fingerprint>,
}

/// The fingerprints of all tools, by the server's own names; of two with one name, the first.
pub(crate) fn fingerprints(tools: &[WireTool]) -> BTreeMap<String, Fingerprint> {
    let mut all = BTreeMap::new();
    for tool in tools {
        all.entry(tool.name.clone()).or_insert_with(|| fingerprint(tool));
    }
    all
}

/// Converts what can be used and gives a reason for the rest.
///
/// # Errors
/// [`Error::Collision`].
pub(crate) fn build(
    prefix: &str,
    settings: &Settings,
    tools: Vec<WireTool>,
    odd: Vec<(String, String)>,
    withheld: &BTreeSet<String>,
) -> Result<Catalog, Error> {
    let mut catalog = Catalog { offered: fingerprints(&tools), ..Catalog::default() };
    let mut names = Names::default();
    let mut seen = BTreeSet::new();
    for tool in tools {
        if !seen.insert(tool.name.clone()) {
            catalog.skipped.push(skip(tool.name, "the server lists it twice; the first one is used"));
            continue;
        }
        let wanted = settings.only.as_ref().is_none_or(|only| only.contains(&tool.name));
        if !wanted || settings.without.contains(&tool.name) {
            catalog.skipped.push(skip(tool.name, "the configuration leaves it out"));
            continue;
        }
        if withheld.contains(&tool.name) {
            catalog
                .skipped
                .push(skip(tool.name, "its definition changed since it was approved; approve it again"));
            continue;
        }
        let name = names.give(prefix, &tool.name)?;
        match spec(prefix, name, settings, &tool) {
            Ok(spec) => {
                catalog.definitions.push(Arc::new(Definition { tool: tool.name, spec: Arc::new(spec) }));
            }
            Err(reason) => catalog.skipped.push(skip(tool.name, reason)),
        }
    }
    catalog.skipped.extend(odd.into_iter().map(|(name, reason)| skip(name, reason)));
    // The order of names, not of the server: equal lists are equal however they are sent.
    catalog.definitions.sort_by(|left, right| left.spec.name.cmp(&right.spec.name));
    Ok(catalog)
}

fn spec(prefix: &str, name: String, settings: &Settings, tool: &WireTool) -> Result<ToolSpec, String> {
    let input = schema::input(tool.input_schema.as_ref()).map_err(|reason| {
        format!("the schema of {} cannot be used: {reason}", hermes_text::truncate_chars(&tool.name, 64))
    })?;
    let described = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or(&tool.name);
    let mut spec = ToolSpec::new(name, clean::description(described, clean::MAX_DESCRIPTION))
        .input_schema(input)
        .effect(effect(settings, tool.annotations))
        .timeout(settings.total_timeout)
        .unknown_fields(UnknownFields::AsSchema)
        .group(prefix);
    if spec.effect == Effect::SideEffect && tool.annotations.read_only == Some(true) {
        // Not believed so far as to run it twice after a crash, but far enough that reading again reads anew.
        spec = spec.key(KeyRule { scope: KeyScope::Call, arguments: None });
    }
    spec.output_schema = tool.output_schema.as_ref().and_then(|output| schema::output(output).ok());
    spec.origin = Some(ToolOrigin { source: prefix.to_owned(), name: tool.name.clone() });
    Ok(spec)
}

/// What a tool does to the world, as far as its server is believed.
fn effect(settings: &Settings, hints: Annotations) -> Effect {
    if !settings.trust_annotations {
        return Effect::SideEffect;
    }
    match hints {
        Annotations { read_only: Some(true), .. } => Effect::ReadOnly,
        Annotations { idempotent: Some(true), .. } => Effect::Idempotent,
        _ => Effect::SideEffect,
    }
}

fn skip(name: String, reason: impl Into<String>) -> SkippedTool {
    SkippedTool { name, reason: reason.into() }
}

#[cfg(test)]
#[path = "catalog/tests.rs"]
mod tests;
