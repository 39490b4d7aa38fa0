//! Running the program in a home of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Nobody listens here: the port belongs to a service that no machine has offered for decades.
pub(crate) const NOBODY: &str = "http://127.0.0.1:1";

/// A home folder with a data folder in it, and nothing of the environment but the path.
pub(crate) struct Home(TempDir);

/// What a run left on the screen.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) process: u32,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(home.data()).unwrap();
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Where sessions and memories are kept.
    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Writes a file of the data folder.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.data().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    #[expect(clippy::disallowed_methods, reason = "programs that tests start are looked up as usual")]
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hermes"));
        command.env_clear().env("HOME", self.0.path()).env("HERMES_DATA_DIR", self.data());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("USER", "dana");
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).spawn().unwrap())
    }

    /// Runs the program with these lines on standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran::of(child)
    }

    /// The arguments of a chat with a service, then more.
    pub(crate) fn chat(&self, url: &str, more: &[&str]) -> Ran {
        self.run(&chat(url, more))
    }

    /// The data folder's files with what is in them, but for the empty ones that are locked.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files(&self.data())
    }
}

pub(crate) fn chat<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["chat", "--base-url", url], more].concat()
}

pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let kept = paths
        .filter(|path| !path.extension().and_then(OsStr::to_str).is_some_and(|end| end.ends_with("lock")));
    kept.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

impl Ran {
    pub(crate) fn of(child: Child) -> Self {
        let process = child.id();
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { process, code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The run went well and had nothing to complain about.
    #[track_caller]
    pub(crate) fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.err, "", "{self:?}");
        self
    }

    /// The lines of standard output, each an event.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.out.lines().map(parse).collect()
    }

    /// The run failed, and its whole output is one sentence with these parts.
    #[track_caller]
    pub(crate) fn failed_with(&self, parts: &[&str]) {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        let sentence = self.err.strip_prefix("hermes: ").unwrap_or_else(|| panic!("{self:?}"));
        let sentence = sentence.strip_suffix('\n').unwrap_or_else(|| panic!("{self:?}"));
        assert!(!sentence.contains('\n'), "{self:?}");
        assert!(!sentence.contains("Error") && !sentence.contains(" { "), "no debug form: {sentence}");
        for part in parts {
            assert!(sentence.contains(part), "{part:?} is missing in {sentence:?}");
        }
    }
}

/// A run that is still going on.
pub(crate) struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    seen: String,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out, seen: String::new() }
    }

    /// Reads the output until this stands in it, without waiting for the line's end.
    pub(crate) fn until(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let piece = self.out.fill_buf().unwrap();
            assert!(!piece.is_empty(), "the output ended without {text:?}: {}", self.seen);
            let length = piece.len();
            self.seen.push_str(&String::from_utf8_lossy(piece));
            self.out.consume(length);
        }
    }

    /// Writes a line to its standard input.
    pub(crate) fn type_line(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// What Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let kill = format!("kill -INT {}", self.child.id());
        Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status().unwrap();
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn end(mut self) -> Ran {
        self.out.read_to_string(&mut self.seen).unwrap();
        let ran = Ran::of(self.child);
        Ran { out: self.seen, ..ran }
    }
}
