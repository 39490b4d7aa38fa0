//! How much of a request the one before it began with (S13): what a provider's prompt cache can serve.

use hermes_core::NewMessage;
use hermes_inmemory::InMemoryStore;
use hermes_session::{Budget, Context, ContextSpec, Session, Sessions};

use crate::support::{assert_paired, call, owner, result};

/// The mean share, over the requests that did not fold, of the previous request's bytes with which the next one begins.
#[derive(Default)]
struct Shares {
    before: Option<String>,
    shares: Vec<f64>,
    folds: usize,
}

impl Shares {
    fn see(&mut self, context: &Context) {
        let lines = context.messages().iter().map(|message| serde_json::to_string(message.as_ref()).unwrap());
        let request = lines.collect::<Vec<_>>().join("\n");
        if let Some(before) = self.before.replace(request.clone()) {
            let same = before.bytes().zip(request.bytes()).take_while(|(one, other)| one == other).count();
            #[expect(clippy::cast_precision_loss, reason = "a share needs no more than a float holds")]
            let share = same as f64 / before.len() as f64;
            if context.folded() {
                self.folds += 1;
            } else {
                self.shares.push(share);
            }
        }
    }

    fn mean(&self) -> f64 {
        self.shares.iter().sum::<f64>() / f64::from(u32::try_from(self.shares.len()).unwrap())
    }
}

async fn ask(session: &Session, budget: u32, minute: usize) -> Context {
    let spec = ContextSpec::new(Budget::new(budget))
        .with_system("You are a travel agent. Answer briefly.")
        .with_beside("clock", format!("minute {minute}"));
    let context = session.context(&spec).await.unwrap();
    assert_paired(context.messages(), &minute);
    context
}

/// A step with one call, and its result of so many words.
async fn work(session: &Session, n: usize, words: usize) {
    let id = format!("k{n}");
    let step = NewMessage::calls(vec![call(&id, "search", &format!("{{\"query\":\"trains {n}\"}}"))]);
    session
        .append([step, result(&id, "search", format!("train {n} leaves at nine ").repeat(words / 5))])
        .await
        .unwrap();
}

#[tokio::test]
async fn fifty_turns_with_tools_share_four_fifths() {
    let session = Sessions::new(InMemoryStore::new()).create(&owner(), "trip").await.unwrap();
    let mut shares = Shares::default();
    for n in 0..50 {
        session
            .append(NewMessage::user(format!("Question {n}: which train is the best on day {n}?")))
            .await
            .unwrap();
        shares.see(&ask(&session, 6_000, n).await);
        work(&session, n, 40 + 97 * n % 400).await;
        shares.see(&ask(&session, 6_000, n).await);
        session.append(NewMessage::assistant(format!("Train {n} is the best, at nine."))).await.unwrap();
    }
    assert!((9..15).contains(&shares.folds), "{} folds", shares.folds);
    assert!(shares.mean() >= 0.8, "{}", shares.mean());
}

#[tokio::test]
async fn a_long_turn_shrinks_its_earlier_results_seldom() {
    let session = Sessions::new(InMemoryStore::new()).create(&owner(), "work").await.unwrap();
    let mut shares = Shares::default();
    session.append(NewMessage::user("Find me the best train of the year.")).await.unwrap();
    for n in 0..40 {
        work(&session, n, 400).await;
        shares.see(&ask(&session, 16_000, 0).await);
    }
    assert!(shares.mean() >= 0.8, "{}", shares.mean());
}
