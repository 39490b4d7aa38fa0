//! Every clause has a case, and every case is in the list of its suite.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The clauses that the kit proves, by the letters they begin with.
const FAMILIES: [&str; 10] = ["SS", "LE", "ID", "AR", "ST", "EP", "SE", "EM", "TC", "CM"];

/// Clauses that no case of the kit can prove, each with the reason.
const ELSEWHERE: [(&str, &str); 3] = [
    ("CM5", "a live service cannot be made to break off; each client proves it against a server of its own"),
    ("CM6", "opaque data comes from few services; each client proves it against a server of its own"),
    ("CM7", "the kit does not know the key; each client proves it"),
];

/// A case: where it is, what it takes, which clauses it cites.
#[derive(Debug)]
struct Case {
    module: String,
    name: String,
    takes: String,
    cites: BTreeSet<String>,
}

#[test]
fn every_clause_has_a_case() {
    let cited: BTreeSet<String> = cases().into_iter().flat_map(|case| case.cites).collect();
    let clauses = clauses();
    assert!(clauses.len() > 80, "the contracts are read: {clauses:?}");
    let excused: BTreeSet<String> = ELSEWHERE.iter().map(|(clause, _)| (*clause).to_owned()).collect();
    let missing: Vec<_> =
        clauses.iter().filter(|clause| !cited.contains(*clause) && !excused.contains(*clause)).collect();
    assert!(missing.is_empty(), "clauses without a case: {missing:?}");
    let stale: Vec<_> =
        excused.iter().filter(|clause| cited.contains(*clause) || !clauses.contains(*clause)).collect();
    assert!(stale.is_empty(), "excused without need: {stale:?}");
    let unknown: Vec<_> = cited.iter().filter(|clause| !clauses.contains(*clause)).collect();
    assert!(unknown.is_empty(), "cited, but in no contract: {unknown:?}");
}

#[test]
fn every_case_is_in_the_list_of_its_suite() {
    let cases = cases();
    assert!(cases.len() > 100, "the cases are found: {}", cases.len());
    let listed = listed();
    for Case { module, name, takes, cites } in &cases {
        assert!(!cites.is_empty(), "{module}::{name} cites no clause");
        let place = format!("{module}::{name}");
        let suite = listed.get(&place).unwrap_or_else(|| panic!("{place} is in no suite"));
        // A lease needs a session to stand on.
        let expected = if suite == "LeaseStore" { "SessionStore" } else { suite };
        assert_eq!(takes, expected, "{place} is in the suite of its trait");
    }
    assert_eq!(cases.len(), listed.len(), "the lists hold each case once, and nothing else");
}

#[test]
fn a_case_says_what_it_proves() {
    for file in sources(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").as_path()) {
        for (line, doc) in documented(&read(&file)) {
            if line.starts_with("pub async fn ") && line.contains("dyn ") {
                let words = doc.split_whitespace().count();
                assert!(words >= 5, "{}: {line} has the comment {doc:?}", file.display());
            }
        }
    }
}

/// The clauses in the contracts of hermes-core: `- **SS1** …`.
fn clauses() -> BTreeSet<String> {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hermes-core/src");
    let mut clauses = BTreeSet::new();
    for file in sources(&core) {
        for piece in read(&file).split("- **").skip(1) {
            let name: String = piece.chars().take_while(char::is_ascii_alphanumeric).collect();
            if piece[name.len()..].starts_with("**") && is_clause(&name) {
                assert!(clauses.insert(name.clone()), "{name} is given twice");
            }
        }
    }
    clauses
}

fn is_clause(name: &str) -> bool {
    name.len() > 2
        && name.is_char_boundary(2)
        && FAMILIES.contains(&&name[..2])
        && name[2..].chars().all(|c| c.is_ascii_digit())
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut cases = Vec::new();
    for file in sources(&root) {
        let path = file.strip_prefix(&root).expect("it is below").with_extension("");
        let module =
            path.iter().map(|part| part.to_str().expect("a plain name")).collect::<Vec<_>>().join("::");
        for (line, doc) in documented(&read(&file)) {
            let Some(rest) = line.strip_prefix("pub async fn ") else { continue };
            let Some((name, parameters)) = rest.split_once('(') else { continue };
            let Some((_, takes)) = parameters.split_once("dyn ") else { continue };
            let takes = takes.chars().take_while(char::is_ascii_alphanumeric).collect();
            let words = doc.split(|c: char| !c.is_ascii_alphanumeric());
            let cites = words.filter(|word| is_clause(word)).map(str::to_owned).collect();
            cases.push(Case { module: module.clone(), name: name.to_owned(), takes, cites });
        }
    }
    cases
}

/// Each line at the margin with the doc comment right before it.
fn documented(source: &str) -> Vec<(String, String)> {
    let mut doc = String::new();
    let mut found = Vec::new();
    for line in source.lines() {
        if let Some(text) = line.strip_prefix("///") {
            doc.push_str(text);
        } else {
            found.push((line.to_owned(), std::mem::take(&mut doc)));
        }
    }
    found
}

/// The cases in the lists of the suites, with the trait of their suite.
fn listed() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/suite");
    let suite: String = sources(&folder).iter().map(|file| read(file)).collect();
    let mut listed = BTreeMap::new();
    for text in suite.split("/// Writes the tests of [`").skip(1) {
        let (name, text) = text.split_once('`').expect("a trait");
        for section in ["cases {", "races {"] {
            let (_, section) = text.split_once(section).expect("a section");
            let (section, _) = section.split_once('}').expect("its end");
            for group in section.split(';').map(str::trim).filter(|group| !group.is_empty()) {
                let (module, cases) = group.split_once(']').expect("a module");
                let module = module.trim().strip_prefix("[$crate::").expect("a module of the kit");
                for case in cases.split(',').map(str::trim) {
                    let place = format!("{module}::{case}");
                    let before = listed.insert(place.clone(), name.to_owned());
                    assert!(before.is_none(), "{place} is listed twice");
                }
            }
        }
    }
    listed
}

fn sources(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("the file can be read")
}
