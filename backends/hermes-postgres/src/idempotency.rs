//! Claims on effects (T8).

use async_trait::async_trait;
use hermes_core::{
    Claim, ClaimRecord, ClaimTicket, Entity, FencingToken, HolderId, IdempotencyKey, IdempotencyStore,
    JsonText, Limit, NewClaim, Owner, SessionId, StoreError, Takeover,
};
use jiff::Timestamp;
use sqlx::postgres::PgConnection;
use sqlx::{FromRow, PgExecutor};
use uuid::Uuid;

use crate::error::Error;
use crate::escape::{escaped, plain};
use crate::row::{json_text, signed, text, time, unsigned};
use crate::store::PostgresStore;

#[async_trait]
impl IdempotencyStore for PostgresStore {
    async fn claim(
        &self,
        owner: &Owner,
        key: &IdempotencyKey,
        claim: &NewClaim,
    ) -> Result<Claim, StoreError> {
        self.run("claim", || take(self, owner, key, claim)).await
    }

    async fn complete(
        &self,
        ticket: &ClaimTicket,
        outcome: &JsonText,
        at: Timestamp,
        retain_until: Timestamp,
    ) -> Result<(), StoreError> {
        self.run("complete claim", || complete(self, ticket, outcome, at, retain_until)).await
    }

    async fn release(&self, ticket: &ClaimTicket) -> Result<(), StoreError> {
        self.run("release claim", || release(self, ticket)).await
    }

    async fn get(&self, owner: &Owner, key: &IdempotencyKey) -> Result<Option<ClaimRecord>, StoreError> {
        self.run("get claim", || get(self, owner, key)).await
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        self.run("erase claims", || erase_user(self, owner)).await
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        self.run("erase claims", || erase_session(self, owner, session)).await
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        self.run("collect claims", || collect(self, now, limit)).await
    }
}

#[derive(Debug, FromRow)]
struct ClaimRow {
    session: Uuid,
    tool: String,
    holder: String,
    fence: i64,
    expires: i64,
    outcome: Option<String>,
    completed: Option<i64>,
}

const WHAT: &str = "idempotency key";

impl ClaimRow {
    fn holder(&self) -> Result<HolderId, Error> {
        text(WHAT, &self.holder)
    }

    fn expires(&self) -> Result<Timestamp, Error> {
        time(WHAT, self.expires)
    }

    fn record(self) -> Result<ClaimRecord, Error> {
        Ok(ClaimRecord {
            holder: self.holder()?,
            expires: self.expires()?,
            session: SessionId::from_uuid(self.session),
            tool: plain(self.tool),
            outcome: self.outcome.map(|outcome| json_text(WHAT, &outcome)).transpose()?,
        })
    }
}

/// How a key stands.
macro_rules! find_sql {
    ($lock:literal) => {
        concat!(
            "SELECT session, tool, holder, fence, expires, outcome, completed FROM hermes_claim
             WHERE tenant = $1 AND user_id = $2 AND key = $3",
            $lock
        )
    };
}

async fn find(
    executor: impl PgExecutor<'_>,
    sql: &'static str,
    owner: &Owner,
    key: &IdempotencyKey,
) -> Result<Option<ClaimRow>, Error> {
    let row = sqlx::query_as(sql)
        .bind(owner.tenant.as_str())
        .bind(owner.user.as_str())
        .bind(key.as_str())
        .fetch_optional(executor)
        .await?;
    Ok(row)
}

async fn take(
    store: &PostgresStore,
    owner: &Owner,
    key: &IdempotencyKey,
    claim: &NewClaim,
) -> Result<Claim, Error> {
    let mut tx = store.begin().await?;
    // A row of our own is one that nobody else sees before we commit; it has no fence yet.
    let new = sqlx::query(
        "INSERT INTO hermes_claim (tenant, user_id, key, session, tool, holder, fence, expires)
         VALUES ($1, $2, $3, $4, '', '', 0, 0) ON CONFLICT DO NOTHING",
    )
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(key.as_str())
    .bind(claim.session.as_uuid())
    .execute(&mut *tx)
    .await?;
    if new.rows_affected() == 0 {
        // It may have been released since.
        let row = find(&mut *tx, find_sql!(" FOR UPDATE"), owner, key).await?.ok_or(Error::Overtaken)?;
        if let Some(standing) = standing(&row, claim)? {
            // Before the answer, so that whoever acts on it finds the row unlocked.
            tx.rollback().await?;
            return Ok(standing);
        }
    }
    // The fence is drawn while the row is ours: it is higher than those of all who had the key before.
    let fence: i64 = sqlx::query_scalar(
        "UPDATE hermes_claim SET session = $4, tool = $5, holder = $6, expires = $7, fence = nextval('hermes_claim_fence')
         WHERE tenant = $1 AND user_id = $2 AND key = $3 RETURNING fence",
    )
    .bind(owner.tenant.as_str())
    .bind(owner.user.as_str())
    .bind(key.as_str())
    .bind(claim.session.as_uuid())
    .bind(escaped(&claim.tool))
    .bind(claim.holder.as_str())
    .bind(claim.expires.as_microsecond())
    .fetch_one(&mut *tx)
    .await?;
    tx.commit().await?;
    let fence = FencingToken::new(unsigned(WHAT, fence)?);
    Ok(Claim::Won(ClaimTicket { owner: owner.clone(), key: key.clone(), fence }))
}

