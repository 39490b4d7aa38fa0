//! `read_artifact`: pages through what was shortened (T10, S6).

use std::sync::Arc;

use hermes_core::{
    ArtifactHandle, ArtifactId, ArtifactStore, CallContext, Effect, JsonText, Seq, SessionStore, StoreError,
    Tool, ToolError, ToolOutput, ToolSpec, async_trait, text_of,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::registry::{Settings, ToolRegistry};

/// The tool's name. What it gives is not cut for the turn's total: a page was asked for to be read, and has a bound of its own.
pub(crate) const NAME: &str = "read_artifact";

/// The bytes of a page unless the call asks for another number.
const PAGE: usize = 4_096;

/// The most bytes of a page. It is cut further where it takes more tokens than a result may have.
const MAX_PAGE: usize = 16_384;

/// How much is read at once while lines are counted.
const BLOCK: usize = 64 * 1024;

/// The longest spelling of one character in UTF-8.
const CHAR: usize = 4;

/// Reads artifacts of the present session, and entries of its log, in pages that split no character.
#[derive(Debug)]
pub struct ReadArtifact {
    spec: Arc<ToolSpec>,
    artifacts: Arc<dyn ArtifactStore>,
    log: Option<Arc<dyn SessionStore>>,
    settings: Arc<Settings>,
}

#[derive(Debug, Deserialize)]
struct Request {
    handle: String,
    offset: Option<u64>,
    line: Option<u64>,
    bytes: Option<usize>,
    lines: Option<u64>,
}

impl ReadArtifact {
    /// Reads artifacts of a store, in pages that fit the results of a registry.
    #[must_use]
    pub fn new(registry: &ToolRegistry, artifacts: impl ArtifactStore) -> Self {
        let spec = ToolSpec::new(
            NAME,
            "Read the whole of an output that was shortened, page by page. Start with the handle alone; go on with next_offset or \
             next_line of the page before.",
        )
        .input_schema(json!({
            "type": "object",
            "properties": {
                "handle": { "type": "string", "description": "artifact:<id> or log:<number>, as the shortened output says" },
                "offset": { "type": "integer", "minimum": 0, "description": "The byte to start at" },
                "bytes": { "type": "integer", "minimum": 16, "maximum": MAX_PAGE, "description": "How many bytes, 4096 unless said" },
                "line": { "type": "integer", "minimum": 1, "description": "The line to start at, instead of offset" },
                "lines": { "type": "integer", "minimum": 1, "description": "How many lines" }
            },
            "required": ["handle"]
        }))
        .effect(Effect::ReadOnly)
        .always_on();
        Self {
            spec: Arc::new(spec),
            artifacts: Arc::new(artifacts),
            log: None,
            settings: Arc::clone(&registry.settings),
        }
    }

    /// Reads entries of the session's log too, for handles such as `log:12`.
    #[must_use]
    pub fn with_log(mut self, log: impl SessionStore) -> Self {
        self.log = Some(Arc::new(log));
        self
    }

    async fn open(&self, handle: &str, context: &CallContext) -> Result<Whole<'_>, ToolError> {
        let handle = handle.parse::<ArtifactHandle>();
        match handle.map_err(|error| ToolError::InvalidArguments { message: error.to_string() })? {
            ArtifactHandle::Artifact(id) => {
                let record = self.artifacts.get(&context.owner, context.session, id).await.map_err(failed)?;
                let record = record.ok_or_else(|| not_there(&format!("artifact:{id}")))?;
                Ok(Whole::Artifact { store: &*self.artifacts, id, size: record.size })
            }
            ArtifactHandle::Log(seq) => Ok(Whole::Text(self.entry(seq, context).await?)),
        }
    }

    async fn entry(&self, seq: Seq, context: &CallContext) -> Result<String, ToolError> {
        let Some(log) = &self.log else { return Err(not_there(&format!("log:{seq}"))) };
        let messages = match log.messages(&context.owner, context.session, &[seq]).await {
            // A session that is not stored has no log.
            Err(StoreError::NotFound { .. }) => Vec::new(),
            found => found.map_err(failed)?,
        };
        let message = messages.first().ok_or_else(|| not_there(&format!("log:{seq}")))?;
        Ok(text_of(message.body().content()))
    }
}

fn not_there(handle: &str) -> ToolError {
    ToolError::InvalidArguments {
        message: format!("there is no {handle} in this session; use a handle that a shortened output names"),
    }
}

fn failed(error: StoreError) -> ToolError {
    if error.is_transient() {
        ToolError::Transient {
            message: "the store cannot be read now".to_owned(),
            retry_after: None,
            source: Some(Box::new(error)),
        }
    } else {
        ToolError::Failed { message: "the store cannot be read".to_owned(), source: Some(Box::new(error)) }
    }
}

/// What is being read.
enum Whole<'a> {
    Artifact { store: &'a dyn ArtifactStore, id: ArtifactId, size: u64 },
    Text(String),
}

