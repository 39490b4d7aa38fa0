//! Which memory records count, as SQL.

use hermes_core::clock::truncate_to_micros;
use hermes_core::{MemoryFilter, Owner};
use sqlx::query::QueryAs;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{FromRow, Sqlite};

use crate::error::Error;
use crate::row::{micros, to_json};

/// A statement about the records of an owner that a filter matches: the meaning of [`MemoryFilter::matches`].
/// The first ten parameters are those of [`Filter::bind`].
macro_rules! filtered {
    ($head:literal, $tail:literal) => {
        concat!(
            $head,
            " WHERE m.tenant = ?1 AND m.user = ?2
              AND (?3 IS NULL OR m.kind IN (SELECT value FROM json_each(?3)))
              AND (?4 IS NULL OR m.status IN (SELECT value FROM json_each(?4)))
              AND (?5 IS NULL OR m.updated >= ?5 OR m.kind IN (SELECT value FROM json_each(?6)))
              AND (?7 IS NULL OR (m.valid_from <= ?7 AND (m.valid_until IS NULL OR ?7 < m.valid_until)))
              AND (?8 IS NULL OR EXISTS (SELECT 1 FROM json_each(m.provenance) WHERE value ->> 'session' = ?8))
              AND (?9 IS NULL OR (m.subject = ?9 AND m.attribute = ?10)) ",
            $tail
        )
    };
}
pub(crate) use filtered;

/// A filter as the parameters of a statement.
pub(crate) struct Filter<'a> {
    owner: &'a Owner,
    filter: &'a MemoryFilter,
    kinds: Option<String>,
    statuses: Option<String>,
    ageless: String,
}

impl<'a> Filter<'a> {
    pub(crate) fn new(owner: &'a Owner, filter: &'a MemoryFilter) -> Result<Self, Error> {
        let some = |words: &[_]| !words.is_empty();
        let kinds: Vec<_> = filter.kinds.iter().map(|kind| kind.as_str()).collect();
        let statuses: Vec<_> = filter.statuses.iter().map(|status| status.as_str()).collect();
        let ageless: Vec<_> = filter.ageless.iter().map(|kind| kind.as_str()).collect();
        Ok(Self {
            owner,
            filter,
            kinds: some(&kinds).then(|| to_json("filter", &kinds)).transpose()?,
            statuses: some(&statuses).then(|| to_json("filter", &statuses)).transpose()?,
            ageless: to_json("filter", &ageless)?,
        })
    }

    pub(crate) fn bind<T>(&self, sql: &'static str) -> QueryAs<'static, Sqlite, T, SqliteArguments>
    where
        T: for<'r> FromRow<'r, SqliteRow>,
    {
        let filter = self.filter;
        // Stored times are whole microseconds: `updated >= since` between two of them holds from the next one on.
        let since = filter.updated_since.map(|since| {
            let floor = since.as_microsecond();
            if truncate_to_micros(since) < since { floor.saturating_add(1) } else { floor }
        });
        sqlx::query_as(sql)
            .bind(self.owner.tenant.as_str().to_owned())
            .bind(self.owner.user.as_str().to_owned())
            .bind(self.kinds.clone())
            .bind(self.statuses.clone())
            .bind(since)
            .bind(self.ageless.clone())
            .bind(micros(filter.valid_at))
            .bind(filter.session.map(|session| session.to_string()))
            .bind(filter.attribute.as_ref().map(|key| key.subject.clone()))
            .bind(filter.attribute.as_ref().map(|key| key.attribute.clone()))
    }
}
