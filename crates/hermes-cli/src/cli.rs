//! The command line: flags as data.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use hermes::core::Seq;

use crate::demo::Words;

/// An agent with sessions, tools, MCP and memory.
///
/// Try `hermes demo` first. Colours go with NO_COLOR; HERMES_LOG=debug tells on standard error what goes on inside.
#[derive(Debug, Parser)]
#[command(name = "hermes", version, about, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Book a restaurant with all four capabilities at work: needs no network, no key and no model.
    Demo(DemoArgs),
    /// Talk to a model, with tools, MCP servers and memory.
    ///
    /// Without a service in the flags, the variables OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL or the settings
    /// file, a local server is looked for on the usual ports. Ctrl-C stops an answer, once more ends the program.
    Chat(ChatArgs),
    /// Look after what is stored: list, show, search, fork, export, import, rename, delete and explain sessions.
    Sessions(SessionsArgs),
    /// The demo's MCP server; the demo starts it itself.
    #[command(hide = true)]
    DemoBooking(BookingArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Print events as JSON Lines instead of a story.
    #[arg(long)]
    pub(crate) json: bool,
    /// The language that user and assistant speak.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) language: Words,
    /// Keep the database, the memories and the book of reservations in this folder, which must not hold an earlier demo.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BookingArgs {
    /// The file that reservations are written to.
    #[arg(long)]
    pub(crate) book: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// What to say; without it, lines are read from standard input.
    pub(crate) message: Vec<String>,
    /// The address of an OpenAI-compatible service, such as http://127.0.0.1:8080/v1.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The model's name; the service's first one where it is left out.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The key for the service. Prefer the variable OPENAI_API_KEY: other users of the machine can see arguments.
    #[arg(long, value_name = "KEY")]
    pub(crate) api_key: Option<String>,
    /// Go on with this session: its id or the beginning of one, or `new`. The last one is the default.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// A file with MCP servers, in the `mcpServers` form that other clients use; the default is mcp.json in the data
    /// folder, where there is one.
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp: Option<PathBuf>,
    /// The settings file; the default is config.toml in the data folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where sessions and memories are kept; the default is the system's folder for data.
    #[arg(long, value_name = "DIR", env = "HERMES_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Print events as JSON Lines.
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not remember anything from what is said.
    #[arg(long)]
    pub(crate) no_memory: bool,
    /// The most tokens of an answer.
    #[arg(long, value_name = "N")]
    pub(crate) max_output: Option<u32>,
    /// Randomness of the answers: 0 is the least.
    #[arg(long, value_name = "X")]
    pub(crate) temperature: Option<f32>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
    /// The store, such as sqlite://hermes.db or postgres://host/database; the default is the chat's own.
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) store: Option<String>,
    /// The settings file, for tenant and user; the default is config.toml in the data folder.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Where the chat keeps its sessions.
    #[arg(long, value_name = "DIR", env = "HERMES_DATA_DIR", global = true)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Print JSON Lines.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// A session is named by its id or the beginning of it.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions, last changed first.
    List {
        /// The most that are listed; all where it is left out.
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Show the whole log of a session, whatever was trimmed from contexts.
    Show {
        /// The session.
        session: String,
        /// The first message.
        #[arg(long, value_name = "SEQ")]
        from: Option<Seq>,
        /// The most messages that are shown.
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Find messages that hold all of some words, in English or Chinese, newest first.
    Search {
        /// The words.
        #[arg(required = true)]
        text: Vec<String>,
        /// Only in this session.
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// The most messages that are listed.
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Begin another session with the messages of one.
    Fork {
        /// The session.
        session: String,
        /// The last message that both have; all where it is left out.
        #[arg(long, value_name = "SEQ")]
        at: Option<Seq>,
        /// The new session's title; the same where it is left out.
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
    },
    /// Write a session as JSON Lines.
    Export {
        /// The session.
        session: String,
        /// The file; standard output where it is left out.
        file: Option<PathBuf>,
    },
    /// Read a session from JSON Lines.
    Import {
        /// The file.
        file: PathBuf,
        /// Give it a new id, beside the session that it was exported from.
        #[arg(long)]
        copy: bool,
    },
    /// Change the title of a session.
    Rename {
        /// The session.
        session: String,
        /// The title.
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Delete a session with everything that hangs on it. A session that a worker drives is left alone.
    Delete {
        /// The session.
        session: String,
    },
    /// Tell what would be sent to a model for a session, and why.
    Explain {
        /// The session.
        session: String,
        /// The most tokens of the context.
        #[arg(long, value_name = "TOKENS", default_value_t = 8_000)]
        budget: u32,
    },
}
