//! Sessions and their logs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use hermes_core::session::MAX_TITLE_BYTES;
use hermes_core::{
    ContextMetadata, Entity, ForkPoint, Kind, Limit, LogFilter, LogPage, LogQuery, Message, NewMessage,
    NewSession, Order, Owner, Page, PageRequest, Role, SearchHit, SearchQuery, Seq, SessionId, SessionRecord,
    SessionState, SessionStore, StoreError, StoredSession, WriteGuard,
};
use jiff::Timestamp;

use crate::cursor;
use crate::lease::Held;
use crate::store::InMemoryStore;

/// A message with the terms it is found by.
#[derive(Debug, Clone)]
struct Entry {
    message: Arc<Message>,
    terms: Arc<[String]>,
}

/// A session with its log and lease.
#[derive(Debug)]
pub(crate) struct SessionRow {
    pub(crate) record: SessionRecord,
    pub(crate) state: SessionState,
    pub(crate) lease: Option<Held>,
    log: Vec<Entry>,
}

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct SessionTable {
    rows: BTreeMap<SessionId, SessionRow>,
}

impl SessionTable {
    pub(crate) fn row(&self, owner: &Owner, session: SessionId) -> Result<&SessionRow, StoreError> {
        self.rows.get(&session).filter(|row| row.record.owner == *owner).ok_or_else(|| not_found(session))
    }

    pub(crate) fn row_mut(
        &mut self,
        owner: &Owner,
        session: SessionId,
    ) -> Result<&mut SessionRow, StoreError> {
        self.rows.get_mut(&session).filter(|row| row.record.owner == *owner).ok_or_else(|| not_found(session))
    }

    fn writable(
        &mut self,
        owner: &Owner,
        session: SessionId,
        guard: WriteGuard,
    ) -> Result<&mut SessionRow, StoreError> {
        let row = self.row_mut(owner, session)?;
        row.check(guard)?;
        Ok(row)
    }

    fn insert(
        &mut self,
        new: &NewSession,
        forked_from: Option<ForkPoint>,
        log: Vec<Entry>,
        context: ContextMetadata,
    ) -> Result<StoredSession, StoreError> {
        check_title(&new.title)?;
        if self.rows.contains_key(&new.id) {
            return Err(StoreError::Exists { what: Entity::Session, id: new.id.to_string() });
        }
        let record = SessionRecord {
            id: new.id,
            owner: new.owner.clone(),
            title: new.title.clone(),
            time_zone: new.time_zone.clone(),
            created: new.created,
            forked_from,
        };
        let last = log.last().map_or(Seq::START, |entry| entry.message.seq());
        let state =
            SessionState { last, updated: new.created, fence: hermes_core::FencingToken::default(), context };
        let row = SessionRow { record, state, lease: None, log };
        let stored = row.stored();
        self.rows.insert(new.id, row);
        Ok(stored)
    }
}

impl SessionRow {
    fn stored(&self) -> StoredSession {
        StoredSession { record: self.record.clone(), state: self.state.clone() }
    }

    fn check(&self, guard: WriteGuard) -> Result<(), StoreError> {
        let session = self.record.id;
        match (guard.fence, &self.lease) {
            (Some(held), _) if held != self.state.fence => {
                Err(StoreError::Fenced { session, held, current: self.state.fence })
            }
            (None, Some(lease)) if guard.at < lease.expires => {
                Err(StoreError::Leased { session, holder: lease.holder.clone(), until: lease.expires })
            }
            _ => Ok(()),
        }
    }

    /// The entries of places `from..=to`, oldest first. Places are consecutive from 1, so that a place is an index.
    fn range(&self, from: Seq, to: Seq) -> &[Entry] {
        let index = |seq: Seq| usize::try_from(seq.get()).unwrap_or(usize::MAX);
        let (from, to) = (index(from).saturating_sub(1), index(to).min(self.log.len()));
        self.log.get(from..to).unwrap_or_default()
    }
}

