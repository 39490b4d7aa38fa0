//! How a turn begins: the user's message enters the log, memory is asked, the ledger is read.

use std::sync::Arc;

use hermes_core::{Limit, LogFilter, LogQuery, NewMessage, Seq, SessionId};
use hermes_memory::{Recall, RecallRequest};
use hermes_text::lang;

use crate::error::Error;
use crate::event::{AgentEvent, RecalledItem};
use crate::ledger::Ledger;
use crate::settle::Settled;
use crate::turn::{Ground, Start, Turn};

/// How many lines of the user weigh in a recall besides the message itself; two or three are enough, and help cues in Chinese.
const RECENT_LINES: usize = 2;

impl Turn {
    /// Begins the turn; `None` when there is nothing to go on from.
    pub(crate) async fn begin(&mut self, start: Start, settled: Settled) -> Result<Option<Ground>, Error> {
        let session: SessionId = self.log.session().id();
        let (turn, text) = match (start, settled) {
            (Start::Message(message), _) => self.enter_message(message).await?,
            (_, Settled::Unanswered { turn, text }) => (turn, text),
            (_, Settled::Nothing | Settled::Waiting) => return Ok(None),
        };
        self.events.tell(AgentEvent::TurnStarted { session, turn }).await;
        let recall = self.recall(turn, &text).await?;
        let at = self.parts.clock.now();
        let ledger =
            Ledger::load(self.log.session(), &self.parts.tools, self.parts.state.as_deref(), at).await?;
        Ok(Some(Ground { turn, language: lang::guess(&text), text, recall: Arc::new(recall), ledger }))
    }

    async fn enter_message(&self, message: NewMessage) -> Result<(Seq, String), Error> {
        let text = hermes_core::text_of(message.body.content());
        let stored = self.log.append(message).await?;
        let turn = stored.map_or_else(|| self.log.session().last(), |message| message.seq());
        Ok((turn, text))
    }

    async fn recall(&self, turn: Seq, text: &str) -> Result<Recall, Error> {
        let Some(memory) = &self.parts.memory else { return Ok(Recall::default()) };
        let request = RecallRequest::new(text).with_recent_lines(self.lines_before(turn).await?);
        let recall = memory.recall(self.log.session().owner(), &request).await;
        let items = recall.items.iter().map(|item| RecalledItem {
            id: item.record.id,
            kind: item.record.kind,
            content: item.record.content.clone(),
            score: item.score.get(),
            why: format!("{:?}", item.gate).to_lowercase(),
        });
        self.events
            .tell(AgentEvent::Recalled {
                items: items.collect(),
                trouble: recall.trouble.as_ref().map(ToString::to_string),
                elapsed_us: u64::try_from(recall.elapsed.as_micros()).unwrap_or(u64::MAX),
            })
            .await;
        Ok(recall)
    }

    /// What the user said just before, oldest first.
    async fn lines_before(&self, turn: Seq) -> Result<Vec<String>, Error> {
        let Some(before) = turn.get().checked_sub(1).map(Seq::new) else { return Ok(Vec::new()) };
        let query = LogQuery::backward(before, Limit::new(RECENT_LINES)).filter(LogFilter::TurnStarts);
        let page = self.log.session().history(&query).await?;
        Ok(page.messages.iter().rev().map(hermes_core::Message::text).collect())
    }
}
