//! The `windlass` command. A thin layer: it parses arguments, calls the libraries and prints.

mod args;
#[cfg_attr(not(all(feature = "kernel-cc", target_os = "linux")), path = "cc_absent.rs")]
mod cc;
mod doctor;
mod failure;
mod interrupt;
mod output_dir;
mod parallel;
mod print;
mod reference;
mod sim;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = doctor::child().unwrap_or_else(|| run(Cli::parse().command));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Sim(args) => sim::main(args),
        Command::Cc(command) => cc::main(command),
        Command::Doctor(args) => doctor::main(&args),
        Command::Completions { shell } => reference::completions(shell),
        Command::Man { command } => reference::man(&command),
    }
}
