//! How the text of the repository has to look.

use crate::workspace::{TextFile, assert_none, text_files};

/// A file of code has one purpose; past this length it has several.
const MAX_LINES: usize = 800;
/// Tests longer than this hide the code beside them: they move to a sibling `tests.rs`.
const MAX_INLINE_TEST_LINES: usize = 150;

/// Marks of open ends; each needs the number of an issue, as in `(#12)`. In halves, so that this file has none.
const OPEN_ENDS: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];

/// Texts that belong to one machine or one registry's address and not to a project. In halves, likewise.
const FOREIGN: [&str; 7] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("pypi", ".org"),
    concat!("index.crates", ".io"),
    concat!("registry", ".npmjs"),
];

fn too_long(file: &TextFile) -> Vec<String> {
    let lines = file.text.lines().count();
    let judged = file.has_extension("rs") && !file.is_test() && lines > MAX_LINES;
    judged
        .then(|| format!("{}: {lines} lines; split it by purpose (at most {MAX_LINES})", file.path))
        .into_iter()
        .collect()
}

/// Length of each `#[cfg(test)] mod … { … }`, with the line it starts at.
fn inline_tests(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        if line.trim() != "#[cfg(test)]" {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let opened = lines[start + 1..].iter().map(|line| line.trim()).find(|line| !line.starts_with("#["));
        if !opened.is_some_and(|line| line.contains("mod ") && line.ends_with('{')) {
            continue;
        }
        let closing = format!("{indent}}}");
        let length = lines[start..]
            .iter()
            .position(|line| *line == closing)
            .map_or(lines.len() - start, |end| end + 1);
        found.push((start + 1, length));
    }
    found
}

fn long_inline_tests(file: &TextFile) -> Vec<String> {
    if !file.has_extension("rs") || file.is_test() {
        return Vec::new();
    }
    let long = inline_tests(&file.text).into_iter().filter(|(_, length)| *length > MAX_INLINE_TEST_LINES);
    long.map(|(line, length)| {
        format!("{}:{line}: {length} lines of inline tests; move them to a sibling tests.rs", file.path)
    })
    .collect()
}

fn contains_word(line: &str, word: &str) -> bool {
    let parts = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    parts.into_iter().any(|part| part == word)
}

fn has_issue_number(line: &str) -> bool {
    line.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn lines_with_faults<'a>(
    file: &'a TextFile,
    fault: impl Fn(&str) -> Option<String> + 'a,
) -> impl Iterator<Item = String> + 'a {
    let numbered = file.text.lines().enumerate();
    numbered.filter_map(move |(index, line)| Some(format!("{}:{}: {}", file.path, index + 1, fault(line)?)))
}

fn open_ends(file: &TextFile) -> Vec<String> {
    lines_with_faults(file, |line| {
        let word = OPEN_ENDS.iter().find(|word| contains_word(line, word))?;
        (!has_issue_number(line)).then(|| format!("{word} without the number of its issue"))
    })
    .collect()
}

/// Data that others recorded may name the machines it was recorded on, wherever it is repeated.
fn foreign_texts(file: &TextFile) -> Vec<String> {
    if file.path.contains("/tests/data/") || file.has_extension("snap") {
        return Vec::new();
    }
    lines_with_faults(file, |line| {
        let text = FOREIGN.iter().find(|text| line.contains(**text))?;
        Some(format!("`{text}` belongs to one machine or one registry, not to the project"))
    })
    .collect()
}

/// Lint exceptions say why; a test that is switched off says nothing and is refused.
fn silent_exceptions(file: &TextFile) -> Vec<String> {
    if !file.has_extension("rs") {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for (at, _) in file.text.match_indices("#[").chain(file.text.match_indices("#![")) {
        let attribute = file.text[at..].split(")]").next().unwrap_or_default();
        let body = attribute.trim_start_matches(['#', '!', '[']);
        // Inside a string or a comment it is talk about attributes.
        let before = file.text[..at].rsplit('\n').next().unwrap_or_default();
        if !before.trim().is_empty() {
            continue;
        }
        let line = file.text[..at].matches('\n').count() + 1;
        if (body.starts_with("allow(") || body.starts_with("expect(")) && !attribute.contains("reason = ") {
            faults.push(format!("{}:{line}: a lint exception without its `reason = \"…\"`", file.path));
        }
        if body.starts_with("ignore") {
            faults.push(format!("{}:{line}: an ignored test; mend it, or delete it", file.path));
        }
    }
    faults
}

fn check(rule: fn(&TextFile) -> Vec<String>) {
    assert_none(text_files().iter().flat_map(rule));
}

#[test]
fn files_have_one_purpose() {
    check(too_long);
}

#[test]
fn inline_tests_do_not_hide_the_code() {
    check(long_inline_tests);
}

#[test]
fn open_ends_have_an_issue() {
    check(open_ends);
}

#[test]
fn nothing_of_one_machine_is_in_the_tree() {
    check(foreign_texts);
}

#[test]
fn exceptions_give_their_reason() {
    check(silent_exceptions);
}

#[test]
fn the_rules_fire() {
    let file = |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
    let long = "//\n".repeat(MAX_LINES + 1);
    assert_eq!(too_long(&file("a/src/lib.rs", &long)).len(), 1);
    assert_eq!(too_long(&file("a/tests/it/main.rs", &long)).len(), 0);
    assert_eq!(
        inline_tests("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {\n    }\n}\nfn c() {}\n"),
        [(2, 5)]
    );
    assert_eq!(inline_tests("#[cfg(test)]\nmod tests;\nmod a {\n}\n"), []);
    let word = OPEN_ENDS[0];
    assert_eq!(open_ends(&file("a.md", &format!("x\n{word}: y\n{word} (#12): z\n{word}S"))).len(), 1);
    assert_eq!(foreign_texts(&file("a.sh", &format!("cd {}x", FOREIGN[0]))).len(), 1);
    assert_eq!(foreign_texts(&file("a/tests/data/b.jsonl", &format!("{}x", FOREIGN[0]))).len(), 0);
    let rust = "#[allow(\n    dead_code\n)]\n#[expect(a, reason = \"b\")]\n#![allow(c)]\n// #[allow(d)]\n#[ignore]\nfn a() {}\n";
    assert_eq!(silent_exceptions(&file("a.rs", rust)).len(), 3);
}
