//! Many who would run the same effect.

use std::sync::Arc;

use hermes_core::{
    Claim, ClaimTicket, FencingToken, HolderId, IdempotencyStore, NewClaim, SessionId, Takeover,
};

use crate::check::{ok, race};
use crate::sample::{at, claim, json, key, owner};

const RACERS: usize = 16;

/// Lets all claim at `now` and gives the one that won, with the others' answers checked.
async fn one_wins(store: &Arc<dyn IdempotencyStore>, now: i64, takeover: Takeover) -> ClaimTicket {
    let session = SessionId::generate();
    let results = race(RACERS, |racer| {
        let store = Arc::clone(store);
        let wish = NewClaim { takeover, ..claim(session, &format!("racer-{racer}"), now) };
        async move { (wish.holder.clone(), ok("ID8", store.claim(&owner(), &key("k"), &wish).await)) }
    })
    .await;
    let mut won: Vec<(HolderId, ClaimTicket)> = Vec::new();
    let mut told = Vec::new();
    for (holder, result) in results {
        match result {
            Claim::Won(ticket) => won.push((holder, ticket)),
            Claim::InProgress { holder, expires } => told.push((holder, expires)),
            other => panic!("ID8: a claim is won or in progress, not {other:?}"),
        }
    }
    assert_eq!(won.len(), 1, "ID8: one claim wins, not {won:?}");
    let (winner, ticket) = won.remove(0);
    for (holder, expires) in told {
        assert_eq!((&holder, expires), (&winner, at(now + 60)), "ID8: the losers see the winner");
    }
    ticket
}

/// ID8: of many who claim a free key at once, one wins.
pub async fn one_claim_wins(store: Arc<dyn IdempotencyStore>) {
    one_wins(&store, 0, Takeover::Never).await;
}

/// ID8, ID4: of many who would take over an abandoned key at once, one does, each time under a higher fence.
pub async fn one_takeover_wins(store: Arc<dyn IdempotencyStore>) {
    let mut fence = FencingToken::default();
    for now in [0, 60, 120] {
        let ticket = one_wins(&store, now, Takeover::IfAbandoned).await;
        assert!(now == 0 || ticket.fence > fence, "ID4: the fence rises");
        fence = ticket.fence;
    }
}

/// ID8, ID7: of many who claim a released key at once, one wins.
pub async fn one_claim_wins_after_a_release(store: Arc<dyn IdempotencyStore>) {
    for now in [0, 1, 2] {
        let ticket = one_wins(&store, now, Takeover::Never).await;
        ok("ID7", store.release(&ticket).await);
    }
}

/// ID8, ID3: many who claim, run and record come to one effect, and all see its outcome.
pub async fn the_effect_happens_once(store: Arc<dyn IdempotencyStore>) {
    let session = SessionId::generate();
    let results = race(RACERS, |racer| {
        let store = Arc::clone(&store);
        async move {
            let wish = claim(session, &format!("racer-{racer}"), 0);
            let outcome = json(&racer.to_string());
            loop {
                match ok("ID8", store.claim(&owner(), &key("k"), &wish).await) {
                    Claim::Won(ticket) => {
                        ok("ID8", store.complete(&ticket, &outcome, at(1), at(1_000)).await);
                        return (1, outcome);
                    }
                    Claim::Done { outcome, .. } => return (0, outcome),
                    Claim::InProgress { .. } => tokio::task::yield_now().await,
                    other => panic!("ID8: the key is claimed or done, not {other:?}"),
                }
            }
        }
    })
    .await;
    let effects: u32 = results.iter().map(|(effect, _)| effect).sum();
    assert_eq!(effects, 1, "ID8: the effect happens once");
    let (_, first) = &results[0];
    assert!(results.iter().all(|(_, outcome)| outcome == first), "ID3: all see one outcome, not {results:?}");
}
