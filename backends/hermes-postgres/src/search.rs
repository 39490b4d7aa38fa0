//! Full-text search over an owner's sessions (decision 7).

use hermes_core::{Message, Owner, Page, SearchHit, SearchQuery, Seq, SessionId};
use sqlx::FromRow;

use crate::cursor;
use crate::error::Error;
use crate::row::{MessageRow, message_columns, message_id, uuid};
use crate::session::key;
use crate::store::PostgresStore;

const LISTING: &str = "search";

#[derive(Debug, FromRow)]
struct HitRow {
    session: Vec<u8>,
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
    let mut conn = store.reads().acquire().await?;
    let (from, to) = match query.session {
        None => (0, i64::MAX),
        Some(session) => match key(&mut *conn, owner, session).await? {
            Some(key) => (message_id(key, Seq::START), message_id(key, Seq::new(u64::MAX))),
            None => return Ok(Page::last(Vec::new())),
        },
    };
    // The places of one session are in the order of the ids of its messages.
    let rows: Vec<HitRow> = sqlx::query_as(concat!(
        "SELECT s.id AS session, s.title, ",
        message_columns!(),
        " FROM hermes_message_terms
          CROSS JOIN hermes_message m ON m.id = hermes_message_terms.rowid
          CROSS JOIN hermes_session s ON s.key = m.id >> 32
          WHERE hermes_message_terms MATCH $1 AND hermes_message_terms.rowid BETWEEN $2 AND $3
            AND s.tenant = $4 AND s.user_id = $5
            AND ($6 IS NULL OR (m.created, s.id, m.id & 4294967295) < ($6, $7, $8))
          ORDER BY m.created DESC, s.id DESC, m.id DESC LIMIT $9"
    ))
    .bind(match_all(&terms))
    .bind(from)
    .bind(to)
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(after.map(|(created, ..)| created))
    .bind(after.map(|(_, session, _)| session.as_uuid().as_bytes().to_vec()))
    .bind(after.map(|(.., place)| crate::row::signed(place)))
    .bind(cursor::one_more(query.page.limit))
    .fetch_all(&mut *conn)
    .await?;
    let hits = rows.into_iter().map(hit).collect::<Result<_, _>>()?;
    cursor::page(LISTING, hits, query.page.limit, |hit: &SearchHit| {
        (hit.message.created().as_microsecond(), hit.session, hit.message.seq().get())
    })
}

fn hit(row: HitRow) -> Result<SearchHit, Error> {
    Ok(SearchHit {
        session: SessionId::from_uuid(uuid("session", &row.session)?),
        title: row.title,
        message: Message::try_from(row.message)?,
    })
}

/// The terms as quoted words, all of which must be there. Quotes are doubled, although no term has one.
fn match_all(terms: &[String]) -> String {
    let quoted: Vec<String> = terms.iter().map(|term| format!("\"{}\"", term.replace('"', "\"\""))).collect();
    quoted.join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_query_language_are_only_words() {
        let terms = hermes_text::query_terms("NOT a* OR \"b");
        assert_eq!(match_all(&terms), r#""not" AND "a" AND "or" AND "b""#);
    }
}
