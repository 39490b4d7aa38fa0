//! Assembling a context: a pure function from window and budget to what is sent (S4–S6, S8, S13).

use std::collections::BTreeSet;
use std::sync::Arc;

use hermes_core::{ChatMessage, ContentPart, Message, Seq, Summary, TokenCounter, Tokens};
use hermes_text::fence;

use crate::budget::{BudgetExceeded, Composition, ContextSpec, Part};
use crate::config::SessionConfig;
use crate::context::{Context, FoldState};
use crate::count::{count_content, count_message};
use crate::explain::{Explanation, PartLine, ShrinkReason, Trim};
use crate::fit::{Draft, shrink};
use crate::fold::stand_in;
use crate::pairs::{Repaired, repair_all};
use crate::window::{Entry, WindowView, turns};

/// Assembles what is sent to the model for one step.
///
/// The order is that of S13: system, summary with anchors, sticky messages of folded turns, whole turns, and in the last of these the blocks beside the
/// user's words. What is too much gives way in the order of S6:
/// 1. every tool result over the cap shrinks to it; turns that are due fold (into a digest, where the stored summary does not cover them);
/// 2. results of earlier turns shrink, the oldest first, half of the room at a time so that the next step finds the same bytes;
/// 3. whole old turns fold, a batch at a time; these two go on down to the aim of [`SessionConfig::aim_percent`], as long as the newest turns stay;
/// 4. results of earlier steps of the current turn shrink, then those of its latest step;
/// 5. sticky messages condense to a line each and the summary gives up its length; at last the results of the current turn keep only a line.
///
/// Turns with a call that is still running do not fold. The cost is that of the window, however long the log.
///
/// # Errors
/// [`BudgetExceeded`] when what cannot give way is more than the budget: system, blocks beside, and the current turn.
pub fn assemble(
    view: &WindowView,
    spec: &ContextSpec,
    config: &SessionConfig,
    counter: &dyn TokenCounter,
) -> Result<Context, BudgetExceeded> {
    let window = Window::load(view, spec, config, counter);
    let batch = config.fold_batch.max(1);
    let mut folded = config.turns_due(window.turns.len()).min(window.foldable);
    let mut summary = window.stand_in(view.summary.as_ref(), 0, folded);
    loop {
        let last_resort = folded >= window.foldable;
        let mut draft = Draft::new(&window, folded, summary.clone());
        let fits = draft.fit(last_resort);
        // For the sake of the aim alone, the newest turns stay.
        let aimed = (folded + batch).min(window.foldable);
        let stays = window.turns.len().saturating_sub(aimed) >= config.aim_turns;
        if fits && (last_resort || !stays || draft.reaches_aim()) {
            return Ok(window.finish(&draft));
        }
        if last_resort {
            return Err(draft.exceeded());
        }
        summary = window.stand_in(summary.as_ref(), folded, aimed);
        folded = aimed;
    }
}

/// The window with every message counted and every pair whole.
pub(crate) struct Window<'a> {
    pub(crate) view: &'a WindowView,
    pub(crate) config: &'a SessionConfig,
    pub(crate) counter: &'a dyn TokenCounter,
    pub(crate) budget: Tokens,
    /// What trimming aims at: the budget at the most.
    pub(crate) aim: Tokens,
    /// The turns as they are logged.
    pub(crate) logged: Vec<&'a [Arc<Message>]>,
    /// The same turns as they may be sent.
    pub(crate) turns: Vec<Vec<Item>>,
    /// How many turns may fold: those before the current one and before any call that is still running.
    foldable: usize,
    system: Option<(Arc<ChatMessage>, Tokens)>,
    beside: Vec<ContentPart>,
    beside_tokens: Tokens,
    orphans: Vec<Trim>,
}

/// A message of the window, as long as it is being fitted.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) entry: Entry,
    pub(crate) tokens: Tokens,
    /// Its tokens before it was shrunk, and why it was.
    pub(crate) shrunk: Option<(Tokens, ShrinkReason)>,
}