fn not_found(session: SessionId) -> StoreError {
    StoreError::NotFound { what: Entity::Session, id: session.to_string() }
}

fn check_title(title: &str) -> Result<(), StoreError> {
    if title.len() > MAX_TITLE_BYTES {
        let reason = format!("it has {} bytes, at most {MAX_TITLE_BYTES} are kept", title.len());
        return Err(StoreError::Invalid { what: "title", reason });
    }
    Ok(())
}

fn passes(filter: LogFilter, message: &Message) -> bool {
    match filter {
        LogFilter::Sticky => message.is_sticky(),
        LogFilter::TurnStarts => message.role() == Role::User,
        _ => true,
    }
}

#[async_trait]
impl SessionStore for InMemoryStore {
    async fn create(&self, session: &NewSession) -> Result<StoredSession, StoreError> {
        self.sessions().insert(session, None, Vec::new(), ContextMetadata::default())
    }

    async fn get(&self, owner: &Owner, session: SessionId) -> Result<Option<StoredSession>, StoreError> {
        Ok(self.sessions().row(owner, session).ok().map(SessionRow::stored))
    }

    async fn list(&self, owner: &Owner, page: &PageRequest) -> Result<Page<StoredSession>, StoreError> {
        let after: Option<(Timestamp, SessionId)> = page.cursor.as_ref().map(cursor::read).transpose()?;
        let key = |session: &StoredSession| (session.state.updated, session.record.id);
        let mut sessions: Vec<StoredSession> = {
            let table = self.sessions();
            table.rows.values().filter(|row| row.record.owner == *owner).map(SessionRow::stored).collect()
        };
        sessions.sort_unstable_by_key(|session| Reverse(key(session)));
        let rest = sessions.into_iter().filter(|session| after.is_none_or(|after| key(session) < after));
        Ok(cursor::page(rest, page.limit, key))
    }

    async fn rename(
        &self,
        owner: &Owner,
        session: SessionId,
        title: &str,
        guard: WriteGuard,
    ) -> Result<(), StoreError> {
        check_title(title)?;
        let mut table = self.sessions();
        let row = table.writable(owner, session, guard)?;
        title.clone_into(&mut row.record.title);
        row.state.updated = guard.at;
        Ok(())
    }

    async fn append(
        &self,
        owner: &Owner,
        session: SessionId,
        expected: Seq,
        messages: &[NewMessage],
        guard: WriteGuard,
    ) -> Result<Vec<Message>, StoreError> {
        let entries: Vec<Entry> = (1..)
            .zip(messages)
            .map(|(n, new)| Entry {
                message: Arc::new(Message::from_new(new.clone(), expected.plus(n), guard.at)),
                terms: hermes_text::index_terms(&new.body.search_text()).into(),
            })
            .collect();
        let mut table = self.sessions();
        let row = table.writable(owner, session, guard)?;
        if row.state.last != expected {
            return Err(StoreError::Conflict { session, expected, actual: row.state.last });
        }
        let stored = entries.iter().map(|entry| Message::clone(&entry.message)).collect();
        if let Some(last) = entries.last() {
            row.state.last = last.message.seq();
            row.state.updated = guard.at;
        }
        row.log.extend(entries);
        Ok(stored)
    }

