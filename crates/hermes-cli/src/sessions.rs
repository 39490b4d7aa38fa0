//! Care of what is stored: list, show, search, fork, export, import, rename, delete and explain sessions (S10).
//!
//! Everything is read page by page: neither a long list nor a long log is ever held whole.

mod tell;

use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes::core::{HolderId, Limit, LogQuery, Owner, PageRequest, SearchQuery, Seq, SessionId};
use hermes::prelude::{Budget, Session, Sessions};
use hermes::session::ContextSpec;
use hermes::tiktoken::TiktokenCounter;
use serde_json::json;

use self::tell::Tell;
use crate::chat::{Place, by_beginning};
use crate::cli::{SessionsArgs, SessionsCommand};
use crate::error::Error;
use crate::output::Output;

/// How many items are read at once when all are wanted.
const PAGE: usize = 500;

/// How long a deletion may take.
const DELETING: Duration = Duration::from_secs(60);

/// Runs one of the commands.
pub(crate) async fn run(args: SessionsArgs) -> Result<(), Error> {
    let place = Place::find(args.data_dir.as_deref(), args.config.as_deref())?;
    let store = hermes::connect(&args.store.unwrap_or(place.store_url)).await?;
    let care = Care {
        sessions: Sessions::from_arc(Arc::clone(&store.sessions)).with_counter(TiktokenCounter::o200k()),
        store,
        owner: place.owner,
        tell: Tell::new(Output::of(args.json)),
    };
    match args.command {
        SessionsCommand::List { limit } => care.list(limit).await,
        SessionsCommand::Show { session, from, limit } => care.show(&session, from, limit).await,
        SessionsCommand::Search { text, session, limit } => {
            care.search(&text.join(" "), session.as_deref(), limit).await
        }
        SessionsCommand::Fork { session, at, title } => care.fork(&session, at, title).await,
        SessionsCommand::Export { session, file } => care.export(&session, file.as_deref()).await,
        SessionsCommand::Import { file, copy } => care.import(&file, copy).await,
        SessionsCommand::Rename { session, title } => care.rename(&session, &title.join(" ")).await,
        SessionsCommand::Delete { session } => care.delete(&session).await,
        SessionsCommand::Explain { session, budget } => care.explain(&session, budget).await,
    }
}

struct Care {
    store: hermes::Store,
    sessions: Sessions,
    owner: Owner,
    tell: Tell,
}

impl Care {
    /// The session with this id, or the only one whose id begins so.
    async fn find(&self, id: &str) -> Result<Session, Error> {
        match id.parse::<SessionId>() {
            Ok(id) => Ok(self.sessions.open(&self.owner, id).await?),
            Err(_) => by_beginning(&self.sessions, &self.owner, id).await,
        }
    }

    async fn list(&self, limit: Option<usize>) -> Result<(), Error> {
        let mut left = limit.unwrap_or(usize::MAX);
        let mut page = PageRequest::first(Limit::new(left.min(PAGE)));
        while left > 0 {
            let listed = self.sessions.list(&self.owner, &page).await?;
            left = left.saturating_sub(listed.items.len());
            listed.items.iter().try_for_each(|session| self.tell.session(session))?;
            match listed.next {
                Some(next) => page = PageRequest { cursor: Some(next), limit: Limit::new(left.min(PAGE)) },
                None => break,
            }
        }
        Ok(())
    }

    async fn show(&self, id: &str, from: Option<Seq>, limit: Option<usize>) -> Result<(), Error> {
        let session = self.find(id).await?;
        let mut left = limit.unwrap_or(usize::MAX);
        let mut from = from.unwrap_or_default();
        while left > 0 {
            let page = session.history(&LogQuery::forward(from, Limit::new(left.min(PAGE)))).await?;
            left = left.saturating_sub(page.messages.len());
            page.messages.iter().try_for_each(|message| self.tell.message(message))?;
            match page.messages.last().filter(|_| page.more) {
                Some(last) => from = last.seq().next(),
                None => break,
            }
        }
        Ok(())
    }

    async fn search(&self, text: &str, session: Option<&str>, limit: Option<usize>) -> Result<(), Error> {
        let session = match session {
            Some(id) => Some(self.find(id).await?.id()),
            None => None,
        };
        let mut left = limit.unwrap_or(usize::MAX);
        let page = PageRequest::first(Limit::new(left.min(PAGE)));
        let mut query = SearchQuery { text: text.to_owned(), session, page };
        while left > 0 {
            let found = self.sessions.search(&self.owner, &query).await?;
            left = left.saturating_sub(found.items.len());
            found.items.iter().try_for_each(|hit| self.tell.hit(hit))?;
            match found.next {
                Some(next) => {
                    query.page = PageRequest { cursor: Some(next), limit: Limit::new(left.min(PAGE)) }
                }
                None => break,
            }
        }
        Ok(())
    }

    async fn fork(&self, id: &str, at: Option<Seq>, title: Option<String>) -> Result<(), Error> {
        let session = self.find(id).await?;
        let title = title.unwrap_or_else(|| session.record().title);
        let fork = session.fork(at.unwrap_or_else(|| session.last()), title).await?;
        self.tell.done("forked", fork.id())
    }

    async fn export(&self, id: &str, file: Option<&Path>) -> Result<(), Error> {
        let session = self.find(id).await?;
        let Some(path) = file else {
            let mut out = BufWriter::new(std::io::stdout());
            session.export(&mut out).await?;
            return out.flush().map_err(Error::Output);
        };
        // An export that breaks off must not look like a whole one, nor take the place of one.
        let unfinished = path.with_extension("unfinished");
        let mut out =
            BufWriter::new(std::fs::File::create(&unfinished).map_err(|e| Error::file(&unfinished, e))?);
        session.export(&mut out).await?;
        out.flush().map_err(|e| Error::file(&unfinished, e))?;
        std::fs::rename(&unfinished, path).map_err(|e| Error::file(path, e))?;
        self.tell.done("exported", session.id())
    }

    async fn import(&self, file: &Path, copy: bool) -> Result<(), Error> {
        let input = BufReader::new(std::fs::File::open(file).map_err(|e| Error::file(file, e))?);
        let session = if copy {
            self.sessions.import_copy(&self.owner, input).await?
        } else {
            self.sessions.import(&self.owner, input).await?
        };
        self.tell.done("imported", session.id())
    }

    async fn rename(&self, id: &str, title: &str) -> Result<(), Error> {
        let session = self.find(id).await?;
        session.rename(title).await?;
        self.tell.done("renamed", session.id())
    }

    /// Deletes a session with everything that hangs on it. The log goes first, under a lease, so that no worker goes on from it
    /// without the records of what it has done.
    async fn delete(&self, id: &str) -> Result<(), Error> {
        let session = self.find(id).await?;
        session.lease(&HolderId::generate(), DELETING).await?;
        session.delete().await?;
        let id = session.id();
        self.store.artifacts.erase_session(&self.owner, id).await?;
        self.store.idempotency.erase_session(&self.owner, id).await?;
        self.store.state.erase_session(&self.owner, id).await?;
        self.tell.done("deleted", id)
    }

    async fn explain(&self, id: &str, budget: u32) -> Result<(), Error> {
        let session = self.find(id).await?;
        let context = session.context(ContextSpec::new(Budget::new(budget)).looking_only()).await?;
        self.tell.explanation(
            &json!({ "session": session.id(), "explanation": context.explain() }),
            context.explain(),
        )
    }
}
