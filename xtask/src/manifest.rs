//! Every package's manifest: what a reader, a registry and the workspace expect of it.

use std::fs;

use cargo_metadata::Package;
use toml::Table;

use crate::workspace::{assert_none, metadata, root};

fn manifest(text: &str) -> Table {
    text.parse().unwrap()
}

/// The dependencies that bring a version of their own; all versions stand in the root manifest.
fn own_versions(manifest: &Table) -> Vec<String> {
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .into_iter()
        .filter_map(|table| manifest.get(table)?.as_table())
        .flatten()
        .filter(|(_, value)| {
            let inherited = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
            !inherited && (value.get("path").is_none() || value.get("version").is_some())
        })
        .map(|(name, _)| name.clone())
        .collect()
}

fn faults_of(package: &Package) -> Vec<String> {
    let text = fs::read_to_string(&package.manifest_path).unwrap();
    let manifest = manifest(&text);
    let folder = package.manifest_path.parent().unwrap();
    let name = package.name.as_str();
    let mut faults = Vec::new();
    let mut expect = |holds: bool, fault: &str| {
        if !holds {
            faults.push(format!("{name}: {fault}"));
        }
    };

    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    expect(lints.and_then(toml::Value::as_bool) == Some(true), "lacks `[lints] workspace = true`");
    for key in ["version", "edition", "rust-version", "license"] {
        let value = manifest.get("package").and_then(|package| package.get(key));
        let inherited = value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool);
        expect(
            inherited == Some(true),
            &format!("`{key}` comes from the workspace: `{key}.workspace = true`"),
        );
    }
    expect(package.license.as_deref() == Some("MIT OR Apache-2.0"), "the licence is MIT OR Apache-2.0");
    expect(package.description.as_ref().is_some_and(|text| text.len() > 20), "lacks a description");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
    expect(
        readme.starts_with("# ") && readme.lines().count() > 2,
        "lacks a README.md with a title and a text",
    );
    let in_named_folder = folder.file_name() == Some(name) || name == "hermes-examples";
    expect(in_named_folder, "the folder is named as the package");
    for dependency in own_versions(&manifest) {
        expect(
            false,
            &format!("`{dependency}` takes its version from the workspace: `{dependency}.workspace = true`"),
        );
    }
    faults
}

/// Entries of `[workspace.dependencies]` that are out of order within their paragraph, or take any version.
fn table_faults(root_manifest: &str) -> Vec<String> {
    let table = root_manifest.split("[workspace.dependencies]\n").nth(1).unwrap_or_default();
    let table = table.split("\n[").next().unwrap_or_default();
    let mut faults = Vec::new();
    for paragraph in table.split("\n\n") {
        let names: Vec<_> = paragraph
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| Some(line.split_once(" = ")?.0.trim()))
            .collect();
        let disordered = names.iter().zip(names.iter().skip(1)).filter(|(first, second)| first > second);
        faults.extend(disordered.map(|(first, second)| format!("`{second}` stands after `{first}`")));
    }
    faults.extend(
        table.lines().filter(|line| line.contains("\"*\"")).map(|line| format!("any version: {line}")),
    );
    faults
}

#[test]
fn every_package_is_complete_and_takes_from_the_workspace() {
    assert_none(metadata().packages.iter().flat_map(faults_of));
}

#[test]
fn the_table_of_versions_is_in_order() {
    assert_none(table_faults(&fs::read_to_string(root().join("Cargo.toml")).unwrap()));
}

#[test]
fn the_rules_fire() {
    let found = own_versions(&manifest(
        "[dependencies]\na.workspace = true\nb = '1'\nc = { path = '../c' }\n[dev-dependencies]\nd = { version = '1', path = 'd' }",
    ));
    assert_eq!(found, ["b", "d"]);
    let found = table_faults(
        "[workspace.dependencies]\nb = \"1\"\n\n# c\nd = \"*\"\nc = \"1\"\n\n[profile.dev]\na = 1\n",
    );
    assert_eq!(found, ["`c` stands after `d`", "any version: d = \"*\""]);
}