/// What a claim that is there answers to a wish; `None` when the wish takes it over.
fn standing(row: &ClaimRow, wish: &NewClaim) -> Result<Option<Claim>, Error> {
    if let (Some(outcome), Some(at)) = (&row.outcome, row.completed) {
        return Ok(Some(Claim::Done { outcome: json_text(WHAT, outcome)?, at: time(WHAT, at)? }));
    }
    let (holder, expires) = (row.holder()?, row.expires()?);
    Ok(if wish.at < expires {
        Some(Claim::InProgress { holder, expires })
    } else if wish.takeover == Takeover::Never {
        Some(Claim::Abandoned { holder, expired: expires })
    } else {
        None
    })
}

/// Succeeds while the claim is the ticket's and has no outcome; it stays so until the transaction ends.
async fn check(conn: &mut PgConnection, ticket: &ClaimTicket) -> Result<(), Error> {
    let row = find(conn, find_sql!(" FOR UPDATE"), &ticket.owner, &ticket.key).await?;
    let actual = match row {
        None => 0,
        Some(row) => {
            let fence = FencingToken::new(unsigned(WHAT, row.fence)?);
            match row.outcome {
                None if fence == ticket.fence => return Ok(()),
                // A completed claim counts as changed: its fence has been used up.
                Some(_) if fence == ticket.fence => fence.next().get(),
                _ => fence.get(),
            }
        }
    };
    Err(StoreError::VersionMismatch {
        what: Entity::Claim,
        id: ticket.key.to_string(),
        expected: ticket.fence.get(),
        actual,
    }
    .into())
}

async fn complete(
    store: &PostgresStore,
    ticket: &ClaimTicket,
    outcome: &JsonText,
    at: Timestamp,
    retain_until: Timestamp,
) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    check(&mut tx, ticket).await?;
    sqlx::query(
        "UPDATE hermes_claim SET outcome = $1, completed = $2, retain_until = $3
         WHERE tenant = $4 AND user_id = $5 AND key = $6",
    )
    .bind(outcome.as_str())
    .bind(at.as_microsecond())
    .bind(retain_until.as_microsecond())
    .bind(ticket.owner.tenant.as_str())
    .bind(ticket.owner.user.as_str())
    .bind(ticket.key.as_str())
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

async fn release(store: &PostgresStore, ticket: &ClaimTicket) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    check(&mut tx, ticket).await?;
    sqlx::query("DELETE FROM hermes_claim WHERE tenant = $1 AND user_id = $2 AND key = $3 AND fence = $4")
        .bind(ticket.owner.tenant.as_str())
        .bind(ticket.owner.user.as_str())
        .bind(ticket.key.as_str())
        .bind(signed(ticket.fence.get()))
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}

async fn get(
    store: &PostgresStore,
    owner: &Owner,
    key: &IdempotencyKey,
) -> Result<Option<ClaimRecord>, Error> {
    find(store.reads(), find_sql!(""), owner, key).await?.map(ClaimRow::record).transpose()
}

async fn erase_user(store: &PostgresStore, owner: &Owner) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query("DELETE FROM hermes_claim WHERE tenant = $1 AND user_id = $2")
        .bind(owner.tenant.as_str())
        .bind(owner.user.as_str())
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}

async fn erase_session(store: &PostgresStore, owner: &Owner, session: SessionId) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query("DELETE FROM hermes_claim WHERE tenant = $1 AND user_id = $2 AND session = $3")
        .bind(owner.tenant.as_str())
        .bind(owner.user.as_str())
        .bind(session.as_uuid())
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}

async fn collect(store: &PostgresStore, now: Timestamp, limit: Limit) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query(
        "DELETE FROM hermes_claim WHERE (tenant, user_id, key) IN
             (SELECT tenant, user_id, key FROM hermes_claim WHERE retain_until <= $1
              ORDER BY retain_until LIMIT $2 FOR UPDATE SKIP LOCKED)",
    )
    .bind(now.as_microsecond())
    .bind(i64::try_from(limit.get()).unwrap_or(i64::MAX))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}
