//! The thin shell around assembling: loads the window, folds what is due, stores the summary (S4, S6).

use std::collections::HashSet;
use std::sync::Arc;

use hermes_core::{Body, CallId, ContextMetadata, Limit, LogFilter, LogQuery, Message, Seq, Summary};
use tracing::instrument;

use crate::assemble::assemble;
use crate::budget::{ContextSpec, Folding};
use crate::context::Context;
use crate::error::Error;
use crate::fold::{fold, stand_in};
use crate::session::Session;
use crate::window::{WindowView, turns};

/// How many messages a page has when the window is loaded: three turns with tools are one page.
const PAGE: usize = 64;

/// How many sticky messages are loaded: more than their budget has room for. Those before them are named by their place.
const STICKY: usize = 96;

impl Session {
    /// Assembles what is sent to the model for the next step; see [`assemble`] for order and rules.
    ///
    /// Turns that are due fold first: the summariser is asked where there is one, and the summary is stored with the session. A store that refuses it,
    /// say because another worker holds the lease, does not fail the context: what is due stands in it as a digest, and the next context
    /// tries again. Reading costs as much as the window is long, however long the log.
    ///
    /// # Errors
    /// [`Error::Budget`] when even the current turn does not fit, [`Error::NotFound`] when the session is gone, or a failure of the backend.
    #[instrument(name = "session.context", skip_all, fields(session = %self.shared.id, tokens, folded))]
    pub async fn context(&self, spec: impl Into<ContextSpec> + Send) -> Result<Context, Error> {
        let spec = spec.into();
        let mut metadata = self.metadata();
        let mut view = self.load(&metadata, &spec.pending).await?;
        let (config, counter) = (&self.parts.config, self.parts.counter.as_ref());
        let mut context = assemble(&view, &spec, config, counter)?;
        if context.folding.turns > 0 && spec.folding == Folding::Stored {
            let standing = turns(&view.messages);
            let gone = standing.get(..context.folding.turns).unwrap_or_default();
            let sticky: Vec<_> =
                gone.iter().copied().flatten().filter(|message| view.is_sticky(message)).cloned().collect();
            let now = self.parts.clock.now();
            metadata = fold(metadata, gone, self.parts.summarizer.as_deref(), config, counter, now).await;
            if let Some(summary) = metadata.summary.clone() {
                let all = view.sticky.iter().cloned().chain(sticky).collect();
                view = view.with_summary(summary, all);
                context = assemble(&view, &spec, config, counter)?;
            }
            metadata.remaining = Some(context.remaining());
            // The summariser may have taken its time, and a clone of this handle have marked a message meanwhile.
            metadata.sticky = self.metadata().sticky;
            match self.put_context(metadata).await {
                Ok(()) => context.folding.done = true,
                Err(error) => {
                    tracing::warn!(%error, "the summary could not be stored; it serves this context only")
                }
            }
        }
        let span = tracing::Span::current();
        span.record("tokens", context.tokens().get());
        span.record("folded", context.folded());
        Ok(context)
    }

    /// The window as it is stored: the turns after the summary, the summary, and the sticky messages that it covers.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the session is gone, or a failure of the backend.
    pub async fn view(&self) -> Result<WindowView, Error> {
        self.load(&self.metadata(), &HashSet::new()).await
    }

    async fn load(&self, metadata: &ContextMetadata, pending: &HashSet<CallId>) -> Result<WindowView, Error> {
        let config = &self.parts.config;
        let start = metadata.summary.as_ref().map_or(Seq::START, |summary| summary.through).next();
        // Enough for what stays and what folds next. More stands there only after an import or while nothing could be stored.
        let most = config.window_turns.saturating_add(config.fold_batch.saturating_mul(2));
        let mut messages = self.newest_turns(start, most).await?;
        let mut summary = metadata.summary.clone();
        if let Some(first) = messages.first()
            && first.seq() > start
        {
            let (caught_up, mut standing) = self.catch_up(summary, first.seq(), pending).await?;
            standing.append(&mut messages);
            (summary, messages) = (caught_up, standing);
        }
        let view = WindowView::new(messages).with_marked(metadata.sticky.clone());
        let Some(summary) = summary else { return Ok(view) };
        let (sticky, older) = self.sticky_through(summary.through, &metadata.sticky).await?;
        Ok(view.with_summary(summary, sticky).with_older_sticky(older))
    }

