//! Tests with several processes: this test program starts itself again, with a role.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::ground::Ground;

const ROLE: &str = "HERMES_POSTGRES_TEST_ROLE";
const SCHEMA: &str = "HERMES_POSTGRES_TEST_SCHEMA";
const INPUT: &str = "HERMES_POSTGRES_TEST_INPUT";

/// Marks the lines that a child means for its parent, among those of the test harness.
const MARK: &str = "child: ";

/// A child process that has started and waits for its sign.
pub(crate) struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts a role on a schema and waits until it is ready.
    pub(crate) fn start(role: &str, ground: &Ground, input: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::child", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(SCHEMA, &ground.schema)
            .env(INPUT, input)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self { child, lines };
        assert_eq!(process.line().as_deref(), Some("ready"));
        process
    }

    /// Lets the child begin.
    pub(crate) fn go(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }

    /// The child's next line for us, or `None` when it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        loop {
            let line = self.lines.next()?.unwrap();
            // The harness may have left its own words at the beginning of the line.
            if let Some((_, said)) = line.split_once(MARK) {
                return Some(said.to_owned());
            }
        }
    }

    /// Kills the child as a crash would (SIGKILL).
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let rest = std::iter::from_fn(|| self.line()).collect();
        self.child.wait().unwrap();
        rest
    }

    /// Waits for the child's end, which has to be a good one.
    pub(crate) fn finish(mut self) {
        while self.line().is_some() {}
        assert!(self.child.wait().unwrap().success(), "the child process failed; its words are above");
    }
}

/// In a child: tells the parent something.
pub(crate) fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{MARK}{what}").unwrap();
    out.flush().unwrap();
}

/// In a child: says that it is ready and waits for the sign.
pub(crate) fn ready() {
    say("ready");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a child process gets its role from its parent")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Not a test by itself: what child processes run. Without a role it does nothing.
#[test]
fn child() {
    let Some(role) = variable(ROLE) else { return };
    let input = variable(INPUT).unwrap();
    let url = hermes_testkit::server::url("postgres").unwrap();
    // The parent's schema, which the parent drops.
    let ground = &std::mem::ManuallyDrop::new(Ground { url, schema: variable(SCHEMA).unwrap() });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        match role.as_str() {
            "migrate" => super::schema::migrate_child(ground).await,
            "writers" => super::contention::writers_child(ground, &input).await,
            "pairs" => super::contention::pairs_child(ground, &input).await,
            "crowd" => super::crowd::child(ground, &input).await,
            "crash" => super::crash::child(ground, &input).await,
            other => panic!("no role is called {other}"),
        }
    });
}
