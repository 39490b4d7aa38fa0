//! Who may depend on whom (B1, B2), and what a crate must never see.
//!
//! ```text
//! L0  hermes-core   hermes-text
//! L1  hermes-session   hermes-tools   hermes-mcp   hermes-memory   hermes-testkit   backends/*   -> L0, never each other
//! L2  hermes-agent                                                      -> core, text, session, tools, memory
//! L3  hermes                                                            -> all of the above
//! L4  hermes-cli, examples                                              -> hermes
//! ```

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, Metadata, Package};

use crate::workspace::{assert_none, metadata, tree};

const CORE_DEPENDENCIES: [&str; 7] =
    ["async-trait", "futures-core", "jiff", "serde", "serde_json", "thiserror", "uuid"];

const GROUND: &[&str] = &["hermes-core", "hermes-text"];
const SQL: &[&str] = &["sqlx", "sqlx-core", "rusqlite", "libsqlite3-sys"];
const HTTP: &[&str] = &["reqwest", "hyper", "ureq"];
const MCP: &[&str] = &["rmcp"];
const VECTOR: &[&str] = &["qdrant-client"];
const RUNTIME: &[&str] = &["tokio", "async-std", "smol"];

/// One package of `crates/` or of the root.
struct Layer {
    name: &'static str,
    /// The packages of this workspace it may depend on.
    may_use: &'static [&'static [&'static str]],
    /// Packages that must not be anywhere in its tree, however many steps away.
    never: &'static [&'static [&'static str]],
}

const LAYERS: &[Layer] = &[
    Layer { name: "hermes-core", may_use: &[], never: &[RUNTIME, HTTP, SQL, MCP, &["tracing", "schemars"]] },
    Layer {
        name: "hermes-text",
        may_use: &[],
        never: &[RUNTIME, HTTP, SQL, MCP, &["async-trait", "futures-core"]],
    },
    Layer { name: "hermes-session", may_use: &[GROUND], never: &[RUNTIME, HTTP, SQL, MCP, VECTOR] },
    Layer { name: "hermes-tools", may_use: &[GROUND], never: &[HTTP, SQL, MCP, VECTOR] },
    Layer { name: "hermes-mcp", may_use: &[GROUND], never: &[SQL, VECTOR, &["jsonschema"]] },
    Layer { name: "hermes-memory", may_use: &[GROUND], never: &[HTTP, SQL, MCP, VECTOR] },
    Layer { name: "hermes-testkit", may_use: &[&["hermes-core"]], never: &[HTTP, SQL, MCP, VECTOR] },
    Layer {
        name: "hermes-agent",
        may_use: &[GROUND, &["hermes-session", "hermes-tools", "hermes-memory"]],
        never: &[HTTP, SQL, MCP, VECTOR],
    },
    Layer {
        name: "hermes",
        may_use: &[
            GROUND,
            &["hermes-session", "hermes-tools", "hermes-mcp", "hermes-memory", "hermes-agent"],
        ],
        never: &[],
    },
    Layer { name: "hermes-cli", may_use: &[&["hermes"]], never: &[] },
    Layer { name: "hermes-examples", may_use: &[&["hermes"]], never: &[] },
    Layer { name: "xtask", may_use: &[], never: &[HTTP, SQL, MCP, VECTOR] },
];

/// Unpublished packages that may use everything and that nothing uses, except as a dev-dependency.
const FREE: &[&str] = &["hermes-bench", "hermes-testkit-net"];

/// What the tests of every crate above the ground floor may use.
const FOR_TESTS: &[&str] = &["hermes-testkit", "hermes-testkit-net", "hermes-inmemory"];

/// The crates that do a backend's real work, and which backend has which. A backend has at most one.
const DRIVERS: &[&str] = &[
    "sqlx",
    "rusqlite",
    "qdrant-client",
    "reqwest",
    "rmcp",
    "tiktoken-rs",
    "tokenizers",
    "candle-core",
    "ort",
];
const BACKENDS: &[(&str, Option<&str>)] = &[
    ("hermes-anthropic", Some("reqwest")),
    ("hermes-embed", None),
    ("hermes-inmemory", None),
    ("hermes-openai", Some("reqwest")),
    ("hermes-postgres", Some("sqlx")),
    ("hermes-qdrant", Some("qdrant-client")),
    ("hermes-sqlite", Some("sqlx")),
    ("hermes-tiktoken", Some("tiktoken-rs")),
];

fn is_backend(package: &Package) -> bool {
    package.manifest_path.components().any(|part| part.as_str() == "backends")
}

/// Dependencies of one kind that are packages of this workspace.
fn own<'a>(metadata: &Metadata, package: &'a Package, dev: bool) -> BTreeSet<&'a str> {
    package
        .dependencies
        .iter()
        .filter(|dependency| (dependency.kind == DependencyKind::Development) == dev)
        .map(|dependency| dependency.name.as_str())
        .filter(|name| metadata.packages.iter().any(|package| package.name == *name))
        .collect()
}

