//! The folder of the public data, and its files: JSON, one object a line, plain or packed with gzip.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// Where the public data is, for the measures that need it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DataArgs {
    /// The folder of the public data; without it `shared/bench/data` beside the repository.
    #[arg(long, value_name = "DIR", env = "HERMES_BENCH_DATA")]
    data: Option<PathBuf>,
}

impl DataArgs {
    /// The folder.
    pub(crate) fn folder(&self) -> Result<PathBuf, Error> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench/data");
        let folder = self.data.clone().unwrap_or(beside);
        if folder.is_dir() {
            return Ok(folder);
        }
        Err(Error::Usage(match &self.data {
            Some(named) => format!("there is no folder {} with the public data", named.display()),
            None => "where the public data is has to be said by --data or HERMES_BENCH_DATA".to_owned(),
        }))
    }
}

/// Reads a file of the folder, `name` or `name.gz`, whichever there is.
pub(crate) fn read_lines<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<T>, Error> {
    let (plain, packed) = (folder.join(name), folder.join(format!("{name}.gz")));
    let path = if packed.is_file() { packed } else { plain };
    let unread = |source| Error::Io { what: format!("{} cannot be read", path.display()), source };
    let file = File::open(&path).map_err(unread)?;
    let reader: Box<dyn Read> = if path.extension().is_some_and(|end| end == "gz") {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut items = Vec::new();
    for (at, line) in BufReader::new(reader).lines().enumerate() {
        let line = line.map_err(unread)?;
        if !line.trim().is_empty() {
            items.push(serde_json::from_str(&line).map_err(|error| Error::Data {
                path: path.clone(),
                line: at + 1,
                reason: error.to_string(),
            })?);
        }
    }
    Ok(items)
}
