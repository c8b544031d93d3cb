//! The commands that use sessions: `windlass tou key`, `expose`, `forward`, `pipe`, `socks`,
//! `run`, `status`.

pub(crate) mod args;
mod commands;
mod config;
mod log;
mod log_format;
mod names;
mod print;
#[cfg_attr(not(target_os = "linux"), path = "run_absent.rs")]
mod run;
mod setup;
pub(crate) mod target;
mod unanswered;

pub(crate) use commands::{expose, forward, key, pipe_to, socks};
pub(crate) use config::schema;
pub(crate) use print::status;
pub(crate) use run::run;
