//! What a call, a registration and a choice of tools cost.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{
    BoxError, CallContext, CallId, Owner, Seq, SessionId, StepId, TenantId, Tokens, ToolCall, UserId,
};
use hermes_embed::LocalEmbedder;
use hermes_tiktoken::TiktokenCounter;
use hermes_tools::{ExecuteOptions, Executed, Folding, SelectInput, Selection, ToolRegistry};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{self, Listed, Recorded};
use crate::data::read_lines;

/// How many calls are timed together: long against the clock's grain, short against what else the machine does.
const BLOCK: u32 = 200;

/// How many blocks of each sort; they take turns.
const BLOCKS: usize = 101;

/// One call through the whole path beside the least that any such path must do.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) runtime: &'static str,
    pub(crate) validate: u64,
    pub(crate) floor: u64,
    pub(crate) dispatch: u64,
}

impl Dispatch {
    pub(crate) fn ratio(&self) -> f64 {
        self.dispatch as f64 / self.floor.max(1) as f64
    }
}

/// A call of a tool that does nothing, with the first public call that has five arguments or more; on a runtime of one thread, then on
/// one of two.
pub(crate) async fn dispatch(calls: &[Recorded]) -> Result<Vec<Dispatch>, BoxError> {
    let typical = calls
        .iter()
        .find(|call| call.valid && call.arguments.as_object().is_some_and(|fields| fields.len() >= 5));
    let recorded = typical.ok_or("no public call has five arguments")?;
    let registry = ToolRegistry::new();
    call::add(&registry, call::contract(&recorded.tool(), "", &recorded.schema))?;
    let call = recorded.call(recorded.arguments.to_string());
    let mut schema = recorded.schema.clone();
    schema
        .as_object_mut()
        .ok_or("the schema is no object")?
        .insert("additionalProperties".to_owned(), json!(false));
    let validator = Arc::new(jsonschema::validator_for(&schema)?);
    let measured = std::thread::spawn(move || -> Result<Vec<Dispatch>, BoxError> {
        let one = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let two = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let measure = |name, runtime: &tokio::runtime::Runtime| {
            let (registry, call, validator) = (registry.clone(), call.clone(), Arc::clone(&validator));
            runtime.block_on(async move { tokio::spawn(turns(name, registry, call, validator)).await })
        };
        Ok(vec![measure("one thread", &one)??, measure("several threads", &two)??])
    });
    tokio::task::spawn_blocking(move || measured.join()).await?.map_err(|_| "the measure broke off")?
}

