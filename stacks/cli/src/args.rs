//! The arguments of the command.

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Transports of other projects in Windlass's simulator.
#[derive(Debug, Parser)]
#[command(name = "windlass-stacks")]
pub struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario file whose endpoints may be any of these transports.
    Run(Run),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The scenario, in TOML.
    pub(crate) file: PathBuf,
    /// Change a key of it, as in `endpoints.0.stack="noq"`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The seed, in place of the scenario's.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the whole summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