impl Whole<'_> {
    fn size(&self) -> u64 {
        match self {
            Self::Artifact { size, .. } => *size,
            Self::Text(text) => u64::try_from(text.len()).unwrap_or(u64::MAX),
        }
    }

    async fn read(&self, context: &CallContext, offset: u64, length: usize) -> Result<Vec<u8>, ToolError> {
        match self {
            Self::Artifact { store, id, .. } => {
                store.read(&context.owner, context.session, *id, offset, length).await.map_err(failed)
            }
            Self::Text(text) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
                let end = start.saturating_add(length).min(text.len());
                Ok(text.as_bytes().get(start..end).unwrap_or_default().to_vec())
            }
        }
    }

    /// The byte at which a line begins, counted from 1; `None` when there are fewer lines.
    async fn line_start(&self, context: &CallContext, line: u64) -> Result<Option<u64>, ToolError> {
        let (mut at, mut offset) = (1, 0_u64);
        while at < line {
            let block = self.read(context, offset, BLOCK).await?;
            if block.is_empty() {
                return Ok(None);
            }
            for (place, byte) in (0_u64..).zip(&block) {
                at += u64::from(*byte == b'\n');
                if at == line {
                    return Ok(Some(offset + place + 1));
                }
            }
            offset += u64::try_from(block.len()).unwrap_or(u64::MAX);
        }
        Ok(Some(0))
    }
}

/// A page cut at characters.
struct Page {
    start: u64,
    text: String,
}

/// The page of whole characters that begins at or after `offset`. `None` when what is there is no text.
fn page(bytes: &[u8], offset: u64, length: usize) -> Option<Page> {
    // An offset inside a character moves on to the next one.
    let skipped = if offset == 0 {
        0
    } else {
        bytes.iter().take(CHAR - 1).take_while(|byte| (**byte & 0xc0) == 0x80).count()
    };
    let rest = bytes.get(skipped..)?;
    let rest = rest.get(..length.min(rest.len()))?;
    let text = match std::str::from_utf8(rest) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() || rest.len() - error.valid_up_to() < CHAR => {
            std::str::from_utf8(rest.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    Some(Page { start: offset + u64::try_from(skipped).ok()?, text: text.to_owned() })
}

#[async_trait]
impl Tool for ReadArtifact {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn call(&self, arguments: JsonText, context: CallContext) -> Result<ToolOutput, ToolError> {
        let request: Request =
            arguments.read().map_err(|error| ToolError::InvalidArguments { message: error.to_string() })?;
        let whole = self.open(&request.handle, &context).await?;
        let total = whole.size();
        let offset = match request.line {
            Some(line) => {
                whole.line_start(&context, line).await?.ok_or_else(|| ToolError::InvalidArguments {
                    message: format!("there is no line {line}; the last page ended before it"),
                })?
            }
            None => request.offset.unwrap_or(0),
        };
        if offset > total {
            return Err(ToolError::InvalidArguments {
                message: format!("offset {offset} is beyond the end, {total}"),
            });
        }
        let length =
            request.bytes.unwrap_or(if request.lines.is_some() { MAX_PAGE } else { PAGE }).min(MAX_PAGE);
        let bytes = whole.read(&context, offset, length + CHAR).await?;
        let Some(Page { start, mut text }) = page(&bytes, offset, length) else {
            return Err(ToolError::failed(format!(
                "{} holds no text that could be shown ({total} bytes)",
                request.handle
            )));
        };
        if let Some(end) = request.lines.and_then(|lines| end_of_lines(&text, lines)) {
            text.truncate(end);
        }
        let limit = usize::try_from(self.settings.config.result_tokens).unwrap_or(usize::MAX);
        loop {
            let said = answer(&request, start, &text, total);
            let tokens = self.settings.count(&said.to_string());
            let shorter = hermes_text::truncate_bytes(&text, shrunk(text.len(), limit, tokens));
            // A page that would be shortened again could not be read at all; one with nothing in it leads nowhere.
            if tokens <= limit || shorter.is_empty() {
                return Ok(said.into());
            }
            text.truncate(shorter.len());
        }
    }
}

/// How many bytes to try next when `bytes` take `tokens` and `limit` is allowed: a little less than their share.
fn shrunk(bytes: usize, limit: usize, tokens: usize) -> usize {
    (bytes.saturating_mul(limit) / tokens.max(1)).saturating_sub(bytes / 32 + 1)
}

/// A page as the model reads it, with where to go on.
fn answer(request: &Request, start: u64, text: &str, total: u64) -> Value {
    let end = start + u64::try_from(text.len()).unwrap_or(u64::MAX);
    let mut said = json!({ "text": text, "offset": start, "total_bytes": total });
    if end < total
        && let Value::Object(fields) = &mut said
    {
        fields.insert("next_offset".to_owned(), end.into());
        if let Some(line) = request.line.filter(|_| text.ends_with('\n')) {
            let lines = u64::try_from(text.matches('\n').count()).unwrap_or(u64::MAX);
            fields.insert("next_line".to_owned(), line.saturating_add(lines).into());
        }
    }
    said
}

/// Where the first `lines` lines end; `None` when the text has no more than those.
fn end_of_lines(text: &str, lines: u64) -> Option<usize> {
    let last = usize::try_from(lines).ok()?.checked_sub(1)?;
    text.match_indices('\n').nth(last).map(|(at, _)| at + 1)
}
