//! Servers that tests may talk to: where they are, and what happens when they are not there.
//!
//! | name | variable |
//! |---|---|
//! | `postgres`, `pgvector`, `qdrant` | `HERMES_TEST_POSTGRES_URL`, `HERMES_TEST_PGVECTOR_URL`, `HERMES_TEST_QDRANT_URL` |
//! | `llm` | `HERMES_TEST_LLM_URL`, and `HERMES_TEST_LLM_MODEL` |
//! | `embeddings` | `HERMES_TEST_EMBEDDINGS_URL`, and `HERMES_TEST_EMBEDDINGS_MODEL`, `HERMES_TEST_EMBEDDINGS_DIMS` |
//! | `mcp_http` | `HERMES_TEST_MCP_HTTP_URL` |
//! | `mcp_servers` | `HERMES_TEST_MCP_SERVERS`, a file with one `name<TAB>command` a line |
//!
//! Without its variable a test passes, after saying its name on standard error. `HERMES_TEST_REQUIRE`, a list of names with
//! commas between them, turns that into a failure, so that a green run never means "did not run"; `mcp` there stands for
//! `mcp_http` and `mcp_servers`.

use std::io::Write as _;

/// The servers that are known, with the variable that says where each is.
const SERVERS: [(&str, &str); 7] = [
    ("postgres", "HERMES_TEST_POSTGRES_URL"),
    ("pgvector", "HERMES_TEST_PGVECTOR_URL"),
    ("qdrant", "HERMES_TEST_QDRANT_URL"),
    ("llm", "HERMES_TEST_LLM_URL"),
    ("embeddings", "HERMES_TEST_EMBEDDINGS_URL"),
    ("mcp_http", "HERMES_TEST_MCP_HTTP_URL"),
    ("mcp_servers", "HERMES_TEST_MCP_SERVERS"),
];

/// A chat model on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llm {
    /// The address, such as `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The model's name there.
    pub model: String,
}

/// An embedding model on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embeddings {
    /// The address.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// How many numbers its vectors have.
    pub dimension: usize,
}

/// Where the server `name` is: an address, or for `mcp_servers` a file's path.
///
/// `None` means that there is none, which has been said on standard error: the test returns.
///
/// # Panics
/// When `HERMES_TEST_REQUIRE` names a server that is not there, and for a name that is not in the table above.
#[must_use]
pub fn url(name: &str) -> Option<String> {
    let thread = std::thread::current();
    url_for(name, thread.name().unwrap_or("a test"))
}

/// [`url`], for the test called `test`.
///
/// # Panics
/// As [`url`] does.
#[must_use]
pub fn url_for(name: &str, test: &str) -> Option<String> {
    let variable = variable(name);
    match decide(name, test, variable, read(variable), read("HERMES_TEST_REQUIRE").as_deref()) {
        Rule::Run(url) => Some(url),
        Rule::Skip(notice) => {
            // The handle and not `eprintln!`, whose text the test harness holds back from a test that passes.
            let _ = writeln!(std::io::stderr().lock(), "{notice}");
            None
        }
        Rule::Fail(reason) => panic!("{reason}"),
    }
}

/// The chat model under test, by the rule of [`url`].
///
/// # Panics
/// As [`url`] does, and when the address is set but not `HERMES_TEST_LLM_MODEL`.
#[must_use]
pub fn llm() -> Option<Llm> {
    let url = url("llm")?;
    Some(Llm { url, model: beside("HERMES_TEST_LLM_MODEL", "HERMES_TEST_LLM_URL") })
}

/// The embedding model under test, by the rule of [`url`].
///
/// # Panics
/// As [`url`] does, and when the address is set but not the model's name and dimension.
#[must_use]
pub fn embeddings() -> Option<Embeddings> {
    let url = url("embeddings")?;
    let dimension = beside("HERMES_TEST_EMBEDDINGS_DIMS", "HERMES_TEST_EMBEDDINGS_URL");
    Some(Embeddings {
        url,
        model: beside("HERMES_TEST_EMBEDDINGS_MODEL", "HERMES_TEST_EMBEDDINGS_URL"),
        dimension: dimension.parse().expect("HERMES_TEST_EMBEDDINGS_DIMS is a number"),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Rule {
    Run(String),
    Skip(String),
    Fail(String),
}

fn decide(name: &str, test: &str, variable: &str, value: Option<String>, require: Option<&str>) -> Rule {
    let required = require.unwrap_or_default().split(',').map(str::trim);
    match value {
        Some(url) => Rule::Run(url),
        None if required
            .into_iter()
            .any(|wanted| wanted == name || (wanted == "mcp" && name.starts_with("mcp_"))) =>
        {
            Rule::Fail(format!("HERMES_TEST_REQUIRE names {name}, and {variable} is not set"))
        }
        None => Rule::Skip(format!("not run: {test} needs the server {name} (set {variable})")),
    }
}

fn variable(name: &str) -> &'static str {
    let Some((_, variable)) = SERVERS.iter().find(|(known, _)| *known == name) else {
        panic!("no server is called {name}; known are {}", SERVERS.map(|(known, _)| known).join(", "));
    };
    variable
}

fn beside(variable: &str, url: &str) -> String {
    read(variable).unwrap_or_else(|| panic!("{url} is set, and {variable} has to be set beside it"))
}

#[expect(clippy::disallowed_methods, reason = "this is where tests read their environment")]
fn read(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_there_is_used() {
        let rule = decide("qdrant", "t", "V", Some("http://q".to_owned()), None);
        assert_eq!(rule, Rule::Run("http://q".to_owned()));
    }

    #[test]
    fn a_missing_server_is_said_by_name() {
        let Rule::Skip(notice) = decide("qdrant", "se4", "HERMES_TEST_QDRANT_URL", None, Some("postgres"))
        else {
            panic!("it has to be passed over");
        };
        for part in ["se4", "qdrant", "HERMES_TEST_QDRANT_URL"] {
            assert!(notice.contains(part), "{notice}");
        }
    }

    #[test]
    fn a_required_server_that_is_missing_is_a_failure() {
        assert!(matches!(decide("qdrant", "t", "V", None, Some("postgres, qdrant")), Rule::Fail(_)));
        assert!(matches!(decide("mcp_http", "t", "V", None, Some("mcp")), Rule::Fail(_)));
        assert!(matches!(decide("postgres", "t", "V", None, Some("mcp,pgvector")), Rule::Skip(_)));
    }

    #[test]
    #[should_panic(expected = "no server is called mysql")]
    fn an_unknown_name_is_a_mistake() {
        let _ = url("mysql");
    }
}
