//! The article's task, end to end (L1): book the restaurant that was mentioned last time.
//!
//! Everything is real but the model, which is a script and says so: the database, the trimming, the memory with its embedder, the
//! checks of the calls, and the MCP server in a process of its own.

mod booking;
mod habit;
mod parts;
mod script;
mod trace;
mod words;

use std::path::{Path, PathBuf};

use hermes::agent::{Agent, AgentEvent, RequestTokens, StopReason};
use hermes::core::{Limit, LogQuery, NewSession, Owner};
use hermes::prelude::Session;
use serde_json::{Value, json};

pub(crate) use self::booking::serve as serve_booking;
use self::parts::Parts;
use self::script::Sent;
use self::trace::Trace;
pub(crate) use self::words::Words;
use crate::cli::DemoArgs;
use crate::error::Error;
use crate::output::Output;

/// Runs the demo.
pub(crate) async fn run(args: DemoArgs) -> Result<(), Error> {
    let out = Output::of(args.json);
    let temporary = tempfile::tempdir().map_err(|e| Error::demo("temporary folder", e))?;
    let folder = args.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
    prepare(&folder)?;
    let book = folder.join("reservations.jsonl");
    let parts = Parts::build(&folder, &book, args.language).await?;
    let demo = Demo { out, words: args.language, agent: parts.agent.clone(), sent: parts.sent.clone() };
    let told = demo.tell(&book).await;
    parts.shut_down().await;
    told?;
    if let Some(folder) = args.keep {
        out.aside(&format!("kept in {}", folder.display()))?;
    }
    Ok(())
}

fn prepare(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|e| Error::folder(folder, &e))?;
    let database = folder.join("demo.db");
    if database.exists() {
        return Err(Error::file(database, "an earlier demo is kept here; choose another folder"));
    }
    Ok(())
}

struct Demo {
    out: Output,
    words: Words,
    agent: Agent,
    sent: Sent,
}

impl Demo {
    async fn tell(&self, book: &Path) -> Result<(), Error> {
        let (out, words) = (self.out, self.words);
        let owner = Owner::new(
            parts::TENANT.parse().map_err(|e| Error::demo("owner", e))?,
            parts::USER.parse().map_err(|e| Error::demo("owner", e))?,
        );
        out.line("Hermes demo: the model here is a script; everything else is real.")?;

        out.heading("1. Last week, another session")?;
        let earlier = self.session(&owner, "Last week").await?;
        self.turn(&earlier, words.earlier(), Show::Whole).await?;

        out.heading("2. Today, a new session: some small talk first, so that there is something to trim")?;
        let today = self.session(&owner, "Today").await?;
        let mut tokens = self.small_talk(&today).await?;

        out.heading("3. The wish")?;
        tokens = tokens.plus(self.turn(&today, words.wish(), Show::Whole).await?);

        out.heading(
            "4. Much later: the booking has left the window, the ledger keeps it from being done twice",
        )?;
        tokens = tokens.plus(self.small_talk(&today).await?);
        tokens = tokens.plus(self.turn(&today, words.question(), Show::Whole).await?);

        out.heading("5. What stands in the end")?;
        self.summary(&owner, &today, tokens, book).await
    }

    async fn session(&self, owner: &Owner, title: &str) -> Result<Session, Error> {
        let now = self.agent.sessions().clock().now();
        let new = NewSession::new(owner.clone(), title, now).with_time_zone(words::TIME_ZONE);
        Ok(self.agent.sessions().create_with(new).await?)
    }

    async fn small_talk(&self, session: &Session) -> Result<RequestTokens, Error> {
        let mut tokens = RequestTokens::default();
        for n in 1..=words::SMALL_TALK {
            tokens = tokens.plus(self.turn(session, &self.words.small_talk(n), Show::Nothing).await?);
        }
        self.out.aside(&format!(
            "   {} short turns, such as: {}",
            words::SMALL_TALK,
            self.words.small_talk(1)
        ))?;
        Ok(tokens)
    }

    /// Drives one turn and shows what happens in it; gives what its requests were made of.
    async fn turn(&self, session: &Session, said: &str, show: Show) -> Result<RequestTokens, Error> {
        let mut trace = Trace::new(self.out, show == Show::Whole);
        trace.said(said)?;
        let mut run = self.agent.run(session, said);
        let mut stop = None;
        while let Some(event) = run.next().await {
            let event = event?;
            if let AgentEvent::Finished { stop: reason, .. } = &event {
                stop = Some(*reason);
            }
            // The request is there once the model has begun to answer.
            if matches!(event, AgentEvent::Text { .. } | AgentEvent::ToolCall { .. }) {
                trace.sent(self.sent.last())?;
            }
            trace.event(&event)?;
        }
        match stop {
            Some(StopReason::Answered) => trace.end(),
            other => Err(Error::demo("turn", format!("it ended by {other:?}"))),
        }
    }

    async fn summary(
        &self,
        owner: &Owner,
        today: &Session,
        tokens: RequestTokens,
        book: &Path,
    ) -> Result<(), Error> {
        let out = self.out;
        let lines = std::fs::read_to_string(book).map_err(|e| Error::file(book, e))?;
        let reservations: Vec<Value> =
            lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        for made in &reservations {
            let text = |key: &str| match made.get(key) {
                Some(Value::String(text)) => text.clone(),
                other => other.map(ToString::to_string).unwrap_or_default(),
            };
            out.line(&format!(
                "   reservation {}, made by process {} (this one is {}): {}, {} at {}, for {}",
                text("confirmation"),
                text("process"),
                std::process::id(),
                text("restaurant"),
                text("date"),
                text("time"),
                text("people"),
            ))?;
        }
        let [made] = reservations.as_slice() else {
            return Err(Error::demo(
                "end",
                format!("{} reservations stand in the book instead of one", reservations.len()),
            ));
        };
        let visits = parts::habit_count(&self.agent, owner).await?;
        out.line(&format!("   visits to the booking service counted: {visits} (a habit is remembered when there are more than 3)"))?;
        let log = today.history(&LogQuery::newest(Limit::new(1))).await?;
        let messages = log.messages.first().map_or(0, |message| message.seq().get());
        out.line(&format!("   the log of today's session is whole: {messages} messages"))?;
        out.line("   the tokens of all requests and answers of today's session:")?;
        trace::indent(out, &tokens.to_string())?;
        out.event(&json!({
            "event": "summary",
            "tokens": tokens,
            "reservation": made,
            "demo_process": std::process::id(),
            "habit_count": visits,
            "messages": messages,
        }))
    }
}

/// How much of a turn is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    Whole,
    Nothing,
}

/// Where the demo's own program is, to be started again as the booking server.
fn own_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(|e| Error::demo("own program", e))
}
