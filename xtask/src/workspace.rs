//! What the rules look at: the packages, their dependency trees and the text files of the working tree.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use cargo_metadata::{Metadata, MetadataCommand};

/// A text file of the working tree.
pub(crate) struct TextFile {
    /// Path below the root, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// Whether the whole file is test code: there, length and panics are judged more mildly.
    pub(crate) fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        self.path.split('/').any(|part| part == "tests" || part == "benches")
            || name == "tests.rs"
            || name.ends_with("_tests.rs")
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The workspace's own packages with their declared dependencies; reads manifests only, no registry.
pub(crate) fn metadata() -> Metadata {
    MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap()
}

/// Names of all packages built, on this machine, by a program that uses `packages` and nothing else.
pub(crate) fn tree(packages: &[&str], extra: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["tree", "--locked", "--quiet", "--edges", "normal", "--prefix", "none"]);
    cargo.args(["--format", "{p}"]).args(extra);
    for package in packages {
        cargo.args(["--package", package]);
    }
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// All text files a person writes: sources, documents, manifests, scripts. Data files are not among them.
pub(crate) fn text_files() -> Vec<TextFile> {
    let root = root();
    let mut files = Vec::new();
    collect(&root, &root, &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<TextFile>) {
    const EXTENSIONS: [&str; 9] = ["rs", "md", "toml", "sql", "sh", "py", "json", "jsonl", "yml"];
    const SKIPPED: [&str; 2] = ["target", "node_modules"];
    const HIDDEN: [&str; 3] = [".ci", ".config", ".cargo"];
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        let name = entry.file_name().into_string().unwrap();
        let ours = if name.starts_with('.') { HIDDEN.contains(&&*name) } else { !SKIPPED.contains(&&*name) };
        if kind.is_dir() && ours {
            collect(root, &path, files);
        }
        let known = path.extension().is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known));
        if kind.is_file() && (known || path.starts_with(root.join(".ci"))) {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            files.push(TextFile { path, text });
        }
    }
}

/// Fails with all faults at once, one a line.
pub(crate) fn assert_none(faults: impl IntoIterator<Item = String>) {
    let faults: Vec<String> = faults.into_iter().collect();
    assert!(faults.is_empty(), "{} found:\n{}", faults.len(), faults.join("\n"));
}
