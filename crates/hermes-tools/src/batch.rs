//! The calls of one step: together where that is safe, in order where it is not (T11).

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hermes_core::{CallContext, Effect, StoreError, ToolCall};

use crate::options::{ExecuteOptions, Executed};
use crate::registry::ToolRegistry;

/// One call of a step, with what it is run with.
#[derive(Debug, Clone)]
pub struct StepCall {
    /// The call.
    pub call: ToolCall,
    /// Its context.
    pub context: CallContext,
    /// What running it may use.
    pub options: ExecuteOptions,
}

impl StepCall {
    /// Joins the three.
    #[must_use]
    pub fn new(call: ToolCall, context: CallContext, options: ExecuteOptions) -> Self {
        Self { call, context, options }
    }
}

impl ToolRegistry {
    /// Runs the calls of one step; the results are in the order of the calls, and `done` is told of each as it ends.
    ///
    /// Calls of read-only and idempotent tools run at the same time, at most [`ToolConfig::concurrency`](crate::ToolConfig) of them.
    /// A call with side effects runs alone: after all that stand before it and before all that stand after it, so that what reads
    /// after it sees what it did. A call that waits for a person holds up nobody.
    pub async fn execute_step(
        &self,
        calls: &[StepCall],
        mut done: impl FnMut(usize, &Result<Executed, StoreError>) + Send,
    ) -> Vec<Result<Executed, StoreError>> {
        let table = self.shared.table();
        let alone: Vec<bool> = calls
            .iter()
            .map(|step| {
                table.tools.get(&step.call.name).is_some_and(|entry| entry.spec.effect == Effect::SideEffect)
            })
            .collect();
        drop(table);
        let mut results: Vec<(usize, Result<Executed, StoreError>)> = Vec::with_capacity(calls.len());
        let mut start = 0;
        for group in alone.chunk_by(|&before, &after| !before && !after) {
            let range = start..start + group.len();
            start = range.end;
            let mut waiting = range.clone().zip(calls.iter().skip(range.start));
            let mut running = FuturesUnordered::new();
            loop {
                while running.len() < self.settings.config.concurrency.max(1)
                    && let Some((at, step)) = waiting.next()
                {
                    running.push(async move {
                        (at, self.execute(&step.call, step.context.clone(), &step.options).await)
                    });
                }
                let Some((at, result)) = running.next().await else { break };
                done(at, &result);
                results.push((at, result));
            }
        }
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }
}
