#![doc = include_str!("../README.md")]

mod agent;
mod begin;
mod calls;
mod config;
mod erase;
mod error;
mod event;
mod fallback;
mod fill;
mod learn;
mod ledger;
mod limits;
mod line;
mod log;
mod offer;
mod run;
mod settle;
mod step;
mod suspend;
mod telemetry;
mod turn;
mod usage;

pub use agent::{Agent, AgentBuilder, UserInput};
pub use config::{AgentConfig, LoopLimits};
pub use error::{BuildError, Error};
pub use event::{AgentEvent, RecalledItem, StopReason};
pub use run::{Answer, Run};
pub use suspend::{Approval, PendingCall};
pub use usage::RequestTokens;
