//! Two and more at one session.

use std::sync::Arc;

use hermes_core::{LogQuery, Message, NewMessage, NewSession, Seq, SessionStore, StoreError, WriteGuard};

use crate::check::{ok, race};
use crate::sample::{at, holder, seconds, session};
use crate::session_store::{append, create, log_of, stored, texts};

const RACERS: usize = 16;

fn batch(racer: usize, round: usize) -> Vec<NewMessage> {
    (0..3).map(|n| NewMessage::user(format!("racer {racer} round {round} part {n}"))).collect()
}

fn says(log: &[Message]) -> Vec<String> {
    log.iter().map(Message::text).collect()
}

async fn prepared(clause: &str, store: &dyn SessionStore) -> NewSession {
    let new = session("Contended");
    create(clause, store, &new).await;
    append(clause, store, &new, Seq::START, &texts(&["first"]), 1).await;
    new
}

/// SS8: of many who append after the same message, one wins, and the log holds that one's messages and no others.
pub async fn one_appender_wins(store: Arc<dyn SessionStore>) {
    let new = prepared("SS8", store.as_ref()).await;
    let results = race(RACERS, |racer| {
        let (store, new) = (Arc::clone(&store), new.clone());
        async move {
            store.append(&new.owner, new.id, Seq::new(1), &batch(racer, 0), WriteGuard::unleased(at(2))).await
        }
    })
    .await;
    let mut winner = None;
    for (racer, result) in results.into_iter().enumerate() {
        match result {
            Ok(messages) => {
                assert_eq!(messages.len(), 3, "SS8: the winner's messages");
                assert_eq!(winner.replace(racer), None, "SS8: two appenders won");
            }
            Err(StoreError::Conflict { actual, .. }) => {
                assert_eq!(actual, Seq::new(4), "SS8: the loser sees where the log is")
            }
            Err(other) => panic!("SS8: a loser gets a conflict, not {other:?}"),
        }
    }
    let winner = winner.expect("SS8: one appender wins");
    let log = log_of("SS8", store.as_ref(), &new.owner, new.id).await;
    let mut expected = vec!["first".to_owned()];
    expected.extend((0..3).map(|n| format!("racer {winner} round 0 part {n}")));
    assert_eq!(says(&log), expected, "SS8: the log holds the winner's messages");
    assert_eq!(
        stored("SS8", store.as_ref(), &new.owner, new.id).await.state.last,
        Seq::new(4),
        "SS8: the last place"
    );
}

/// SS8: appenders who load and try again all get through: no message is lost, doubled, or parted from its batch.
pub async fn appenders_who_try_again_all_get_through(store: Arc<dyn SessionStore>) {
    const WRITERS: usize = 6;
    const ROUNDS: usize = 4;
    let new = prepared("SS8", store.as_ref()).await;
    race(WRITERS, |racer| {
        let (store, new) = (Arc::clone(&store), new.clone());
        async move {
            let mut last = Seq::new(1);
            for round in 0..ROUNDS {
                loop {
                    let guard = WriteGuard::unleased(at(2));
                    match store.append(&new.owner, new.id, last, &batch(racer, round), guard).await {
                        Ok(messages) => {
                            last = messages.last().expect("SS8: three messages").seq();
                            break;
                        }
                        Err(StoreError::Conflict { actual, .. }) => last = actual,
                        Err(other) => panic!("SS8: an appender gets a conflict, not {other:?}"),
                    }
                }
            }
        }
    })
    .await;
    let log = log_of("SS8", store.as_ref(), &new.owner, new.id).await;
    let places: Vec<_> = log.iter().map(|message| message.seq().get()).collect();
    assert!(places.iter().copied().eq(1..=73), "SS8: places without gap or repeat, not {places:?}");
    let mut batches: Vec<_> = says(&log[1..]).chunks(3).map(<[String]>::to_vec).collect();
    batches.sort_unstable();
    let mut expected: Vec<Vec<String>> = (0..WRITERS)
        .flat_map(|racer| {
            (0..ROUNDS)
                .map(move |round| (0..3).map(|n| format!("racer {racer} round {round} part {n}")).collect())
        })
        .collect();
    expected.sort_unstable();
    assert_eq!(batches, expected, "SS8: every batch whole and once");
}

/// SS8: whoever reads while others write sees whole batches.
pub async fn readers_see_whole_batches(store: Arc<dyn SessionStore>) {
    const BATCHES: usize = 12;
    let new = prepared("SS8", store.as_ref()).await;
    race(4, |racer| {
        let (store, new) = (Arc::clone(&store), new.clone());
        async move {
            let mut last = Seq::new(1);
            for round in 0..BATCHES {
                if racer == 0 {
                    let guard = WriteGuard::unleased(at(2));
                    let messages =
                        ok("SS8", store.append(&new.owner, new.id, last, &batch(racer, round), guard).await);
                    last = messages.last().expect("SS8: three messages").seq();
                } else {
                    let query = LogQuery::forward(Seq::START, hermes_core::Limit::MAX);
                    let read = ok("SS8", store.page(&new.owner, new.id, &query).await).messages.len();
                    assert_eq!(read % 3, 1, "SS8: the first message and whole batches, not {read} messages");
                }
            }
        }
    })
    .await;
}

/// LE8: of many who acquire at once, one gets the lease; the others are told whose it is.
pub async fn one_holder_gets_the_lease(store: Arc<dyn SessionStore>) {
    let new = prepared("LE8", store.as_ref()).await;
    // First on a session that nobody leased, then at the expiry of a lease.
    for now in [10, 20] {
        let results = race(RACERS, |racer| {
            let (store, new) = (Arc::clone(&store), new.clone());
            async move {
                let holder = holder(&format!("racer-{racer}-{now}"));
                store.acquire(&new.owner, new.id, &holder, seconds(10), at(now)).await
            }
        })
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        let [Ok(lease)] = won.as_slice() else { panic!("LE8: one wins, not {won:?}") };
        for result in lost {
            match result {
                Err(StoreError::Leased { holder, until, .. }) => {
                    assert_eq!(
                        (holder, until),
                        (lease.holder.clone(), lease.expires),
                        "LE8: the loser sees the winner"
                    );
                }
                other => panic!("LE8: a loser is told that it is leased, not {other:?}"),
            }
        }
        let fence = stored("LE8", store.as_ref(), &new.owner, new.id).await.state.fence;
        assert_eq!(fence, lease.fence, "LE8: the winner's fence stands");
    }
}

/// SS2: of many who create the same session at once, one makes it.
pub async fn one_creator_makes_the_session(store: Arc<dyn SessionStore>) {
    let new = session("Contended");
    let results = race(RACERS, |racer| {
        let store = Arc::clone(&store);
        let new = NewSession { title: format!("racer {racer}"), ..new.clone() };
        async move { store.create(&new).await }
    })
    .await;
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let [Ok(made)] = won.as_slice() else { panic!("SS2: one wins, not {won:?}") };
    for result in lost {
        assert!(
            matches!(result, Err(StoreError::Exists { .. })),
            "SS2: a loser is told that it exists, not {result:?}"
        );
    }
    assert_eq!(stored("SS2", store.as_ref(), &new.owner, new.id).await, *made, "SS2: the winner's session");
}
