//! How what is too much gives way (S6).

use std::sync::Arc;

use hermes_core::{ChatMessage, ContentPart, Message, Summary, TokenCounter, Tokens};
use hermes_text::head_tail;

use crate::assemble::{Item, Window};
use crate::budget::{BudgetExceeded, Composition, Part};
use crate::count::count_message;
use crate::explain::{ShrinkReason, Trim};
use crate::summary::{Block, StickyRoom, sticky_block, summary_block, summary_block_within};

/// What a result shrinks to when nothing else can give way: a line of it and the handle. Our choice.
const LEAST_RESULT: Tokens = Tokens::new(100);

/// What the condensed sticky messages have when nothing else can give way.
const LEAST_STICKY: Tokens = Tokens::new(64);

/// A context with some turns folded, on its way into the budget.
pub(crate) struct Draft<'w> {
    window: &'w Window<'w>,
    /// How many turns of the window are folded.
    pub(crate) folded: usize,
    /// The turns that are left.
    pub(crate) turns: Vec<Vec<Item>>,
    summary: Option<Summary>,
    /// The tokens of the summary before it is cut.
    whole_summary: Tokens,
    pub(crate) summary_block: Option<Block>,
    sticky: Vec<Arc<Message>>,
    pub(crate) sticky_block: Option<Block>,
}

impl<'w> Draft<'w> {
    /// A draft with this many turns folded into this summary.
    pub(crate) fn new(window: &'w Window<'w>, folded: usize, summary: Option<Summary>) -> Self {
        let Window { view, config, counter, .. } = *window;
        let gone = window.logged.get(..folded).unwrap_or_default();
        let mut sticky = view.sticky.clone();
        sticky.extend(gone.iter().copied().flatten().filter(|message| view.is_sticky(message)).cloned());
        let room = StickyRoom {
            verbatim: config.sticky_budget,
            condensed: Tokens::new(config.sticky_budget.get() / 2),
        };
        let summary_block = summary.as_ref().map(|summary| summary_block(summary, counter));
        Self {
            window,
            folded,
            turns: window.turns.get(folded..).unwrap_or_default().to_vec(),
            whole_summary: tokens_of(&summary_block),
            summary_block,
            summary,
            sticky_block: sticky_block(&sticky, view.older_sticky, room, counter),
            sticky,
        }
    }

    /// The tokens part by part.
    pub(crate) fn parts(&self) -> Composition {
        let mut parts = self.window.fixed();
        parts.add(Part::Summary, tokens_of(&self.summary_block));
        parts.add(Part::Sticky, tokens_of(&self.sticky_block));
        let current = self.turns.len().saturating_sub(1);
        for (at, turn) in self.turns.iter().enumerate() {
            let part = if at == current { Part::Current } else { Part::History };
            parts.add(part, turn.iter().map(|item| item.tokens).sum());
        }
        parts
    }

    fn total(&self) -> Tokens {
        self.parts().total()
    }

    fn fits(&self) -> bool {
        self.total() <= self.window.budget
    }

    /// Whether no more has to give way for the sake of the aim.
    pub(crate) fn reaches_aim(&self) -> bool {
        self.total() <= self.window.aim
    }

    /// Lets give way what may, in order, until the draft fits; says whether it does. Only the `last_resort` touches the current turn,
    /// the sticky messages and the summary: while more turns can fold, they do.
    pub(crate) fn fit(&mut self, last_resort: bool) -> bool {
        let shrunk = self.window.config.shrunk_result;
        let current = self.turns.len().saturating_sub(1);
        let latest = self.turns.last().map_or(0, |turn| latest_step(turn));
        let (aim, budget) = (self.window.aim, self.window.budget);
        self.shrink_where(aim, shrunk, ShrinkReason::OldTurn, |turn, _| turn < current);
        if self.fits() || !last_resort {
            return self.fits();
        }
        self.shrink_where(budget, shrunk, ShrinkReason::EarlierStep, |turn, at| {
            turn == current && at < latest
        });
        self.shrink_where(budget, shrunk, ShrinkReason::LatestStep, |turn, at| {
            turn == current && at >= latest
        });
        let lines = Tokens::new(self.window.config.sticky_budget.get() / 2);
        for condensed in [lines, lines.min(LEAST_STICKY)] {
            self.condense_sticky(StickyRoom { verbatim: Tokens::ZERO, condensed });
        }
        self.cut_summary();
        self.shrink_where(budget, LEAST_RESULT, ShrinkReason::OldTurn, |turn, _| turn < current);
        self.shrink_where(budget, LEAST_RESULT, ShrinkReason::EarlierStep, |turn, at| {
            turn == current && at < latest
        });
        self.shrink_where(budget, LEAST_RESULT, ShrinkReason::LatestStep, |turn, at| {
            turn == current && at >= latest
        });
        self.fits()
    }