impl<'a> Window<'a> {
    fn load(
        view: &'a WindowView,
        spec: &ContextSpec,
        config: &'a SessionConfig,
        counter: &'a dyn TokenCounter,
    ) -> Self {
        let logged = turns(&view.messages);
        let provider = spec.provider.as_deref();
        let mut entries = Vec::with_capacity(view.messages.len());
        for (turn, messages) in logged.iter().enumerate() {
            entries.extend(messages.iter().filter_map(|message| Entry::of(message, turn, provider, counter)));
        }
        let Repaired { messages, orphans } = repair_all(entries, &spec.pending);
        let orphans = orphans.iter().filter_map(|entry| {
            entry.result_of().map(|call| Trim::Orphan { seq: entry.seq, call: call.clone() })
        });
        let mut sent: Vec<Vec<Item>> = logged.iter().map(|_| Vec::new()).collect();
        let mut foldable = logged.len().saturating_sub(1);
        let mut turn = 0;
        for entry in messages {
            // A result stands with its step, whenever it came.
            let result = entry.result_of();
            if result.is_none() {
                turn = entry.turn;
            }
            if entry.explained && result.is_some_and(|call| spec.pending.contains(call)) {
                foldable = foldable.min(turn);
            }
            let tokens = entry.tokens.unwrap_or_else(|| count_message(counter, &entry.chat));
            let mut item = Item { entry, tokens, shrunk: None };
            shrink(&mut item, config.tool_result_max, ShrinkReason::Cap, counter);
            if let Some(items) = sent.get_mut(turn) {
                items.push(item);
            }
        }
        let beside: Vec<ContentPart> = spec
            .beside
            .iter()
            .filter(|block| !block.text.trim().is_empty())
            .map(|block| ContentPart::Text(fence(&block.label, &block.text)))
            .collect();
        let mut window = Self {
            view,
            config,
            counter,
            budget: spec.budget.tokens(),
            aim: spec.budget.tokens(),
            logged,
            turns: sent,
            foldable,
            system: None,
            beside_tokens: count_content(counter, &beside),
            beside,
            orphans: orphans.collect(),
        };
        if let Some(text) = spec.system.as_ref().filter(|text| !text.is_empty()) {
            let chat = ChatMessage::system(text.as_str());
            window.system = Some((Arc::new(chat.clone()), count_message(counter, &chat)));
        }
        if !window.beside.is_empty() && window.current_user().is_none() {
            // The blocks then are a message of their own.
            let alone = ChatMessage::User { content: window.beside.clone() };
            window.beside_tokens = count_message(counter, &alone);
        }
        let fixed = window.fixed().total();
        let free = u64::from(window.budget.saturating_sub(fixed).get());
        let aimed = u32::try_from(free * u64::from(config.aim_percent.min(100)) / 100).unwrap_or(u32::MAX);
        window.aim = (fixed + Tokens::new(aimed)).min(window.budget);
        window
    }

    /// The summary by rule that takes in the turns from `from` to before `to`.
    fn stand_in(&self, summary: Option<&Summary>, from: usize, to: usize) -> Option<Summary> {
        stand_in(summary, self.logged.get(from..to).unwrap_or_default(), self.config, self.counter)
    }

    /// The user message that begins the current turn.
    fn current_user(&self) -> Option<&Item> {
        let first = self.turns.last().and_then(|turn| turn.first());
        first.filter(|item| matches!(item.entry.chat.as_ref(), ChatMessage::User { .. }))
    }

    /// The tokens of what never gives way and is not in the log.
    pub(crate) fn fixed(&self) -> Composition {
        let mut parts = Composition::default();
        parts.add(Part::System, self.system.as_ref().map_or(Tokens::ZERO, |(_, tokens)| *tokens));
        parts.add(Part::Beside, self.beside_tokens);
        parts
    }

