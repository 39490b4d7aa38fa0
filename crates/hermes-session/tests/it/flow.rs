//! Sessions through a store: folding over time, conflicts, leases, and what a context costs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes_core::{
    HolderId, ModelError, NewMessage, Seq, Summarizer, SummaryOrigin, SummaryRequest, Tokens, WriteGuard,
    async_trait,
};
use hermes_inmemory::InMemoryStore;
use hermes_session::{Budget, Context, ContextSpec, Error, Part, Session, SessionConfig, Sessions};
use hermes_testkit::fake::{FailingStore, Fault, ManualClock};

use crate::support::{assert_paired, call, log_of, owner, result, texts};

fn sessions() -> Sessions {
    Sessions::new(InMemoryStore::new()).with_clock(ManualClock::default())
}

async fn turn(session: &Session, n: usize) -> Context {
    session.append(NewMessage::user(format!("How is step {n} going?"))).await.unwrap();
    let context = session.context(Budget::new(8_000)).await.unwrap();
    session.append(NewMessage::assistant(format!("Step {n} is done."))).await.unwrap();
    context
}

#[tokio::test]
async fn twelve_to_fifteen_turns_are_sent_whole_and_the_sixteenth_folds_four() {
    let session = sessions().create(&owner(), "steps").await.unwrap();
    let mut whole = Vec::new();
    for n in 1..=24 {
        let context = turn(&session, n).await;
        whole.push(context.explain().turns);
        assert_eq!(context.folded(), n == 16 || n == 20 || n == 24, "turn {n}");
        assert!(!context.needs_folding(), "turn {n}");
    }
    let expected: Vec<usize> = (1..=15).chain([12, 13, 14, 15, 12, 13, 14, 15, 12]).collect();
    assert_eq!(whole, expected);
    let summary = session.metadata().summary.unwrap();
    assert_eq!((summary.through, summary.origin), (Seq::new(24), SummaryOrigin::Digest));
    assert!(
        summary.text.contains("- User: How is step 1 going?") && summary.text.contains("Step 12 is done.")
    );
    assert_eq!(log_of(&session).await.len(), 48);
}

#[tokio::test]
async fn between_folds_a_request_begins_with_the_whole_of_the_one_before() {
    let session = sessions().create(&owner(), "prefix").await.unwrap();
    let mut before: Option<Context> = None;
    for n in 1..=50 {
        session.append(NewMessage::user(format!("Question {n}"))).await.unwrap();
        let spec = ContextSpec::new(Budget::new(8_000))
            .with_system("Be brief.")
            .with_beside("clock", format!("minute {n}"));
        let context = session.context(&spec).await.unwrap();
        session.append(NewMessage::assistant(format!("Answer {n}"))).await.unwrap();
        if let Some(before) = before.filter(|_| !context.folded()) {
            // Everything but the last message, which held the clock.
            let stable = before.messages().len() - 1;
            assert_eq!(context.messages()[..stable], before.messages()[..stable], "turn {n}");
        }
        let last = texts(&context).pop().unwrap();
        assert_eq!(last, format!("<clock>\nminute {n}\n</clock>\nQuestion {n}"));
        before = Some(context);
    }
}

#[tokio::test]
async fn over_budget_old_results_shrink_and_then_turns_fold_at_once() {
    let session = sessions().create(&owner(), "budget").await.unwrap();
    for n in 0..6 {
        let id = format!("k{n}");
        session.append(NewMessage::user(format!("Read file {n}"))).await.unwrap();
        session.append(NewMessage::calls(vec![call(&id, "read", "{}")])).await.unwrap();
        session.append(result(&id, "read", "some words of the file ".repeat(100))).await.unwrap();
        session.append(NewMessage::assistant("Read.")).await.unwrap();
    }
    session.append(NewMessage::user("What did you read?")).await.unwrap();
    let roomy = session.context(ContextSpec::new(Budget::new(100_000)).looking_only()).await.unwrap();
    assert!(roomy.explain().trims.is_empty());

    let shrunk = session.context(Budget::new(roomy.tokens().get() * 2 / 3)).await.unwrap();
    assert_eq!((shrunk.explain().turns, shrunk.folded()), (7, false));
    assert!(texts(&shrunk)[2].contains("the whole is at log:3]"), "{}", shrunk.explain());

    let looked = session.context(ContextSpec::new(Budget::new(700)).looking_only()).await.unwrap();
    assert!(looked.needs_folding() && !looked.folded() && session.metadata().summary.is_none());
    let folded = session.context(Budget::new(700)).await.unwrap();
    assert!(folded.folded() && folded.tokens() <= Tokens::new(700), "{}", folded.explain());
    assert_paired(folded.messages(), &"folded");
    assert_eq!(session.metadata().summary.unwrap().through, Seq::new(16));
    assert_eq!(log_of(&session).await.len(), 25);
}

