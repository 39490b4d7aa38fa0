//! `hermes-bench tool-selection`: which tools are found for public requests, as a run file for `score_tools.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;

use hermes_core::BoxError;
use hermes_embed::LocalEmbedder;
use hermes_openai::{Endpoint, OpenAiEmbedder, OpenAiEmbedderConfig, PurposeHint};
use hermes_tools::ToolRegistry;
use serde::Deserialize;
use serde_json::json;

use crate::data::{DataArgs, read_lines};
use crate::error::Error;
use crate::report::Report;
use crate::tools::{Listed, add, contract, legal};

/// How many tools are ranked for a request.
const RANKED: usize = 50;

/// Ranks the tools of a public set for its requests.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `livemcp_tasks`, `livemcp_steps`, `livemcp_route`, `bfcl_single` or `bfcl_mt_turns`.
    #[arg(long)]
    set: String,
    #[command(flatten)]
    data: DataArgs,
    /// Where the run file is written.
    #[arg(long)]
    out: PathBuf,
    /// `bundled`, `none`, or the address of an OpenAI-compatible embedding service.
    #[arg(long, default_value = "bundled")]
    embedder: String,
    /// The model asked for at an embedding service.
    #[arg(long, default_value = "multilingual-e5-small")]
    model: String,
    /// The numbers in one of its vectors.
    #[arg(long, default_value_t = 384)]
    dimension: usize,
}

#[derive(Debug, Deserialize)]
struct Asked {
    qid: String,
    question: String,
}

/// The tools of a set under legal names, as an MCP client would register them: the server before the name, and as a group.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) registry: ToolRegistry,
    /// The data's id of each name.
    ids: BTreeMap<String, String>,
    tokens: BTreeMap<String, usize>,
    /// How many schemas were refused at registration.
    unusable: usize,
}

impl Corpus {
    pub(crate) fn new(listed: &[Listed]) -> Result<Self, BoxError> {
        let registry = ToolRegistry::new();
        let (mut ids, mut tokens) = (BTreeMap::new(), BTreeMap::new());
        let (mut taken, mut unusable) = (BTreeSet::new(), 0);
        for tool in listed {
            let mut name = legal(&if tool.server.is_empty() {
                tool.name.clone()
            } else {
                format!("{}_{}", tool.server, tool.name)
            });
            let mut number = 1;
            while !taken.insert(name.clone()) {
                number += 1;
                name = format!("{}_{number}", name.chars().take(60).collect::<String>());
            }
            let mut spec = contract(&name, &tool.description, &tool.schema);
            if !tool.server.is_empty() {
                spec = spec.group(tool.server.as_str());
            }
            // A schema that cannot be used leaves the tool to be found all the same: finding is what is measured.
            if add(&registry, spec).is_err() {
                unusable += 1;
                add(&registry, contract(&name, &tool.description, &json!({ "type": "object" })))?;
            }
            ids.insert(name.clone(), tool.id.clone());
            tokens.insert(name, tool.tokens);
        }
        Ok(Self { registry, ids, tokens, unusable })
    }

    pub(crate) fn name_of(&self, id: &str) -> Option<String> {
        self.ids.iter().find(|(_, known)| *known == id).map(|(name, _)| name.clone())
    }

    pub(crate) fn tokens_of(&self, name: &str) -> Option<usize> {
        self.tokens.get(name).copied()
    }
}

/// Writes the run file.
pub(crate) async fn run(args: Args) -> Result<Report, Error> {
    written(&args).await.map_err(Error::Tools)
}

async fn written(args: &Args) -> Result<Report, BoxError> {
    let data = args.data.folder()?;
    let tools = match args.set.as_str() {
        "livemcp_tasks" | "livemcp_steps" | "livemcp_route" => "livemcp_tools",
        "bfcl_single" => "bfcl_tools",
        "bfcl_mt_turns" => "bfcl_mt_tools",
        other => return Err(Error::Usage(format!("there is no set {other:?}")).into()),
    };
    let corpus = Corpus::new(&read_lines::<Listed>(&data, &format!("{tools}.jsonl"))?)?;
    let asked: Vec<Asked> = read_lines(&data, &format!("{}.jsonl", args.set))?;
    let registry = match args.embedder.as_str() {
        "none" => corpus.registry.clone(),
        "bundled" => corpus.registry.clone().with_embedder(LocalEmbedder::bundled()),
        address => corpus.registry.clone().with_embedder(served(address, args)?),
    };
    let mut out = std::io::BufWriter::new(std::fs::File::create(&args.out)?);
    for asked in &asked {
        let found = registry.find(&asked.question, RANKED).await;
        let ranked: Vec<&String> = found.iter().filter_map(|spec| corpus.ids.get(&spec.name)).collect();
        writeln!(out, "{}", json!({ "qid": asked.qid, "ranked": ranked }))?;
    }
    out.flush()?;
    let json = json!({ "set": args.set, "requests": asked.len(), "tools": corpus.ids.len(), "unusable": corpus.unusable });
    let mut report = Report::new(&["set", "requests", "tools", "schemas refused"], json);
    let counts = [asked.len(), corpus.ids.len(), corpus.unusable].map(|count| count.to_string());
    report.row(std::iter::once(args.set.clone()).chain(counts).collect());
    Ok(report)
}

/// An embedding service that tells queries from passages, as e5 wants it.
fn served(address: &str, args: &Args) -> Result<OpenAiEmbedder, BoxError> {
    let config = OpenAiEmbedderConfig::new(Endpoint::new(address), args.model.as_str(), args.dimension)
        .with_purpose(PurposeHint::InputType);
    Ok(OpenAiEmbedder::new(&config)?)
}