    /// Puts the parts in order (S13).
    fn finish(&self, draft: &Draft<'_>) -> Context {
        let parts = draft.parts();
        let mut out = Sent::default();
        if let Some((system, _)) = &self.system {
            out.push(Part::System, Arc::clone(system));
        }
        let blocks = [(Part::Summary, &draft.summary_block), (Part::Sticky, &draft.sticky_block)];
        for (part, block) in
            blocks.into_iter().filter_map(|(part, block)| block.as_ref().map(|block| (part, block)))
        {
            out.push(part, Arc::clone(&block.chat));
        }
        let mut whole: Vec<(Part, Seq)> = Vec::new();
        let mut trims = draft.trims();
        let current = draft.turns.len().saturating_sub(1);
        let mut beside = (!self.beside.is_empty()).then(|| self.beside.clone());
        for (at, turn) in draft.turns.iter().enumerate() {
            let part = if at == current { Part::Current } else { Part::History };
            if part == Part::Current
                && self.current_user().is_none()
                && let Some(content) = beside.take()
            {
                out.push(Part::Beside, Arc::new(ChatMessage::User { content }));
            }
            for item in turn {
                let entry = &item.entry;
                let chat = match entry.chat.as_ref() {
                    ChatMessage::User { content } if part == Part::Current && beside.is_some() => {
                        let mut all = beside.take().unwrap_or_default();
                        all.extend_from_slice(content);
                        Arc::new(ChatMessage::User { content: all })
                    }
                    _ => Arc::clone(&entry.chat),
                };
                out.push(part, chat);
                if !entry.explained {
                    whole.push((part, entry.seq));
                }
                trims.extend(item.trim());
            }
        }
        if let Some(content) = beside {
            out.push(Part::Beside, Arc::new(ChatMessage::User { content }));
        }
        trims.extend(self.orphans.iter().cloned());
        let places = |part: Part| match part {
            Part::Sticky => draft.sticky_block.as_ref().map(|block| block.places.clone()).unwrap_or_default(),
            _ => whole.iter().filter(|(of, _)| *of == part).map(|(_, seq)| *seq).collect(),
        };
        let lines = parts.iter().filter(|(_, tokens)| *tokens > Tokens::ZERO);
        let lines = lines.map(|(part, tokens)| PartLine { part, tokens, messages: places(part) }).collect();
        let first = whole.iter().map(|(_, seq)| *seq).min();
        let last = whole.iter().map(|(_, seq)| *seq).max();
        Context {
            tools_used: out.tools_used(),
            messages: out.messages,
            labels: out.labels,
            budget: self.budget,
            parts,
            window: first.zip(last),
            explanation: Explanation {
                budget: self.budget,
                tokens: parts.total(),
                turns: draft.turns.len(),
                parts: lines,
                trims,
            },
            folding: FoldState { turns: draft.folded, done: false },
        }
    }
}

/// The messages so far, each with its part.
#[derive(Default)]
struct Sent {
    messages: Vec<Arc<ChatMessage>>,
    labels: Vec<Part>,
}

impl Sent {
    fn push(&mut self, part: Part, chat: Arc<ChatMessage>) {
        self.messages.push(chat);
        self.labels.push(part);
    }

    fn tools_used(&self) -> BTreeSet<String> {
        let steps = self.messages.iter().filter_map(|message| match message.as_ref() {
            ChatMessage::Assistant { calls, .. } => Some(calls),
            _ => None,
        });
        steps.flatten().map(|call| call.name.clone()).collect()
    }
}

impl Item {
    fn trim(&self) -> Option<Trim> {
        let entry = &self.entry;
        if entry.explained {
            return entry.result_of().map(|call| Trim::Explained { seq: entry.seq, call: call.clone() });
        }
        let (from, reason) = self.shrunk?;
        let handle = entry.handle?.to_string();
        Some(Trim::Shrunk { seq: entry.seq, from, to: self.tokens, handle, reason })
    }
}