#[tokio::test]
async fn a_call_that_is_still_running_keeps_its_turn_and_says_so() {
    let session = sessions().create(&owner(), "pending").await.unwrap();
    session
        .append([NewMessage::user("start"), NewMessage::calls(vec![call("slow", "build", "{}")])])
        .await
        .unwrap();
    for n in 1..30 {
        session.append([NewMessage::user(format!("step {n}")), NewMessage::assistant("ok")]).await.unwrap();
    }
    let spec = ContextSpec::new(Budget::new(8_000)).with_pending([crate::support::call_id("slow")]);
    let context = session.context(&spec).await.unwrap();
    assert!(texts(&context).iter().any(|text| text.contains("still running")), "{}", context.explain());
}

#[tokio::test]
async fn the_slower_of_two_writers_is_told_and_goes_on_after_a_refresh() {
    let sessions = sessions();
    let a = sessions.create(&owner(), "race").await.unwrap();
    let b = sessions.open(&owner(), a.id()).await.unwrap();
    a.append([NewMessage::user("A1"), NewMessage::assistant("A2")]).await.unwrap();
    match b.append(NewMessage::user("B1")).await {
        Err(Error::Conflict { expected, actual, .. }) => {
            assert_eq!((expected, actual), (Seq::START, Seq::new(2)))
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(b.refresh().await.unwrap(), Seq::new(2));
    let stored = b.append([NewMessage::user("B1"), NewMessage::assistant("B2")]).await.unwrap();
    assert_eq!(stored.iter().map(|message| message.seq().get()).collect::<Vec<_>>(), [3, 4]);
    assert_eq!((a.last(), b.clone().last()), (Seq::new(2), Seq::new(4)));
}

#[tokio::test]
async fn a_worker_that_lost_its_lease_can_write_nothing() {
    let clock = ManualClock::default();
    let sessions = Sessions::new(InMemoryStore::new()).with_clock(clock.clone());
    let zombie = sessions.create(&owner(), "lease").await.unwrap();
    let (one, two) = (HolderId::generate(), HolderId::generate());
    let minute = Duration::from_secs(60);
    zombie.lease(&one, minute).await.unwrap();
    zombie.append(NewMessage::user("under the lease")).await.unwrap();

    let worker = sessions.open(&owner(), zombie.id()).await.unwrap();
    assert!(matches!(worker.append(NewMessage::user("x")).await, Err(Error::Leased { .. })));
    assert!(matches!(worker.lease(&two, minute).await, Err(Error::Leased { .. })));
    assert!(matches!(worker.renew(minute).await, Err(Error::NotLeased { .. })));
    clock.advance(minute);
    worker.lease(&two, minute).await.unwrap();
    worker.append(NewMessage::user("the new worker")).await.unwrap();

    zombie.refresh().await.unwrap();
    assert!(matches!(zombie.append(NewMessage::user("late")).await, Err(Error::Fenced { .. })));
    assert!(matches!(zombie.renew(minute).await, Err(Error::Fenced { .. })));
    assert!(matches!(zombie.rename("late").await, Err(Error::Fenced { .. })));
    assert!(matches!(zombie.mark_sticky(Seq::new(1)).await, Err(Error::Fenced { .. })));
    worker.release().await.unwrap();
    assert!(worker.held_lease().is_none());
    assert_eq!(log_of(&worker).await.len(), 2);
}

#[tokio::test]
async fn a_store_that_refuses_the_summary_does_not_fail_the_context() {
    let store = FailingStore::new(InMemoryStore::new());
    let session = Sessions::new(store.clone()).create(&owner(), "steps").await.unwrap();
    for n in 1..=15 {
        turn(&session, n).await;
    }
    store.fail_call("SessionStore::put_context", 1, Fault::Permanent);
    let context = turn(&session, 16).await;
    assert_eq!((context.explain().turns, context.folded()), (12, false));
    assert!(session.metadata().summary.is_none());
    assert!(turn(&session, 17).await.folded());
    assert_eq!(session.metadata().summary.unwrap().through, Seq::new(8));
}

#[tokio::test]
async fn a_log_that_never_was_folded_is_caught_up_once() {
    let sessions = sessions();
    let session = sessions.create(&owner(), "old").await.unwrap();
    for n in 0..1_300 {
        let user = NewMessage::user(format!("Question {n} about order M-{n}"));
        session.append([user, NewMessage::assistant("Noted.")]).await.unwrap();
    }
    session.append(NewMessage::user("Now?")).await.unwrap();
    let context = session.context(Budget::new(8_000)).await.unwrap();
    assert_eq!((context.explain().turns, context.folded()), (12, true));
    let summary = session.metadata().summary.unwrap();
    assert_eq!(summary.through, Seq::new(2 * 1_289));
    assert!(summary.anchors.last().is_some_and(|anchor| anchor == "M-1288"), "{:?}", summary.anchors);
    assert!(summary.tokens.unwrap().tokens <= Tokens::new(800));
}

#[tokio::test]
async fn a_context_reads_as_much_of_a_long_log_as_of_a_short_one() {
    let store = FailingStore::new(InMemoryStore::new());
    let sessions = Sessions::new(store.clone());
    let mut reads = Vec::new();
    for turns in [30, 600] {
        let session = sessions.create(&owner(), "long").await.unwrap();
        for n in 1..=turns {
            turn(&session, n).await;
        }
        let before = store.calls().len();
        session.context(Budget::new(8_000)).await.unwrap();
        reads.push(store.calls().split_off(before));
    }
    assert_eq!(reads[0], reads[1]);
}

#[tokio::test]
async fn a_message_marked_by_call_stays_when_its_turn_folds() {
    let session = sessions().create(&owner(), "marks").await.unwrap();
    turn(&session, 1).await;
    session.mark_sticky(Seq::new(2)).await.unwrap();
    session.mark_sticky(Seq::new(2)).await.unwrap();
    assert!(matches!(session.mark_sticky(Seq::new(99)).await, Err(Error::Store(_))));
    let mut last = None;
    for n in 2..=17 {
        last = Some(turn(&session, n).await);
    }
    let last = last.unwrap();
    let sticky: Vec<_> = last.labelled().filter(|(part, _)| *part == Part::Sticky).collect();
    assert_eq!(sticky.len(), 1);
    assert!(texts(&last)[1].ends_with("[the assistant:]\nStep 1 is done."), "{:?}", texts(&last)[1]);
    assert_eq!(session.metadata().sticky, [Seq::new(2)]);
}

/// A summariser that takes its time, in which a clone of the session marks a message.
#[derive(Debug)]
struct MarksMeanwhile(Arc<OnceLock<Session>>);

#[async_trait]
impl Summarizer for MarksMeanwhile {
    async fn summarize(&self, _request: SummaryRequest) -> Result<String, ModelError> {
        self.0.get().unwrap().mark_sticky(Seq::new(3)).await.unwrap();
        Ok("Steps were taken.".to_owned())
    }
}

#[tokio::test]
async fn a_mark_that_is_made_while_turns_fold_is_kept() {
    let place = Arc::new(OnceLock::new());
    let session = sessions().with_summarizer(MarksMeanwhile(Arc::clone(&place)));
    let session = session.create(&owner(), "marks").await.unwrap();
    place.set(session.clone()).unwrap();
    for n in 1..=16 {
        turn(&session, n).await;
    }
    session.refresh().await.unwrap();
    let metadata = session.metadata();
    assert_eq!(metadata.sticky, [Seq::new(3)]);
    assert_eq!(metadata.summary.unwrap().text, "Steps were taken.");
}

#[tokio::test]
async fn opaque_data_goes_to_its_provider_only() {
    let session = sessions().create(&owner(), "opaque").await.unwrap();
    let mut answer = NewMessage::assistant("Hello.");
    answer
        .provider
        .insert("one".to_owned(), hermes_core::JsonText::parse("{\"signature\":\"abc\"}").unwrap());
    session.append([NewMessage::user("Hi"), answer, NewMessage::user("Again")]).await.unwrap();
    for (provider, kept) in [(Some("one"), 1), (Some("two"), 0), (None, 0)] {
        let mut spec = ContextSpec::new(Budget::new(1_000));
        spec.provider = provider.map(str::to_owned);
        let context = session.context(&spec).await.unwrap();
        match context.messages()[1].as_ref() {
            hermes_core::ChatMessage::Assistant { provider, .. } => assert_eq!(provider.len(), kept),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn forks_renames_and_deletes() {
    let sessions = sessions();
    let session = sessions.create(&owner(), "first").await.unwrap();
    turn(&session, 1).await;
    turn(&session, 2).await;
    let fork = session.fork(Seq::new(2), "branch").await.unwrap();
    assert_eq!((fork.last(), fork.record().title.as_str()), (Seq::new(2), "branch"));
    session.rename("renamed").await.unwrap();
    assert_eq!(sessions.open(&owner(), session.id()).await.unwrap().record().title, "renamed");
    assert!(session.delete().await.unwrap());
    assert!(matches!(session.refresh().await, Err(Error::NotFound { .. })));
    assert!(matches!(sessions.open(&owner(), session.id()).await, Err(Error::NotFound { .. })));
    turn(&fork, 3).await;
    assert_eq!(log_of(&fork).await.len(), 4);
    assert_eq!(sessions.erase_user(&owner()).await.unwrap(), 1);
}

#[tokio::test]
async fn a_stored_summary_of_another_worker_is_seen_after_a_refresh() {
    let sessions = sessions().with_config(SessionConfig::default().with_window_turns(2).with_fold_batch(1));
    let session = sessions.create(&owner(), "two handles").await.unwrap();
    let other = sessions.open(&owner(), session.id()).await.unwrap();
    for n in 1..=5 {
        turn(&session, n).await;
    }
    other.refresh().await.unwrap();
    assert_eq!(other.metadata(), session.metadata());
    let guard = WriteGuard::unleased(sessions.clock().now());
    assert!(guard.fence.is_none() && other.metadata().summary.is_some());
}
