//! The `windlass` command. A thin layer: it parses arguments, calls the libraries and prints.

mod args;
mod failure;
mod interrupt;
mod output_dir;
mod parallel;
mod print;
mod reference;
mod sim;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Sim(args) => sim::main(args),
        Command::Completions { shell } => reference::completions(shell),
        Command::Man { command } => reference::man(&command),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
