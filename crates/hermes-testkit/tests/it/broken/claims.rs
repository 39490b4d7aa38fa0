//! An idempotency store with one fault.

use hermes_core::{
    Claim, ClaimRecord, ClaimTicket, FencingToken, IdempotencyKey, IdempotencyStore, JsonText, Limit,
    NewClaim, Owner, SessionId, StoreError, Takeover, async_trait,
};
use hermes_inmemory::InMemoryStore;
use jiff::Timestamp;
use tokio::sync::Barrier;

use super::sessions::rewritten;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClaimFault {
    LooksBeforeItClaims,
    RewritesJson,
    AlwaysTakesOver,
}

#[derive(Debug)]
pub(crate) struct BrokenClaims {
    inner: InMemoryStore,
    fault: ClaimFault,
    two: Barrier,
}

impl BrokenClaims {
    pub(crate) fn new(inner: InMemoryStore, fault: ClaimFault) -> Self {
        Self { inner, fault, two: Barrier::new(2) }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl IdempotencyStore for BrokenClaims {
    async fn claim(
        &self,
        owner: &Owner,
        key: &IdempotencyKey,
        claim: &NewClaim,
    ) -> Result<Claim, StoreError> {
        match self.fault {
            ClaimFault::LooksBeforeItClaims => {
                // Checks, then acts: by the barrier two always check before either acts.
                let free = IdempotencyStore::get(&self.inner, owner, key).await?.is_none();
                self.two.wait().await;
                let result = self.inner.claim(owner, key, claim).await?;
                match result {
                    Claim::InProgress { .. } if free => Ok(Claim::Won(ClaimTicket {
                        owner: owner.clone(),
                        key: key.clone(),
                        fence: FencingToken::new(1),
                    })),
                    result => Ok(result),
                }
            }
            ClaimFault::AlwaysTakesOver => {
                let taking = NewClaim { takeover: Takeover::IfAbandoned, ..claim.clone() };
                self.inner.claim(owner, key, &taking).await
            }
            ClaimFault::RewritesJson => self.inner.claim(owner, key, claim).await,
        }
    }

    async fn complete(
        &self,
        ticket: &ClaimTicket,
        outcome: &JsonText,
        at: Timestamp,
        retain_until: Timestamp,
    ) -> Result<(), StoreError> {
        if self.fault == ClaimFault::RewritesJson {
            return self.inner.complete(ticket, &rewritten(outcome), at, retain_until).await;
        }
        self.inner.complete(ticket, outcome, at, retain_until).await
    }

    async fn release(&self, ticket: &ClaimTicket) -> Result<(), StoreError> {
        IdempotencyStore::release(&self.inner, ticket).await
    }

    async fn get(&self, owner: &Owner, key: &IdempotencyKey) -> Result<Option<ClaimRecord>, StoreError> {
        IdempotencyStore::get(&self.inner, owner, key).await
    }

    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
        IdempotencyStore::erase_user(&self.inner, owner).await
    }

    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
        IdempotencyStore::erase_session(&self.inner, owner, session).await
    }

    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
        IdempotencyStore::collect(&self.inner, now, limit).await
    }
}
