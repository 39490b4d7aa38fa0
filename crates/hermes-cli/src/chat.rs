//! Talking to a model: streaming, with history, tools, MCP servers and memory.

mod config;
mod interrupt;
mod lines;
mod model;
mod parts;
mod show;

use std::io::IsTerminal as _;

use hermes::agent::AgentEvent;
use hermes::core::{Limit, Owner, PageRequest, SessionId};
use hermes::prelude::{Agent, Session, Sessions};

use self::config::Config;
pub(crate) use self::config::Place;
use self::interrupt::Interrupts;
use self::lines::Lines;
use self::parts::Parts;
use self::show::Show;
use crate::cli::ChatArgs;
use crate::error::Error;
use crate::output::{Output, warn};

/// Runs the chat: one turn for a message on the command line, else one for each line.
pub(crate) async fn run(args: ChatArgs) -> Result<(), Error> {
    let config = Config::load(&args)?;
    let out = Output::of(args.json);
    let parts = Parts::build(&config, out).await?;
    let mut interrupts = Interrupts::start();
    let talked = talk(&args, &config, &parts, &mut interrupts, out).await;
    if matches!(talked, Err(Error::Interrupted)) {
        return talked;
    }
    tokio::select! {
        () = parts.shut_down() => talked,
        () = interrupts.next() => talked.and(Err(Error::Interrupted)),
    }
}

async fn talk(
    args: &ChatArgs,
    config: &Config,
    parts: &Parts,
    interrupts: &mut Interrupts,
    out: Output,
) -> Result<(), Error> {
    let owner = config.owner.clone();
    let message = args.message.join(" ");
    let session = choose(&parts.agent, &owner, args.session.as_deref(), &message).await?;
    if !message.trim().is_empty() {
        return turn(&parts.agent, &session, &message, interrupts, out).await;
    }
    let screen = std::io::stdin().is_terminal();
    if screen {
        out.aside(&format!(
            "{} · session {} · an empty line or Ctrl-D ends",
            parts.model_name,
            session.id()
        ))?;
    }
    let mut lines = Lines::open(screen);
    loop {
        let line = tokio::select! {
            line = lines.next() => line?,
            () = interrupts.next() => None,
        };
        let Some(line) = line else { return Ok(()) };
        if line.trim().is_empty() {
            if screen {
                return Ok(());
            }
            continue;
        }
        match turn(&parts.agent, &session, &line, interrupts, out).await {
            // Someone in front of a screen can ask again; a script has to learn that it failed.
            Err(error @ Error::Agent(_)) if screen => warn(&format!("hermes: {}", error.sentence())),
            done => done?,
        }
    }
}

/// The session to go on with: the one that is named, else the last one.
async fn choose(agent: &Agent, owner: &Owner, wanted: Option<&str>, message: &str) -> Result<Session, Error> {
    let sessions = agent.sessions();
    let title = || {
        hermes::core::NewSession::new(owner.clone(), title_of(message), sessions.clock().now())
            .with_time_zone(config::time_zone())
    };
    match wanted {
        Some("new") => Ok(sessions.create_with(title()).await?),
        Some(id) => match id.parse::<SessionId>() {
            Ok(id) => Ok(sessions.open(owner, id).await?),
            Err(_) => by_beginning(sessions, owner, id).await,
        },
        None => {
            let last = sessions.list(owner, &PageRequest::first(Limit::new(1))).await?.items;
            match last.first() {
                Some(last) => Ok(sessions.open(owner, last.record.id).await?),
                None => Ok(sessions.create_with(title()).await?),
            }
        }
    }
}

/// The one session whose id begins so, among all of the user's.
pub(crate) async fn by_beginning(
    sessions: &Sessions,
    owner: &Owner,
    beginning: &str,
) -> Result<Session, Error> {
    let mut found = Vec::new();
    let mut page = PageRequest::default();
    loop {
        let listed = sessions.list(owner, &page).await?;
        let ids = listed.items.iter().map(|session| session.record.id);
        found.extend(ids.filter(|id| id.to_string().starts_with(beginning)));
        match listed.next {
            Some(next) => page.cursor = Some(next),
            None => break,
        }
    }
    match found.as_slice() {
        [only] => Ok(sessions.open(owner, *only).await?),
        [] => Err(Error::Usage(format!(
            "no session begins with {beginning:?}: `hermes sessions list` shows them all"
        ))),
        several => Err(Error::Usage(format!(
            "{} sessions begin with {beginning:?}: give more of the id",
            several.len()
        ))),
    }
}

fn title_of(message: &str) -> String {
    let title: String = message.trim().chars().take(60).collect();
    if title.is_empty() { "Chat".to_owned() } else { title }
}

/// One turn. Ctrl-C stops it and leaves a valid log; a second one ends the program.
async fn turn(
    agent: &Agent,
    session: &Session,
    said: &str,
    interrupts: &mut Interrupts,
    out: Output,
) -> Result<(), Error> {
    let mut show = Show::new(out);
    let mut run = agent.run(session, said);
    let mut interrupted = false;
    loop {
        let event = tokio::select! {
            event = run.next() => event,
            () = interrupts.next() => {
                if interrupted {
                    return Err(Error::Interrupted);
                }
                interrupted = true;
                run.cancel();
                continue;
            }
        };
        let Some(event) = event else { return Ok(()) };
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                show.broken_off()?;
                return Err(error.into());
            }
        };
        show.event(&event)?;
        if let AgentEvent::Finished { stop, .. } = &event {
            show.end(*stop)?;
        }
    }
}
