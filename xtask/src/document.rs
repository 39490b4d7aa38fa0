//! What documents, comments and cases point at has to exist.

use std::{collections::BTreeSet, fs};

use crate::workspace::{TextFile, assert_none, root, text_files};

/// The numbers that docs/requirements.md defines: the first column of its tables.
fn defined(requirements: &str) -> BTreeSet<String> {
    let rows = requirements.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    rows.filter(|cell| is_number(cell)).map(str::to_owned).collect()
}

/// A letter and one or two digits, such as `S4` or `T13`.
fn is_number(word: &str) -> bool {
    let mut characters = word.chars();
    let letter = characters.next().is_some_and(|c| c.is_ascii_uppercase());
    let digits = characters.as_str();
    letter
        && matches!(digits.len(), 1 | 2)
        && !digits.starts_with('0')
        && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Words of `text` that have the form of a number under a letter that the requirements use.
fn cited<'a>(text: &'a str, letters: &'a BTreeSet<char>) -> impl Iterator<Item = &'a str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '+' && c != '-' && c != '.');
    words
        .map(|word| word.trim_end_matches(['.', '-']))
        .filter(|word| is_number(word) && word.chars().next().is_some_and(|letter| letters.contains(&letter)))
}

/// The prose of a file, by line: comments of code, and documents without their code blocks.
fn prose(file: &TextFile) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let comment =
            file.has_extension("rs").then(|| line.split_once("//").map_or("", |(_, comment)| comment));
        let line = comment.unwrap_or(line);
        if line.trim_start_matches(['/', '!', ' ']).starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push((index + 1, line));
        }
        // A code block of one comment does not reach into the next.
        in_code &= comment != Some("");
    }
    lines
}

fn unknown_numbers(file: &TextFile, known: &BTreeSet<String>) -> Vec<String> {
    if !file.has_extension("rs") && !file.has_extension("md") {
        return Vec::new();
    }
    let letters: BTreeSet<char> = known.iter().filter_map(|number| number.chars().next()).collect();
    let mut faults = Vec::new();
    for (line, text) in prose(file) {
        let unknown = cited(text, &letters).filter(|number| !known.contains(*number));
        faults.extend(
            unknown.map(|number| format!("{}:{line}: {number} is not in docs/requirements.md", file.path)),
        );
    }
    faults
}

/// Targets of `[text](target)` that lie in the repository, with their line.
fn links(file: &TextFile) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, text) in prose(file) {
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
        let ours = targets
            .filter(|target| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:"));
        found.extend(ours.map(|target| (line, target)));
    }
    found
}

fn dead_links(file: &TextFile) -> Vec<String> {
    if !file.has_extension("md") {
        return Vec::new();
    }
    let folder = root().join(&file.path).parent().unwrap().to_owned();
    let dead = links(file).into_iter().filter(|(_, target)| !folder.join(target).exists());
    dead.map(|(line, target)| format!("{}:{line}: nothing is at {target}", file.path)).collect()
}

#[test]
fn every_requirement_cited_exists() {
    let known = defined(&fs::read_to_string(root().join("docs/requirements.md")).unwrap());
    assert!(known.contains("S1") && known.contains("B4"), "the numbers were read: {known:?}");
    assert_none(text_files().iter().flat_map(|file| unknown_numbers(file, &known)));
}

#[test]
fn every_case_names_its_requirements() {
    let known = defined(&fs::read_to_string(root().join("docs/requirements.md")).unwrap());
    let mut faults = Vec::new();
    for line in fs::read_to_string(root().join("cases/given.jsonl")).unwrap().lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let cited: Vec<_> =
            case["req"].as_array().into_iter().flatten().filter_map(|number| number.as_str()).collect();
        if cited.is_empty() || cited.iter().any(|number| !known.contains(*number)) {
            faults.push(format!("case {} cites {cited:?}", case["id"]));
        }
    }
    assert_none(faults);
}

#[test]
fn every_link_leads_somewhere() {
    assert_none(text_files().iter().flat_map(dead_links));
}

#[test]
fn the_rules_fire() {
    let known = defined("| # | requirement |\n|---|---|\n| S1 | one |\n| T12 | two |\n");
    assert_eq!(known, BTreeSet::from(["S1".to_owned(), "T12".to_owned()]));
    let file = |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
    let found = unknown_numbers(&file("a.md", "S1, `S2`; T12 S01 S256 U1\n```\nS3\n```\n(S4)."), &known);
    assert_eq!(
        found,
        ["a.md:1: S2 is not in docs/requirements.md", "a.md:5: S4 is not in docs/requirements.md"]
    );
    let found = unknown_numbers(&file("a.rs", "fn a<S7>() {} // see S9\n/// ```\n/// S8\n/// ```\n"), &known);
    assert_eq!(found, ["a.rs:1: S9 is not in docs/requirements.md"]);
    let text = "[a](b.md#c) [d](https://e.f) [g](#h)\n";
    assert_eq!(links(&file("a.md", text)), [(1, "b.md")]);
}