async fn turns(
    runtime: &'static str,
    registry: ToolRegistry,
    call: ToolCall,
    validator: Arc<jsonschema::Validator>,
) -> Result<Dispatch, BoxError> {
    let context = context()?;
    let options = ExecuteOptions::default();
    let limit = Duration::from_secs(10);
    let (mut validate, mut floor, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..BLOCKS {
        let began = now();
        for _ in 0..BLOCK {
            std::hint::black_box(registry.check(std::hint::black_box(&call)));
        }
        validate.push(now() - began);
        let began = now();
        for _ in 0..BLOCK {
            let value: Value = serde_json::from_str(std::hint::black_box(&call.arguments))?;
            if !validator.is_valid(&value) {
                return Err("the floor's call is invalid".into());
            }
            let work = tokio::spawn(async move { std::hint::black_box(value) });
            tokio::time::timeout(limit, work).await??;
        }
        floor.push(now() - began);
        let began = now();
        for _ in 0..BLOCK {
            match registry.execute(&call, context.clone(), &options).await? {
                Executed::Done(outcome) if outcome.is_success() => {}
                other => return Err(format!("the call failed: {other:?}").into()),
            }
        }
        whole.push(now() - began);
    }
    Ok(Dispatch {
        runtime,
        validate: each(&mut validate),
        floor: each(&mut floor),
        dispatch: each(&mut whole),
    })
}

/// What many tools cost.
#[derive(Debug)]
pub(crate) struct Scale {
    pub(crate) registration_ms: f64,
    pub(crate) first_ms: f64,
    pub(crate) words_ms: f64,
    pub(crate) meaning_ms: f64,
    pub(crate) list_changes: u64,
    pub(crate) prefix_share: f64,
    pub(crate) sent_tokens: usize,
    /// In how many of the fifty turns the tools that were needed were in the list.
    pub(crate) turns_served: usize,
}

#[derive(Debug, Deserialize)]
struct Asked {
    question: String,
    gold_groups: Vec<Vec<String>>,
}

/// Registers 10,000 tools made of the public ones, and chooses among them.
pub(crate) async fn scale(data: &Path) -> Result<Scale, BoxError> {
    let listed: Vec<Listed> = read_lines(data, "bfcl_tools.jsonl")?;
    let asked: Vec<Asked> = read_lines(data, "bfcl_single.jsonl")?;
    // A few public schemas are no JSON Schema (`"type": "any"`) and are refused at registration, rightly.
    let scratch = ToolRegistry::new();
    let usable: Vec<&Listed> = listed
        .iter()
        .enumerate()
        .filter(|(number, tool)| {
            call::add(&scratch, call::contract(&number.to_string(), "", &tool.schema)).is_ok()
        })
        .map(|(_, tool)| tool)
        .collect();
    let specs: Vec<_> = usable
        .into_iter()
        .cycle()
        .take(10_000)
        .enumerate()
        .map(|(number, tool)| {
            let name: String = format!("{number}_{}", call::legal(&tool.name)).chars().take(64).collect();
            call::contract(&name, &tool.description, &tool.schema)
        })
        .collect();
    let registry = ToolRegistry::new();
    let began = now();
    for spec in specs {
        call::add(&registry, spec)?;
    }
    let registration_ms = millis(now() - began) / 10.0;
    let meaning = registry.clone().with_embedder(LocalEmbedder::bundled());
    let began = now();
    choose(&meaning, "first", Tokens::new(128_000)).await;
    let first_ms = millis(now() - began);
    let (mut words, mut meanings) = (Vec::new(), Vec::new());
    for asked in asked.iter().step_by(asked.len() / 100) {
        let began = now();
        choose(&registry, &asked.question, Tokens::new(128_000)).await;
        words.push(now() - began);
        let began = now();
        choose(&meaning, &asked.question, Tokens::new(128_000)).await;
        meanings.push(now() - began);
    }
    let Session { list_changes, prefix_share, sent_tokens, turns_served } = turns_of_a_session(data).await?;
    Ok(Scale {
        registration_ms,
        first_ms,
        words_ms: millis(median(&mut words)),
        meaning_ms: millis(median(&mut meanings)),
        list_changes,
        prefix_share,
        sent_tokens,
        turns_served,
    })
}

struct Session {
    list_changes: u64,
    prefix_share: f64,
    sent_tokens: usize,
    turns_served: usize,
}

async fn choose(registry: &ToolRegistry, intent: &str, window: Tokens) {
    let input =
        SelectInput { session: SessionId::generate(), intent, used: &[], window, folding: Folding::No };
    std::hint::black_box(registry.select(&mut Selection::default(), &input).await);
}

/// Fifty turns, each a step of a public task, with the 527 public MCP tools; the needed tool counts as used from then on.
async fn turns_of_a_session(data: &Path) -> Result<Session, BoxError> {
    let listed: Vec<Listed> = read_lines(data, "livemcp_tools.jsonl")?;
    let steps: Vec<Asked> = read_lines(data, "livemcp_steps.jsonl")?;
    let corpus = crate::tool_selection::Corpus::new(&listed)?;
    let registry = corpus
        .registry
        .clone()
        .with_embedder(LocalEmbedder::bundled())
        .with_counter(TiktokenCounter::o200k());
    let session = SessionId::generate();
    let (mut selection, mut used) = (Selection::default(), Vec::new());
    let (mut before, mut shares, mut turns_served) = (String::new(), Vec::new(), 0);
    for step in steps.iter().take(50) {
        let input = SelectInput {
            session,
            intent: &step.question,
            used: &used,
            window: Tokens::new(128_000),
            folding: Folding::No,
        };
        let sent = registry.select(&mut selection, &input).await;
        let list: Vec<Value> = sent
            .iter()
            .map(|spec| json!({ "name": spec.name, "description": spec.description, "parameters": spec.input_schema }))
            .collect();
        let list = json!(list).to_string();
        if !before.is_empty() {
            let common = before.bytes().zip(list.bytes()).take_while(|(old, new)| old == new).count();
            shares.push(common as f64 / before.len() as f64);
        }
        before = list;
        let has = |group: &Vec<String>| {
            group.iter().filter_map(|id| corpus.name_of(id)).any(|name| selection.sent.contains(&name))
        };
        turns_served += usize::from(step.gold_groups.iter().all(has));
        used.extend(
            step.gold_groups
                .iter()
                .flatten()
                .filter_map(|id| corpus.name_of(id))
                .filter(|name| selection.sent.contains(name)),
        );
        used.sort();
        used.dedup();
    }
    Ok(Session {
        list_changes: selection.changes,
        prefix_share: shares.iter().sum::<f64>() / shares.len().max(1) as f64,
        sent_tokens: selection.sent.iter().filter_map(|name| corpus.tokens_of(name)).sum(),
        turns_served,
    })
}

fn context() -> Result<CallContext, BoxError> {
    let owner = Owner::new(TenantId::new("bench")?, UserId::new("bench")?);
    Ok(CallContext::new(owner, SessionId::generate(), Seq::new(1), StepId::generate(), CallId::generate()))
}

#[expect(clippy::disallowed_methods, reason = "a measure measures real time")]
fn now() -> Instant {
    Instant::now()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Nanoseconds of one call, from the median block.
fn each(times: &mut [Duration]) -> u64 {
    u64::try_from(median(times).as_nanos() / u128::from(BLOCK)).unwrap_or(u64::MAX)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
