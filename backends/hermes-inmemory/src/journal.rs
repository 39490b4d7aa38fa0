//! The file of a semantic store: a header and one JSON line for each change.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hermes_core::{BoxError, EmbedderId, Embedding, MemoryId, MemoryRecord, Owner, StoreError};
use serde::{Deserialize, Serialize};

const BACKEND: &str = "in-memory";
const VERSION: i64 = 1;

/// A change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The vectors to come are of this space; those before are dropped.
    Space {
        /// The space.
        id: EmbedderId,
        /// How many numbers its vectors have.
        dimension: usize,
    },
    /// A record as it is from now on; without a vector it keeps the one it has.
    Put {
        /// The record.
        record: Box<MemoryRecord>,
        /// The vector.
        vector: Option<Embedding>,
    },
    /// A record is gone.
    Remove {
        /// Whose it was.
        owner: Owner,
        /// Which one.
        id: MemoryId,
    },
}

#[derive(Serialize, Deserialize)]
struct Header {
    hermes_memory: i64,
}

/// An open file. The lock beside it is held as long as this lives.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    _lock: File,
}

pub(crate) fn backend_error(op: &'static str, source: impl Into<BoxError>) -> StoreError {
    StoreError::Backend { backend: BACKEND, op, transient: false, source: source.into() }
}

fn corrupt(path: &Path, reason: &str) -> StoreError {
    StoreError::Corrupt { what: "memory file", reason: format!("{}: {reason}", path.display()) }
}

impl Journal {
    /// Opens a file, or makes it, and gives the changes in it.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<Entry>), StoreError> {
        let failed = |e: std::io::Error| backend_error("open", format!("{}: {e}", path.display()));
        let lock = lock_beside(path)?;
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        // A line that a crash cut off has no line end: it was never acknowledged.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let text = text.get(..whole).unwrap_or_default();
        let entries = if text.is_empty() { None } else { Some(parse(path, text)?) };
        file.set_len(u64::try_from(whole).unwrap_or(u64::MAX)).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let mut journal = Self { path: path.to_owned(), file, _lock: lock };
        if entries.is_none() {
            let line = line_of(&Header { hermes_memory: VERSION })?;
            journal.file.write_all(&line).map_err(|e| backend_error("open", e))?;
        }
        Ok((journal, entries.unwrap_or_default()))
    }

    /// Writes a change: when this returns, it survives the end of the process.
    pub(crate) fn write(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let line = line_of(entry)?;
        let before = self.file.metadata().map(|meta| meta.len());
        self.file.write_all(&line).map_err(|error| {
            // Half a line must not stand before the next one.
            if let Ok(before) = before {
                let _ = self.file.set_len(before);
            }
            backend_error("write", error)
        })
    }

    /// Writes the file anew with what is there now, and puts it in the place of the old one in one step.
    pub(crate) fn rewrite<'a>(
        &mut self,
        space: Option<(EmbedderId, usize)>,
        records: impl Iterator<Item = (&'a MemoryRecord, Option<&'a Embedding>)>,
    ) -> Result<(), StoreError> {
        let fresh = self.path.with_extension("new");
        let write = || -> std::io::Result<File> {
            let mut out = BufWriter::new(File::create(&fresh)?);
            write_line(&mut out, &Header { hermes_memory: VERSION })?;
            if let Some((id, dimension)) = space {
                write_line(&mut out, &Entry::Space { id, dimension })?;
            }
            for (record, vector) in records {
                write_line(
                    &mut out,
                    &Entry::Put { record: Box::new(record.clone()), vector: vector.cloned() },
                )?;
            }
            let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.sync_all()?;
            drop(file);
            std::fs::rename(&fresh, &self.path)?;
            OpenOptions::new().read(true).append(true).open(&self.path)
        };
        self.file = write().map_err(|e| backend_error("rewrite", e))?;
        Ok(())
    }
}

fn write_line(out: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn line_of(value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let mut line = Vec::new();
    write_line(&mut line, value).map_err(|e| backend_error("write", e))?;
    Ok(line)
}

fn lock_beside(path: &Path) -> Result<File, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let failed =
        |e: std::io::Error| backend_error("lock", format!("{}: {e}", PathBuf::from(&name).display()));
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&name).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(backend_error("open", format!("{} is in use by another process", path.display())))
        }
        Err(TryLockError::Error(e)) => Err(failed(e)),
    }
}

fn parse(path: &Path, text: &[u8]) -> Result<Vec<Entry>, StoreError> {
    let text = std::str::from_utf8(text).map_err(|_| corrupt(path, "it is not text"))?;
    let mut lines = text.lines();
    let header: Option<Header> = lines.next().and_then(|line| serde_json::from_str(line).ok());
    match header {
        None => return Err(corrupt(path, "it is not a Hermes memory file")),
        Some(header) if header.hermes_memory > VERSION => {
            return Err(StoreError::NewerSchema {
                backend: BACKEND,
                found: header.hermes_memory,
                supported: VERSION,
            });
        }
        Some(_) => {}
    }
    let read = |(n, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|e| corrupt(path, &format!("line {}: {e}", n + 2)))
    };
    lines.enumerate().map(read).collect()
}