    async fn page(&self, owner: &Owner, session: SessionId, query: &LogQuery) -> Result<LogPage, StoreError> {
        let table = self.sessions();
        let entries = table.row(owner, session)?.range(query.from, query.to).iter();
        let mut matching: Box<dyn Iterator<Item = &Entry> + '_> = match query.order {
            Order::Ascending => Box::new(entries.filter(|entry| passes(query.filter, &entry.message))),
            Order::Descending => Box::new(entries.rev().filter(|entry| passes(query.filter, &entry.message))),
        };
        let messages =
            matching.by_ref().take(query.limit.get()).map(|entry| Message::clone(&entry.message)).collect();
        Ok(LogPage { messages, more: matching.next().is_some() })
    }

    async fn messages(
        &self,
        owner: &Owner,
        session: SessionId,
        places: &[Seq],
    ) -> Result<Vec<Message>, StoreError> {
        if places.len() > Limit::MAX.get() {
            let reason =
                format!("{} are asked for, at most {} are given at once", places.len(), Limit::MAX.get());
            return Err(StoreError::Invalid { what: "places", reason });
        }
        let mut places = places.to_vec();
        places.sort_unstable();
        places.dedup();
        let table = self.sessions();
        let row = table.row(owner, session)?;
        Ok(places
            .into_iter()
            .flat_map(|seq| row.range(seq, seq))
            .map(|entry| Message::clone(&entry.message))
            .collect())
    }

    async fn put_context(
        &self,
        owner: &Owner,
        session: SessionId,
        context: &ContextMetadata,
        guard: WriteGuard,
    ) -> Result<(), StoreError> {
        self.sessions().writable(owner, session, guard)?.state.context = context.clone();
        Ok(())
    }

    async fn search(&self, owner: &Owner, query: &SearchQuery) -> Result<Page<SearchHit>, StoreError> {
        let after: Option<(Timestamp, SessionId, Seq)> =
            query.page.cursor.as_ref().map(cursor::read).transpose()?;
        let terms = hermes_text::query_terms(&query.text);
        if terms.is_empty() {
            return Ok(Page::last(Vec::new()));
        }
        let key = |hit: &SearchHit| (hit.message.created(), hit.session, hit.message.seq());
        let mut hits: Vec<SearchHit> = {
            let table = self.sessions();
            let rows = table.rows.values().filter(|row| {
                row.record.owner == *owner && query.session.is_none_or(|session| session == row.record.id)
            });
            rows.flat_map(|row| row.log.iter().map(move |entry| (row, entry)))
                .filter(|(_, entry)| entry.message.kind() != Kind::CallStarted)
                .filter(|(_, entry)| hermes_text::contains_all(&entry.terms, &terms))
                .map(|(row, entry)| SearchHit {
                    session: row.record.id,
                    title: row.record.title.clone(),
                    message: Message::clone(&entry.message),
                })
                .collect()
        };
        hits.sort_unstable_by_key(|hit| Reverse(key(hit)));
        let rest = hits.into_iter().filter(|hit| after.is_none_or(|after| key(hit) < after));
        Ok(cursor::page(rest, query.page.limit, key))
    }

    async fn fork(
        &self,
        owner: &Owner,
        session: SessionId,
        at: Seq,
        fork: &NewSession,
    ) -> Result<StoredSession, StoreError> {
        let mut table = self.sessions();
        let parent = table.row(owner, session)?;
        if at > parent.state.last {
            let reason = format!("message {at} is asked for, the last one is {}", parent.state.last);
            return Err(StoreError::Invalid { what: "place of the fork", reason });
        }
        if fork.owner != *owner {
            let reason = "a fork belongs to the owner of its parent".to_owned();
            return Err(StoreError::Invalid { what: "owner of the fork", reason });
        }
        let log = parent.range(Seq::START, at).to_vec();
        let mut context = parent.state.context.clone();
        context.summary = context.summary.filter(|summary| summary.through <= at);
        context.sticky.retain(|seq| *seq <= at);
        table.insert(fork, Some(ForkPoint { session, at }), log, context)
    }

    async fn delete(&self, owner: &Owner, session: SessionId, guard: WriteGuard) -> Result<bool, StoreError> {
        let mut table = self.sessions();
        match table.writable(owner, session, guard) {
            Ok(_) => Ok(table.rows.remove(&session).is_some()),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        let mut table = self.sessions();
        let before = table.rows.len();
        table.rows.retain(|_, row| row.record.owner != *owner);
        Ok(count(before - table.rows.len()))
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        let mut table = self.sessions();
        let ended = table
            .rows
            .values_mut()
            .filter(|row| row.lease.as_ref().is_some_and(|lease| lease.expires <= now));
        Ok(count(ended.take(limit.get()).map(|row| row.lease = None).count()))
    }
}

pub(crate) fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