    /// The newest messages from `start` on, in order: whole turns, at least `most` of them where there are so many.
    async fn newest_turns(&self, start: Seq, most: usize) -> Result<Vec<Arc<Message>>, Error> {
        let mut newest: Vec<Arc<Message>> = Vec::new();
        let mut begun = 0;
        let mut query = LogQuery { from: start, ..LogQuery::newest(Limit::new(PAGE)) };
        // What this handle has not seen yet is for `refresh`, not for a context.
        query.to = self.last();
        loop {
            let page = self.history(&query).await?;
            for message in page.messages {
                query.to = Seq::new(message.seq().get().saturating_sub(1));
                begun += usize::from(matches!(message.body(), Body::User { .. }));
                newest.push(Arc::new(message));
                if begun >= most {
                    newest.reverse();
                    return Ok(newest);
                }
            }
            if !page.more || query.to < start {
                newest.reverse();
                return Ok(newest);
            }
        }
    }

    /// Folds what stands between the summary and the newest turns, page by page and by rule: the way back after an import, or after a time
    /// in which nothing could be stored. It happens once; then the summary covers it.
    ///
    /// Gives the summary, and what must not fold: the turns from the first one on with a call that is still running.
    async fn catch_up(
        &self,
        mut summary: Option<Summary>,
        end: Seq,
        pending: &HashSet<CallId>,
    ) -> Result<(Option<Summary>, Vec<Arc<Message>>), Error> {
        let (config, counter) = (&self.parts.config, self.parts.counter.as_ref());
        let start = summary.as_ref().map_or(Seq::START, |summary| summary.through).next();
        let mut query = LogQuery::forward(start, Limit::MAX).up_to(Seq::new(end.get().saturating_sub(1)));
        let mut standing: Vec<Arc<Message>> = Vec::new();
        loop {
            let page = self.history(&query).await?;
            standing.extend(page.messages.into_iter().map(Arc::new));
            let Some(last) = standing.last().map(|message| message.seq()) else {
                return Ok((summary, standing));
            };
            query.from = last.next();
            let mut gone = turns(&standing);
            // The last turn of a page may go on in the next one.
            if page.more {
                gone.pop();
            }
            if let Some(running) = gone.iter().position(|turn| is_running(turn, pending)) {
                gone.truncate(running);
            }
            summary = stand_in(summary.as_ref(), &gone, config, counter);
            let folded: usize = gone.iter().map(|turn| turn.len()).sum();
            standing.drain(..folded);
            if !page.more {
                return Ok((summary, standing));
            }
        }
    }

    /// The sticky messages that the summary covers, in order, the newest [`STICKY`] of each sort; and the place before which there are more.
    async fn sticky_through(
        &self,
        through: Seq,
        marked: &[Seq],
    ) -> Result<(Vec<Arc<Message>>, Option<Seq>), Error> {
        let query = LogQuery::newest(Limit::new(STICKY)).filter(LogFilter::Sticky).up_to(through);
        let page = self.history(&query).await?;
        let mut older = page.messages.last().filter(|_| page.more).map(Message::seq);
        let mut found: Vec<_> = page.messages.into_iter().map(Arc::new).collect();
        let covered = marked.get(..marked.partition_point(|&seq| seq <= through)).unwrap_or_default();
        let newest = covered.get(covered.len().saturating_sub(STICKY)..).unwrap_or_default();
        if newest.len() < covered.len() {
            older = older.max(newest.first().copied());
        }
        if !newest.is_empty() {
            let store = &self.parts.store;
            let by_call = store.messages(&self.shared.owner, self.shared.id, newest).await;
            found.extend(by_call.map_err(|error| self.failed(error))?.into_iter().map(Arc::new));
        }
        found.sort_by_key(|message| message.seq());
        found.dedup_by_key(|message| message.seq());
        Ok((found, older))
    }
}

fn is_running(turn: &[Arc<Message>], pending: &HashSet<CallId>) -> bool {
    turn.iter().any(|message| message.body().calls().iter().any(|call| pending.contains(&call.id)))
}
