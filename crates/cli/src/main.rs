//! The `windlass` command. A thin layer: it parses arguments, calls the libraries and prints.

mod args;
mod failure;
mod interrupt;
mod link;
mod output_dir;
mod parallel;
mod print;
mod reference;
mod sim;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = windlass_link::linux::guard_main() {
        return code;
    }
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Sim(args) => sim::main(args).map(|()| ExitCode::SUCCESS),
        Command::Link(args) => link::main(*args),
        Command::Completions { shell } => reference::completions(shell).map(|()| ExitCode::SUCCESS),
        Command::Man { command } => reference::man(&command).map(|()| ExitCode::SUCCESS),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