    /// Shrinks results, the oldest first, until no more than `ceiling` is left. What is saved is rounded up to halves of it, so that the next
    /// step, which needs a little more, shrinks the same results and the prefix stays (S13).
    fn shrink_where(
        &mut self,
        ceiling: Tokens,
        to: Tokens,
        reason: ShrinkReason,
        which: impl Fn(usize, usize) -> bool,
    ) {
        let over = self.total().saturating_sub(ceiling).get();
        if over == 0 {
            return;
        }
        let quantum = (ceiling.get() / 2).max(1);
        let need = Tokens::new(over.div_ceil(quantum).saturating_mul(quantum));
        let mut saved = Tokens::ZERO;
        for (turn, items) in self.turns.iter_mut().enumerate() {
            for (at, item) in items.iter_mut().enumerate() {
                if saved >= need {
                    return;
                }
                if which(turn, at) {
                    let before = item.tokens;
                    shrink(item, to, reason, self.window.counter);
                    saved = saved + before.saturating_sub(item.tokens);
                }
            }
        }
    }

    fn condense_sticky(&mut self, room: StickyRoom) {
        if self.fits() {
            return;
        }
        let condensed = sticky_block(&self.sticky, self.window.view.older_sticky, room, self.window.counter);
        // A handful of short ones is smaller word for word.
        if tokens_of(&condensed) < tokens_of(&self.sticky_block) {
            self.sticky_block = condensed;
        }
    }

    fn cut_summary(&mut self) {
        let (Some(summary), Some(block)) = (&self.summary, &self.summary_block) else { return };
        if self.fits() {
            return;
        }
        let others = self.total().saturating_sub(block.tokens);
        let room = self.window.budget.saturating_sub(others);
        self.summary_block = summary_block_within(summary, room, self.window.counter);
    }

    /// What gave way, but for the messages of the turns that are left.
    pub(crate) fn trims(&self) -> Vec<Trim> {
        let mut trims = Vec::new();
        if let Some(summary) = &self.summary {
            trims.push(Trim::Folded {
                through: summary.through,
                origin: summary.origin,
                stored: self.folded == 0,
            });
            let (from, to) = (self.whole_summary, tokens_of(&self.summary_block));
            if to < from {
                trims.push(Trim::SummaryCut { from, to });
            }
        }
        let condensed = self.sticky_block.as_ref().map(|block| block.condensed.clone()).unwrap_or_default();
        if !condensed.is_empty() {
            trims.push(Trim::StickyCondensed { messages: condensed });
        }
        trims
    }

    pub(crate) fn exceeded(&self) -> BudgetExceeded {
        BudgetExceeded { budget: self.window.budget, needed: self.total(), parts: self.parts() }
    }
}

fn tokens_of(block: &Option<Block>) -> Tokens {
    block.as_ref().map_or(Tokens::ZERO, |block| block.tokens)
}

/// Where the latest step of a turn begins.
fn latest_step(turn: &[Item]) -> usize {
    turn.iter()
        .rposition(|item| matches!(item.entry.chat.as_ref(), ChatMessage::Assistant { .. }))
        .unwrap_or(0)
}

/// Shrinks a tool result to head, tail and handle, with at most `to` tokens. Everything else, and what is small enough, stays.
pub(crate) fn shrink(item: &mut Item, to: Tokens, reason: ShrinkReason, counter: &dyn TokenCounter) {
    let (ChatMessage::Tool { call, tool, content }, Some(handle)) =
        (item.entry.chat.as_ref(), item.entry.handle)
    else {
        return;
    };
    if item.tokens <= to {
        return;
    }
    let with = |text: String| {
        let content = vec![ContentPart::Text(text)];
        ChatMessage::Tool { call: call.clone(), tool: tool.clone(), content }
    };
    let room = to.saturating_sub(count_message(counter, &with(String::new())));
    let limit = usize::try_from(room.get()).unwrap_or(usize::MAX);
    let measure = |text: &str| usize::try_from(counter.count(text).get()).unwrap_or(usize::MAX);
    let notice = |omitted: usize| format!("\n[… {omitted} characters left out, the whole is at {handle}]\n");
    let chat = with(head_tail(&words_of(content), limit, measure, notice).text);
    let tokens = count_message(counter, &chat);
    if tokens < item.tokens {
        let before = item.shrunk.map_or(item.tokens, |(before, _)| before);
        item.entry.chat = Arc::new(chat);
        item.shrunk = Some((before, reason));
        item.tokens = tokens;
    }
}

/// The text of a result, with a word for every image and file.
fn words_of(content: &[ContentPart]) -> String {
    let parts: Vec<_> = content
        .iter()
        .map(|part| match part {
            ContentPart::Text(text) => text.clone(),
            ContentPart::Image(file) | ContentPart::File(file) => format!("[{} left out]", file.media_type),
            _ => String::new(),
        })
        .collect();
    parts.join("\n")
}
