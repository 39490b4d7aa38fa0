//! Claims on effects.

use std::collections::BTreeMap;

use async_trait::async_trait;
use hermes_core::{
    Claim, ClaimRecord, ClaimTicket, Entity, FencingToken, IdempotencyKey, IdempotencyStore, JsonText, Limit,
    NewClaim, Owner, SessionId, StoreError, Takeover,
};
use jiff::Timestamp;

use crate::session::count;
use crate::store::InMemoryStore;

#[derive(Debug)]
struct Row {
    record: ClaimRecord,
    fence: FencingToken,
    done: Option<Done>,
}

#[derive(Debug, Clone, Copy)]
struct Done {
    at: Timestamp,
    retain_until: Timestamp,
}

/// All claims.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    rows: BTreeMap<(Owner, IdempotencyKey), Row>,
    /// The highest fence ever given, so that a key claimed anew after a release gets a higher one.
    fence: FencingToken,
}

impl Claims {
    fn open(&mut self, ticket: &ClaimTicket) -> Result<&mut Row, StoreError> {
        let mismatch = |actual: u64| StoreError::VersionMismatch {
            what: Entity::Claim,
            id: ticket.key.to_string(),
            expected: ticket.fence.get(),
            actual,
        };
        match self.rows.get_mut(&(ticket.owner.clone(), ticket.key.clone())) {
            Some(row) if row.fence == ticket.fence && row.done.is_none() => Ok(row),
            // A completed claim counts as changed: its fence has been used up.
            Some(row) if row.fence == ticket.fence => Err(mismatch(row.fence.next().get())),
            Some(row) => Err(mismatch(row.fence.get())),
            None => Err(mismatch(0)),
        }
    }

    fn erase(&mut self, gone: impl Fn(&Owner, &Row) -> bool) -> u64 {
        let before = self.rows.len();
        self.rows.retain(|(owner, _), row| !gone(owner, row));
        count(before - self.rows.len())
    }
}

#[async_trait]
impl IdempotencyStore for InMemoryStore {
    async fn claim(
        &self,
        owner: &Owner,
        key: &IdempotencyKey,
        claim: &NewClaim,
    ) -> Result<Claim, StoreError> {
        let mut table = self.claims();
        let place = (owner.clone(), key.clone());
        if let Some(row) = table.rows.get(&place) {
            let record = &row.record;
            if let (Some(outcome), Some(done)) = (&record.outcome, row.done) {
                return Ok(Claim::Done { outcome: outcome.clone(), at: done.at });
            }
            if claim.at < record.expires {
                return Ok(Claim::InProgress { holder: record.holder.clone(), expires: record.expires });
            }
            if claim.takeover == Takeover::Never {
                return Ok(Claim::Abandoned { holder: record.holder.clone(), expired: record.expires });
            }
        }
        table.fence = table.fence.next();
        let fence = table.fence;
        let record = ClaimRecord {
            tool: claim.tool.clone(),
            session: claim.session,
            holder: claim.holder.clone(),
            expires: claim.expires,
            outcome: None,
        };
        table.rows.insert(place, Row { record, fence, done: None });
        Ok(Claim::Won(ClaimTicket { owner: owner.clone(), key: key.clone(), fence }))
    }

    async fn complete(
        &self,
        ticket: &ClaimTicket,
        outcome: &JsonText,
        at: Timestamp,
        retain_until: Timestamp,
    ) -> Result<(), StoreError> {
        let mut table = self.claims();
        let row = table.open(ticket)?;
        row.record.outcome = Some(outcome.clone());
        row.done = Some(Done { at, retain_until });
        Ok(())
    }

    async fn release(&self, ticket: &ClaimTicket) -> Result<(), StoreError> {
        let mut table = self.claims();
        table.open(ticket)?;
        table.rows.remove(&(ticket.owner.clone(), ticket.key.clone()));
        Ok(())
    }

    async fn get(&self, owner: &Owner, key: &IdempotencyKey) -> Result<Option<ClaimRecord>, StoreError> {
        Ok(self.claims().rows.get(&(owner.clone(), key.clone())).map(|row| row.record.clone()))
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        Ok(self.claims().erase(|of, _| of == owner))
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        Ok(self.claims().erase(|of, row| of == owner && row.record.session == session))
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        let mut table = self.claims();
        let over = table.rows.iter().filter(|(_, row)| row.done.is_some_and(|done| done.retain_until <= now));
        let over: Vec<_> = over.take(limit.get()).map(|(place, _)| place.clone()).collect();
        for place in &over {
            table.rows.remove(place);
        }
        Ok(count(over.len()))
    }
}
