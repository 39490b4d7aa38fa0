//! Which memory records count, as SQL.

use hermes_core::clock::truncate_to_micros;
use hermes_core::{MemoryFilter, Owner};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::QueryAs;
use sqlx::{FromRow, Postgres};

use crate::escape::escaped;
use crate::row::micros;

/// A statement about the records of an owner that a filter matches: the meaning of [`MemoryFilter::matches`].
/// The first ten parameters are those of [`Filter::bind`].
macro_rules! filtered {
    ($head:literal, $tail:literal) => {
        concat!(
            $head,
            " WHERE m.tenant = $1 AND m.user_id = $2
              AND ($3::text[] IS NULL OR m.kind = ANY ($3))
              AND ($4::text[] IS NULL OR m.status = ANY ($4))
              AND ($5::bigint IS NULL OR m.updated >= $5 OR m.kind = ANY ($6::text[]))
              AND ($7::bigint IS NULL OR (m.valid_from <= $7 AND (m.valid_until IS NULL OR $7 < m.valid_until)))
              AND ($8::uuid IS NULL OR $8 = ANY (m.sessions))
              AND ($9::text IS NULL OR (m.subject = $9 AND m.attribute = $10::text)) ",
            $tail
        )
    };
}
pub(crate) use filtered;

/// A filter as the parameters of a statement.
pub(crate) struct Filter<'a> {
    owner: &'a Owner,
    filter: &'a MemoryFilter,
}

impl<'a> Filter<'a> {
    pub(crate) fn new(owner: &'a Owner, filter: &'a MemoryFilter) -> Self {
        Self { owner, filter }
    }

    pub(crate) fn bind<T>(&self, sql: &'static str) -> QueryAs<'static, Postgres, T, PgArguments>
    where
        T: for<'r> FromRow<'r, PgRow>,
    {
        let filter = self.filter;
        let kinds: Vec<_> = filter.kinds.iter().map(|kind| kind.as_str()).collect();
        let statuses: Vec<_> = filter.statuses.iter().map(|status| status.as_str()).collect();
        let ageless: Vec<_> = filter.ageless.iter().map(|kind| kind.as_str()).collect();
        // Stored times are whole microseconds: `updated >= since` between two of them holds from the next one on.
        let since = filter.updated_since.map(|since| {
            let floor = since.as_microsecond();
            if truncate_to_micros(since) < since { floor.saturating_add(1) } else { floor }
        });
        sqlx::query_as(sql)
            .bind(self.owner.tenant.as_str().to_owned())
            .bind(self.owner.user.as_str().to_owned())
            .bind((!kinds.is_empty()).then_some(kinds))
            .bind((!statuses.is_empty()).then_some(statuses))
            .bind(since)
            .bind(ageless)
            .bind(micros(filter.valid_at))
            .bind(filter.session.map(|session| *session.as_uuid()))
            .bind(filter.attribute.as_ref().map(|key| escaped(&key.subject).into_owned()))
            .bind(filter.attribute.as_ref().map(|key| escaped(&key.attribute).into_owned()))
    }
}