fn may_use(metadata: &Metadata, package: &Package) -> Option<BTreeSet<String>> {
    if is_backend(package) {
        return Some(GROUND.iter().map(|name| (*name).to_owned()).collect());
    }
    let layer = LAYERS.iter().find(|layer| package.name == layer.name)?;
    let mut allowed: BTreeSet<String> = layer.may_use.concat().into_iter().map(str::to_owned).collect();
    if layer.name == "hermes" {
        allowed.extend(metadata.packages.iter().filter(|p| is_backend(p)).map(|p| p.name.to_string()));
    }
    Some(allowed)
}

#[test]
fn every_package_stands_in_one_layer_and_looks_down_only() {
    let metadata = metadata();
    let mut faults = Vec::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        if FREE.contains(&name) {
            continue;
        }
        let Some(allowed) = may_use(&metadata, package) else {
            faults.push(format!("{name} has no layer: place it in the table of xtask/src/layers.rs"));
            continue;
        };
        for used in own(&metadata, package, false) {
            if !allowed.contains(used) {
                faults.push(format!("{name} may not depend on {used}"));
            }
        }
        let floor = GROUND.contains(&name);
        for used in own(&metadata, package, true) {
            if !allowed.contains(used) && (floor || !FOR_TESTS.contains(&used)) {
                faults.push(format!("the tests of {name} may not depend on {used}"));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn core_has_exactly_the_dependencies_of_its_list() {
    let metadata = metadata();
    let core = metadata.packages.iter().find(|package| package.name == "hermes-core").unwrap();
    let found: BTreeSet<&str> = core
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Development)
        .map(|dependency| dependency.name.as_str())
        .collect();
    assert_eq!(
        found,
        BTreeSet::from(CORE_DEPENDENCIES),
        "every backend author compiles what core depends on"
    );
}

#[test]
fn no_crate_sees_what_its_layer_forbids() {
    let metadata = metadata();
    let mut faults = Vec::new();
    for layer in LAYERS.iter().filter(|layer| !layer.never.is_empty()) {
        if !metadata.packages.iter().any(|package| package.name == layer.name) {
            continue;
        }
        let tree = tree(&[layer.name], &["--all-features"]);
        for forbidden in layer.never.concat().into_iter().filter(|name| tree.contains(*name)) {
            faults.push(format!(
                "{} sees {forbidden}: `cargo tree -p {} --all-features -e normal -i {forbidden}` says by which way",
                layer.name, layer.name
            ));
        }
    }
    assert_none(faults);
}

#[test]
fn a_backend_has_one_driver_and_sees_no_other() {
    let metadata = metadata();
    let mut faults = Vec::new();
    for package in metadata.packages.iter().filter(|package| is_backend(package)) {
        let name = package.name.as_str();
        let Some((_, driver)) = BACKENDS.iter().find(|(backend, _)| *backend == name) else {
            faults.push(format!("{name}: name its driver in the table of xtask/src/layers.rs"));
            continue;
        };
        let tree = tree(&[name], &["--all-features"]);
        for seen in DRIVERS.iter().filter(|seen| tree.contains(**seen) && driver.as_ref() != Some(*seen)) {
            faults.push(format!("{name} sees {seen}; its one driver is {}", driver.unwrap_or("none")));
        }
    }
    assert_none(faults);
}

/// The facade joins what features select; code with a need of its own belongs below it. What `connect` reports
/// with comes with core anyway.
#[test]
fn the_facade_depends_on_hermes_crates_and_nothing_new() {
    let metadata = metadata();
    let facade = metadata.packages.iter().find(|package| package.name == "hermes").unwrap();
    let foreign = facade.dependencies.iter().filter(|dependency| {
        dependency.kind != DependencyKind::Development
            && dependency.path.is_none()
            && !CORE_DEPENDENCIES.contains(&dependency.name.as_str())
    });
    assert_none(foreign.map(|dependency| format!("hermes may not depend on {}", dependency.name)));
}

/// Who wants sessions in SQLite only gets no client for HTTP, MCP or vectors with them.
#[test]
fn sessions_and_sqlite_alone_bring_no_http_no_mcp_and_no_vector_client() {
    let tree = tree(&["hermes-session", "hermes-sqlite"], &[]);
    assert!(tree.contains("hermes-session") && tree.contains("sqlx"), "the tree was read: {tree:?}");
    let forbidden =
        [HTTP, MCP, VECTOR, &["hermes-tools", "hermes-mcp", "hermes-memory", "hermes-agent"]].concat();
    let found: Vec<_> = forbidden.into_iter().filter(|name| tree.contains(*name)).collect();
    assert_eq!(found, Vec::<&str>::new());
}
