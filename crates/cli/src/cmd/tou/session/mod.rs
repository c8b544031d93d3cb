//! The commands that use sessions: `windlass tou key`, `expose`, `forward`, `pipe`, `socks`, `status`.

pub(crate) mod args;
mod commands;
mod config;
mod log;
mod log_format;
mod print;
mod setup;
pub(crate) mod target;

pub(crate) use commands::{expose, forward, key, pipe_to, socks};
pub(crate) use print::status;
