//! What a suite does without its server, seen from outside: this test binary runs itself.

use std::process::{Command, Output};

/// A suite that needs a server. With one it runs in memory all the same: what counts here is whether it runs.
mod needs_pgvector {
    use hermes_testkit::Fresh;

    use crate::services::CharacterCounter;

    hermes_testkit::token_counter_suite!(requires "pgvector", |url: String| async move {
        assert!(!url.is_empty(), "the address is handed on");
        Fresh::new(CharacterCounter::new())
    });
}

fn run(environment: &[(&str, &str)]) -> Output {
    let this = std::env::current_exe().expect("a test binary knows its place");
    let mut command = Command::new(this);
    command.args(["--exact", "servers::needs_pgvector::token_counter::counts_do_not_change"]);
    command.env_remove("HERMES_TEST_PGVECTOR_URL").env_remove("HERMES_TEST_REQUIRE");
    command.envs(environment.iter().copied()).output().expect("the test binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn without_a_server_a_test_passes_and_says_its_name() {
    let output = run(&[]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("1 passed"), "{}", text(&output.stdout));
    // The harness holds back what a passing test prints; this has to be seen all the same.
    let said = text(&output.stderr);
    for part in [
        "not run",
        "needs_pgvector::token_counter::counts_do_not_change",
        "pgvector",
        "HERMES_TEST_PGVECTOR_URL",
    ] {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
}

#[test]
fn without_a_required_server_a_test_fails() {
    let output = run(&[("HERMES_TEST_REQUIRE", "postgres,pgvector")]);
    assert!(!output.status.success(), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("HERMES_TEST_REQUIRE names pgvector"), "{}", text(&output.stdout));
}

#[test]
fn with_a_server_a_test_runs_and_says_nothing() {
    let server = ("HERMES_TEST_PGVECTOR_URL", "postgres://nowhere");
    let output = run(&[server, ("HERMES_TEST_REQUIRE", "pgvector")]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    assert!(!text(&output.stderr).contains("not run"), "{}", text(&output.stderr));
}
