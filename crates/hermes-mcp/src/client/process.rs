//! A server's program: how it is started, and what it leaves behind.

use std::collections::VecDeque;
use std::path::Path;
use std::process::{ExitStatus, Stdio as Pipe};
use std::sync::{Mutex, PoisonError};

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use secrecy::ExposeSecret as _;
use tokio::process::Command;

use super::server::Stdio;
use crate::error::Error;

/// The variables that every program is given, where they are set: what a program needs to be found and to run, and nothing
/// that is usually secret. The first six are those of the protocol's reference clients.
const BASE: [&str; 21] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TZ",
    // Windows
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERPROFILE",
];

/// How many of the last lines on standard error are kept, and how long each may be.
const TAIL_LINES: usize = 5;
const TAIL_CHARS: usize = 200;

/// How a program ended and what it said last.
#[derive(Debug, Default)]
pub(crate) struct ProcessReport {
    tail: Mutex<VecDeque<String>>,
    status: Mutex<Option<ExitStatus>>,
}

impl ProcessReport {
    pub(crate) fn say(&self, line: &str) {
        let line = hermes_text::clean::clean_text(line);
        if line.trim().is_empty() {
            return;
        }
        let line = hermes_text::mask_secrets(&hermes_text::truncate_chars(&line, TAIL_CHARS)).into_owned();
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.len() == TAIL_LINES {
            tail.pop_front();
        }
        tail.push_back(line);
    }

    pub(crate) fn ended(&self, status: ExitStatus) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }

    /// What happened, in words that follow the server's name.
    pub(crate) fn sentence(&self) -> String {
        let status = *self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sentence = match status.and_then(|status| status.code()) {
            Some(code) => format!("its program ended with exit code {code}"),
            None if status.is_some() => "its program was ended by a signal".to_owned(),
            None => "its program closed the connection".to_owned(),
        };
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        if !tail.is_empty() {
            let lines: Vec<&str> = tail.iter().map(String::as_str).collect();
            sentence.push_str(&format!("; it last said: {}", lines.join(" / ")));
        }
        sentence
    }
}

/// Starts a server's program in a process group of its own, with pipes on all three streams.
pub(crate) fn spawn(prefix: &str, stdio: &Stdio) -> Result<Box<dyn ChildWrapper>, Error> {
    let mut command = Command::new(&stdio.command);
    command.args(&stdio.args).env_clear();
    for name in BASE {
        if let Some(value) = crate::config::environment(name) {
            command.env(name, value);
        }
    }
    for (name, value) in &stdio.env {
        command.env(name, value.expose_secret());
    }
    if let Some(folder) = &stdio.cwd {
        command.current_dir(folder);
    }
    command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped());
    let mut command = CommandWrap::from(command);
    command.wrap(KillOnDrop);
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    command.spawn().map_err(|source| {
        let message = start_message(stdio, &source);
        Error::Start { server: prefix.to_owned(), message, source }
    })
}

fn start_message(stdio: &Stdio, source: &std::io::Error) -> String {
    let command = &stdio.command;
    if let Some(folder) = stdio.cwd.as_deref().filter(|folder| !Path::is_dir(folder)) {
        return format!("there is no folder {} to run it in", folder.display());
    }
    match source.kind() {
        std::io::ErrorKind::NotFound => {
            format!("there is no program {command}; check the command, or install it")
        }
        std::io::ErrorKind::PermissionDenied => format!("{command} may not be run; check its permissions"),
        _ => format!("{command}: {source}"),
    }
}
