//! Export and import as JSON Lines, lossless (S10).
//!
//! The first line is a header: the format's version, who the session is, and what is known about its context. Every further line is one message as it is
//! stored. Exporting an import gives the same bytes. Artifacts are not part of it; a message names the ones it belongs to.

use std::io::{BufRead, Write};
use std::sync::Arc;

use hermes_core::{ContextMetadata, Limit, LogQuery, Message, NewSession, Owner, Seq, SessionId, WriteGuard};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tracing::instrument;

use crate::error::Error;
use crate::session::Session;
use crate::sessions::Sessions;

/// The version of the format that this program writes, and the newest that it reads.
const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    hermes_session: u32,
    id: SessionId,
    owner: Owner,
    title: String,
    time_zone: Option<String>,
    created: Timestamp,
    context: ContextMetadata,
}

impl Session {
    /// Writes the session as JSON Lines, a page at a time: the log may be longer than memory. `sink` should be buffered, and is not flushed.
    ///
    /// # Errors
    /// [`Error::Io`] when the sink fails, [`Error::NotFound`] when the session is gone, or a failure of the backend.
    #[instrument(name = "session.export", skip_all, fields(session = %self.id()))]
    pub async fn export<W: Write + Send>(&self, sink: &mut W) -> Result<(), Error> {
        let last = self.refresh().await?;
        let (record, context) = (self.record(), self.metadata());
        let header = Header {
            hermes_session: VERSION,
            id: record.id,
            owner: record.owner,
            title: record.title,
            time_zone: record.time_zone,
            created: record.created,
            context,
        };
        write_line(sink, &header)?;
        let mut query = LogQuery::forward(Seq::START, Limit::MAX).up_to(last);
        loop {
            let page = self.history(&query).await?;
            for message in &page.messages {
                write_line(sink, message)?;
            }
            let Some(end) = page.messages.last().filter(|_| page.more) else { return Ok(()) };
            query.from = end.seq().next();
        }
    }
}

fn write_line<T: Serialize, W: Write>(sink: &mut W, value: &T) -> Result<(), Error> {
    serde_json::to_writer(&mut *sink, value).map_err(|error| Error::Io(error.into()))?;
    sink.write_all(b"\n").map_err(Error::Io)
}

/// Which id an imported session has.
#[derive(Clone, Copy)]
enum Identity {
    Kept,
    New,
}

impl Sessions {
    /// Reads a session from JSON Lines, for this owner and under the id that it had.
    ///
    /// # Errors
    /// [`Error::Store`] when the id is taken, [`Error::Import`] for text that is no export, [`Error::Io`], or a failure of the backend.
    /// Nothing is left of an import that failed.
    pub async fn import<R: BufRead + Send>(&self, owner: &Owner, source: R) -> Result<Session, Error> {
        self.read(owner, source, Identity::Kept).await
    }

    /// The same under a new id, so that the session can stand beside the one that it was exported from.
    ///
    /// # Errors
    /// As [`Sessions::import`].
    pub async fn import_copy<R: BufRead + Send>(&self, owner: &Owner, source: R) -> Result<Session, Error> {
        self.read(owner, source, Identity::New).await
    }

    #[instrument(name = "session.import", skip_all)]
    async fn read<R: BufRead + Send>(
        &self,
        owner: &Owner,
        source: R,
        identity: Identity,
    ) -> Result<Session, Error> {
        let mut lines = Lines { source, line: 0, text: String::new() };
        let header: Header =
            lines.next()?.ok_or(Error::Import { line: 1, reason: "there is no header".to_owned() })?;
        if header.hermes_session > VERSION {
            let reason =
                format!("it has version {}, this program reads up to {VERSION}", header.hermes_session);
            return Err(Error::Import { line: 1, reason });
        }
        let id = match identity {
            Identity::Kept => header.id,
            Identity::New => SessionId::generate(),
        };
        let new = NewSession {
            id,
            owner: owner.clone(),
            title: header.title,
            time_zone: header.time_zone,
            created: header.created,
        };
        let session = self.create_with(new).await?;
        match fill(self, &session, lines, header.context).await {
            Ok(()) => Ok(session),
            Err(error) => {
                // The first error is the one to tell; what is left is the user's own half session at worst.
                let _ = session.delete().await;
                Err(error)
            }
        }
    }
}

/// Appends the messages as they are: their marks, counts and times are those of the export.
async fn fill<R: BufRead + Send>(
    sessions: &Sessions,
    session: &Session,
    mut lines: Lines<R>,
    context: ContextMetadata,
) -> Result<(), Error> {
    let (store, owner, id) = (Arc::clone(sessions.store()), session.owner(), session.id());
    let mut last = Seq::START;
    loop {
        let expected = last;
        let mut batch = Vec::new();
        while batch.len() < Limit::MAX.get() {
            let Some(message) = lines.next::<Message>()? else { break };
            if message.seq() != last.next() {
                let reason = format!("message {} stands where {} is due", message.seq(), last.next());
                return Err(Error::Import { line: lines.line, reason });
            }
            last = message.seq();
            batch.push(message.into_new());
        }
        if batch.is_empty() {
            break;
        }
        let guard = WriteGuard::unleased(sessions.clock().now());
        store.append(owner, id, expected, &batch, guard).await.map_err(|error| Error::of(id, error))?;
    }
    if context.summary.as_ref().is_some_and(|summary| summary.through > last) {
        return Err(Error::Import {
            line: 1,
            reason: "its summary covers more than its messages".to_owned(),
        });
    }
    session.put_context(context).await?;
    session.refresh().await?;
    Ok(())
}

/// Reads JSON line by line.
struct Lines<R> {
    source: R,
    line: u64,
    text: String,
}

impl<R: BufRead> Lines<R> {
    /// The next value; `None` at the end. Empty lines are passed over.
    fn next<T: for<'de> Deserialize<'de>>(&mut self) -> Result<Option<T>, Error> {
        loop {
            self.text.clear();
            self.line += 1;
            if self.source.read_line(&mut self.text).map_err(Error::Io)? == 0 {
                return Ok(None);
            }
            if !self.text.trim().is_empty() {
                let value = serde_json::from_str(self.text.trim_end());
                return value
                    .map(Some)
                    .map_err(|error| Error::Import { line: self.line, reason: error.to_string() });
            }
        }
    }
}
