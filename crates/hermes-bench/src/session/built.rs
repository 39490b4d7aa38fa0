//! A log of a certain length, built as an agent builds it.

use std::time::Duration;

use hermes_core::{Clock as _, NewMessage, Owner, Seq, SystemClock, TokenCount, WriteGuard};
use hermes_session::{Budget, ContextSpec, Session, SessionConfig, Sessions};

use crate::error::Error;
use crate::session::text::{MESSAGES_A_TURN, Turns, text_bytes};
use crate::store::{Place, owner};
use crate::timing::timed;

/// What every context of this measure is assembled for: so roomy that a window stays whole, below the aim of trimming.
pub(crate) fn spec() -> ContextSpec {
    ContextSpec::new(Budget::new(32_000)).with_system("You are a travel agent. Answer briefly.")
}

/// A log of a certain length.
#[derive(Debug)]
pub(crate) struct Built {
    sessions: Sessions,
    owner: Owner,
    session: Session,
    /// A second session in the same database, for appends by the store alone.
    beside: Session,
    beside_last: Seq,
    turns: Turns,
    built: usize,
    text: f64,
    grown: Option<f64>,
}

impl Built {
    /// Builds a log of at least so many messages.
    pub(crate) async fn new(
        sessions: Sessions,
        place: &Place,
        database: &str,
        messages: usize,
    ) -> Result<Self, Error> {
        let owner = owner()?;
        let session = sessions.create(&owner, "measured").await?;
        let beside = sessions.create(&owner, "beside").await?;
        let before = place.bytes(database).await?;
        let batch = SessionConfig::default().fold_batch.max(1);
        let wanted = messages.div_ceil(MESSAGES_A_TURN * batch) * batch;
        let mut turns = Turns::new();
        let (mut built, mut text) = (0, 0_usize);
        while built < wanted {
            let mut messages = Vec::new();
            for _ in 0..batch {
                messages.extend(turns.turn()?);
            }
            built += batch;
            text += messages.iter().map(text_bytes).sum::<usize>();
            session.append_all(messages).await?;
            session.context(spec()).await?;
        }
        let after = place.bytes(database).await?;
        let per_turn = |bytes: u64| float(bytes) / float(built as u64);
        Ok(Self {
            sessions,
            owner,
            session,
            beside,
            beside_last: Seq::START,
            turns,
            built,
            text: per_turn(text as u64),
            grown: before.zip(after).map(|(before, after)| per_turn(after.saturating_sub(before))),
        })
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn turns(&self) -> usize {
        self.built
    }

    pub(crate) fn text_per_turn(&self) -> f64 {
        self.text
    }

    pub(crate) fn bytes_per_turn(&self) -> Option<f64> {
        self.grown
    }

    /// Begins a turn and gives the step that comes next.
    pub(crate) async fn next_step(&mut self) -> Result<Vec<NewMessage>, Error> {
        let user = NewMessage::user(self.turns.user());
        self.session.append(user).await?;
        self.turns.step()
    }

    /// Appends the step by the store alone, its tokens counted beforehand; gives the time it took.
    pub(crate) async fn counted(&mut self, step: &[NewMessage]) -> Result<Duration, Error> {
        let mut step = step.to_vec();
        let counter = self.sessions.counter();
        for message in &mut step {
            let tokens = counter.count(&message.body.search_text());
            message.tokens = Some(TokenCount { tokens, counter: counter.id().clone() });
        }
        let guard = WriteGuard::unleased(SystemClock.now());
        let store = self.sessions.store();
        let append = store.append(&self.owner, self.beside.id(), self.beside_last, &step, guard);
        let (stored, time) = timed(append).await;
        if let Some(last) = stored?.last() {
            self.beside_last = last.seq();
        }
        Ok(time)
    }
}

#[expect(clippy::cast_precision_loss, reason = "the figure is rounded anyway")]
const fn float(bytes: u64) -> f64 {
    bytes as f64
}
