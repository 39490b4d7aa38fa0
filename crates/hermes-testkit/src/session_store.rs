//! The cases of [`SessionStore`], clause by clause.

pub mod context;
pub mod fork;
pub mod guard;
pub mod lifecycle;
pub mod log;
pub mod owner;
pub mod search;

use hermes_core::{
    Limit, LogQuery, Message, NewMessage, NewSession, Owner, Seq, SessionId, SessionStore, StoredSession,
    WriteGuard,
};

use crate::check::ok;
use crate::sample::at;

/// Stores a session.
pub(crate) async fn create(clause: &str, store: &dyn SessionStore, session: &NewSession) -> StoredSession {
    ok(clause, store.create(session).await)
}

/// Stores a session with messages, appended one second after it was made.
pub(crate) async fn create_with(
    clause: &str,
    store: &dyn SessionStore,
    session: &NewSession,
    messages: &[NewMessage],
) -> Vec<Message> {
    create(clause, store, session).await;
    append(clause, store, session, Seq::START, messages, 1).await
}

/// Appends without a lease, at [`at`]`(now)`.
pub(crate) async fn append(
    clause: &str,
    store: &dyn SessionStore,
    session: &NewSession,
    expected: Seq,
    messages: &[NewMessage],
    now: i64,
) -> Vec<Message> {
    ok(
        clause,
        store.append(&session.owner, session.id, expected, messages, WriteGuard::unleased(at(now))).await,
    )
}

/// The session, which has to be there.
pub(crate) async fn stored(
    clause: &str,
    store: &dyn SessionStore,
    owner: &Owner,
    session: SessionId,
) -> StoredSession {
    ok(clause, store.get(owner, session).await)
        .unwrap_or_else(|| panic!("{clause}: the session is not there"))
}

/// The whole log, which has at most [`Limit::MAX`] messages.
pub(crate) async fn log_of(
    clause: &str,
    store: &dyn SessionStore,
    owner: &Owner,
    session: SessionId,
) -> Vec<Message> {
    let page = ok(clause, store.page(owner, session, &LogQuery::forward(Seq::START, Limit::MAX)).await);
    assert!(!page.more, "{clause}: the log does not end");
    page.messages
}

/// Texts of a user.
pub(crate) fn texts(texts: &[&str]) -> Vec<NewMessage> {
    texts.iter().map(|text| NewMessage::user(*text)).collect()
}
