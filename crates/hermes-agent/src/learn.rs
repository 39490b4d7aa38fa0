//! After the answer: what memory takes from the turn (R3, R4), off the reply's critical path.

use std::sync::Arc;

use hermes_core::{Body, Limit, LogQuery, Message, Role, Seq};
use hermes_memory::{Extraction, LearnReport, Recall, TurnTranscript, Written};

use crate::error::Error;
use crate::event::AgentEvent;
use crate::turn::{Ground, Turn};

/// What memory may learn from a turn that has ended.
#[derive(Debug)]
pub(crate) struct Lesson {
    recall: Arc<Recall>,
    transcript: Result<TurnTranscript, Error>,
}

/// What was learned, and what went wrong, in words.
fn report(learned: &LearnReport) -> (Vec<String>, Option<String>) {
    let records = learned.written.iter().filter_map(|written| match written {
        Written::Added(record) => Some(format!("new: {}", record.content)),
        Written::Reinforced(record) => Some(format!("confirmed: {}", record.content)),
        Written::Superseded { record, .. } => Some(format!("changed: {}", record.content)),
        _ => None,
    });
    let habits = learned.habits.iter().map(|record| format!("habit: {}", record.content));
    let failed = match &learned.extraction {
        Extraction::Failed(error) => Some(error.to_string()),
        _ => learned.errors.first().map(ToString::to_string),
    };
    (records.chain(habits).collect(), failed)
}

impl Turn {
    /// What memory may learn from the turn; `None` without a memory.
    pub(crate) async fn lesson(&self, ground: &Ground) -> Option<Lesson> {
        self.parts.memory.as_ref()?;
        Some(Lesson { recall: Arc::clone(&ground.recall), transcript: self.transcript(ground).await })
    }

    /// Lets memory learn, for a bounded time, and says what came of it. Its failure costs the turn nothing.
    pub(crate) async fn learn(&self, lesson: Lesson) -> Option<AgentEvent> {
        let memory = self.parts.memory.as_ref()?;
        let work = async {
            if let Err(error) = memory.mark_recalled(self.log.session().owner(), &lesson.recall).await {
                tracing::warn!(%error, "the recall could not be counted");
            }
            match lesson.transcript {
                Ok(transcript) => report(&memory.learn(&transcript).await),
                Err(error) => (Vec::new(), Some(error.to_string())),
            }
        };
        let limit = self.parts.config.max_learning;
        let (written, trouble) = tokio::time::timeout(limit, work)
            .await
            .unwrap_or_else(|_| (Vec::new(), Some(format!("learning took longer than {limit:?}"))));
        Some(AgentEvent::Learned { written, trouble })
    }

    async fn transcript(&self, ground: &Ground) -> Result<TurnTranscript, Error> {
        let session = self.log.session();
        let at = self.parts.clock.now();
        let zone = session.record().time_zone;
        let mut transcript = TurnTranscript::new(session.owner().clone(), session.id(), at)
            .with_time_zone_name(zone.as_deref());
        transcript.recalled = ground.recall.items.iter().map(|item| item.record.content.clone()).collect();
        if let Some(summary) = session.metadata().summary {
            transcript = transcript.with_summary(summary.text);
        }
        for message in self.messages_since(ground.turn).await? {
            transcript = self.take(transcript, &message, ground.turn);
        }
        Ok(transcript)
    }

    /// The messages that the model saw whole, and the one before the turn, oldest first: what an assistant says may only repeat what a
    /// tool gave in any turn that was sent (R10).
    async fn messages_since(&self, turn: Seq) -> Result<Vec<Message>, Error> {
        let before = Seq::new(turn.get().saturating_sub(1));
        let from = self.first_sent.map_or(before, |first| first.min(before));
        let mut messages = Vec::new();
        let mut query = LogQuery::forward(from, Limit::MAX);
        loop {
            let page = self.log.session().history(&query).await?;
            query = LogQuery::forward(
                page.messages.last().map_or(query.from, |message| message.seq().next()),
                Limit::MAX,
            );
            messages.extend(page.messages);
            if !page.more {
                return Ok(messages);
            }
        }
    }

    fn take(&self, transcript: TurnTranscript, message: &Message, turn: Seq) -> TurnTranscript {
        let (seq, in_turn) = (message.seq(), message.seq() >= turn);
        match message.body() {
            Body::User { .. } if in_turn => transcript.with_user(seq, message.text()),
            Body::Assistant { .. } if message.text().is_empty() => transcript,
            Body::Assistant { .. } if in_turn => transcript.with_assistant(seq, message.text()),
            // The assistant's last text before the turn: a "yes" of the user may accept it.
            Body::Assistant { .. } => {
                let mut transcript = transcript;
                transcript.said.retain(|said| said.role != Role::Assistant);
                transcript.with_assistant(seq, message.text())
            }
            Body::ToolResult(result) => {
                let mut transcript = transcript.with_tool(seq, message.text());
                if in_turn && result.failure.is_none() && !transcript.tools_used.contains(&result.tool) {
                    transcript.tools_used.push(result.tool.clone());
                }
                transcript
            }
            _ => transcript,
        }
    }
}
