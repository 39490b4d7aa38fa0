//! Where the chat finds its settings: flags, then the environment, then the settings file.

use std::path::{Path, PathBuf};

use directories::ProjectDirs;
use hermes::core::Owner;
use serde::Deserialize;

use super::model::USUAL;
use crate::cli::ChatArgs;
use crate::error::Error;

/// How alike an unknown key and a known one have to be for a hint: two slips in a word of five.
const LIKENESS: f64 = 0.6;

/// The settings of a chat.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) base_url: Option<String>,
    /// Where a local server is looked for when no service is configured.
    pub(crate) local_servers: Vec<String>,
    pub(crate) model: Option<String>,
    pub(crate) api_key: Option<String>,
    pub(crate) mcp: Option<PathBuf>,
    pub(crate) data_dir: PathBuf,
    pub(crate) memory: bool,
    pub(crate) max_output: Option<u32>,
    pub(crate) temperature: Option<f32>,
    pub(crate) system: Option<String>,
    pub(crate) owner: Owner,
}

/// The settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    base_url: Option<String>,
    local_servers: Option<Vec<String>>,
    model: Option<String>,
    mcp: Option<PathBuf>,
    memory: Option<bool>,
    max_output: Option<u32>,
    temperature: Option<f32>,
    system: Option<String>,
    tenant: Option<String>,
    user: Option<String>,
}

impl Config {
    pub(crate) fn load(args: &ChatArgs) -> Result<Self, Error> {
        let data_dir = data_dir(args.data_dir.as_deref())?;
        let file = File::read(args.config.as_deref(), &data_dir)?;
        let own_mcp = Some(data_dir.join("mcp.json")).filter(|path| path.exists());
        Ok(Self {
            base_url: args.base_url.clone().or_else(|| variable("OPENAI_BASE_URL")).or(file.base_url),
            local_servers: file.local_servers.unwrap_or_else(|| USUAL.map(str::to_owned).to_vec()),
            model: args.model.clone().or_else(|| variable("OPENAI_MODEL")).or(file.model),
            api_key: args.api_key.clone().or_else(|| variable("OPENAI_API_KEY")),
            mcp: args.mcp.clone().or(file.mcp).or(own_mcp),
            memory: !args.no_memory && file.memory.unwrap_or(true),
            max_output: args.max_output.or(file.max_output),
            temperature: args.temperature.or(file.temperature),
            system: file.system,
            owner: owner(file.tenant, file.user)?,
            data_dir,
        })
    }
}

/// Whose sessions they are and where, for commands that talk to no model.
pub(crate) struct Place {
    /// The chat's own store.
    pub(crate) store_url: String,
    /// The user.
    pub(crate) owner: Owner,
}

impl Place {
    pub(crate) fn find(data: Option<&Path>, settings: Option<&Path>) -> Result<Self, Error> {
        let data_dir = data_dir(data)?;
        let File { tenant, user, .. } = File::read(settings, &data_dir)?;
        Ok(Self { store_url: store_url(&data_dir), owner: owner(tenant, user)? })
    }
}

fn store_url(data_dir: &Path) -> String {
    format!("sqlite://{}", data_dir.join("hermes.db").display())
}

/// The user that the settings name, else the one of the machine.
fn owner(tenant: Option<String>, user: Option<String>) -> Result<Owner, Error> {
    let tenant = tenant.unwrap_or_else(|| "local".to_owned());
    let user = user.or_else(|| variable("USER")).unwrap_or_else(|| "user".to_owned());
    let invalid = |e| Error::Usage(format!("the settings name no usable user: {e}"));
    Ok(Owner::new(tenant.parse().map_err(invalid)?, user.parse().map_err(invalid)?))
}

impl File {
    /// Reads the settings file; one that nobody named may be missing.
    fn read(named: Option<&Path>, data_dir: &Path) -> Result<Self, Error> {
        let path = named.map_or_else(|| data_dir.join("config.toml"), Path::to_owned);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(Error::file(path, error)),
        };
        toml::from_str(&text).map_err(|error| Error::file(path, said(&error, &text)))
    }
}

/// What is wrong with the settings file, and where; for an unknown key also what was probably meant.
fn said(error: &toml::de::Error, text: &str) -> String {
    let before =
        error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
    let place = before.map(|line| format!("line {line}: ")).unwrap_or_default();
    let message = error.message();
    // The message is the list's only bearer: the unknown key and the known ones stand in it between backticks.
    let mut names = message
        .strip_prefix("unknown field ")
        .into_iter()
        .flat_map(|rest| rest.split('`').skip(1).step_by(2));
    let nearest = names.next().and_then(|key| {
        let likeness = |known: &str| strsim::normalized_damerau_levenshtein(key, known);
        names.filter(|known| likeness(known) >= LIKENESS).max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
    });
    let hint = nearest.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default();
    format!("{place}{message}{hint}")
}

fn data_dir(named: Option<&Path>) -> Result<PathBuf, Error> {
    let usual = || ProjectDirs::from("", "", "hermes").map(|dirs| dirs.data_dir().to_owned());
    let missing =
        || Error::Usage("no home folder is known: say with --data-dir where to keep sessions".to_owned());
    let dir = named.map(Path::to_owned).or_else(usual).ok_or_else(missing)?;
    std::fs::create_dir_all(&dir).map_err(|e| Error::folder(&dir, &e))?;
    Ok(dir)
}

/// A variable that is set to something.
#[expect(clippy::disallowed_methods, reason = "settings are what the environment is read for")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The machine's time zone by its IANA name; UTC where it has none.
pub(crate) fn time_zone() -> String {
    jiff::tz::TimeZone::system().iana_name().unwrap_or("UTC").to_owned()
}
