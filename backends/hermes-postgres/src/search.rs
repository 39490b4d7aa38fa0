//! Full-text search over an owner's sessions (decision 7).

use hermes_core::{Message, Owner, Page, SearchHit, SearchQuery, SessionId};
use sqlx::FromRow;
use uuid::Uuid;

use crate::cursor;
use crate::error::Error;
use crate::escape::plain;
use crate::row::{MessageRow, message_columns, signed};
use crate::store::PostgresStore;
use crate::term;

const LISTING: &str = "search";

#[derive(Debug, FromRow)]
struct HitRow {
    session: Uuid,
    title: String,
    #[sqlx(flatten)]
    message: MessageRow,
}

pub(crate) async fn search(
    store: &PostgresStore,
    owner: &Owner,
    query: &SearchQuery,
) -> Result<Page<SearchHit>, Error> {
    let after: Option<(i64, SessionId, u64)> = cursor::read(LISTING, query.page.cursor.as_ref())?;
    let terms = hermes_text::query_terms(&query.text);
    if terms.is_empty() {
        return Ok(Page::last(Vec::new()));
    }
    let rows: Vec<HitRow> = sqlx::query_as(concat!(
        "SELECT s.id AS session, s.title, ",
        message_columns!(),
        " FROM hermes_message m JOIN hermes_session s ON s.key = m.session
          WHERE m.terms @> $1 AND s.tenant = $2 AND s.user_id = $3 AND ($4::uuid IS NULL OR s.id = $4)
            AND ($5::bigint IS NULL OR (m.created, s.id, m.place) < ($5, $6::uuid, $7::bigint))
          ORDER BY m.created DESC, s.id DESC, m.place DESC LIMIT $8"
    ))
    .bind(term::marked(owner, &terms))
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(query.session.map(|session| *session.as_uuid()))
    .bind(after.map(|(created, ..)| created))
    .bind(after.map(|(_, session, _)| *session.as_uuid()))
    .bind(after.map(|(.., place)| signed(place)))
    .bind(cursor::one_more(query.page.limit))
    .fetch_all(store.reads())
    .await?;
    let hits = rows.into_iter().map(hit).collect::<Result<_, _>>()?;
    cursor::page(LISTING, hits, query.page.limit, |hit: &SearchHit| {
        (hit.message.created().as_microsecond(), hit.session, hit.message.seq().get())
    })
}

fn hit(row: HitRow) -> Result<SearchHit, Error> {
    Ok(SearchHit {
        session: SessionId::from_uuid(row.session),
        title: plain(row.title),
        message: Message::try_from(row.message)?,
    })
}
