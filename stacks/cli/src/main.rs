//! The command `windlass-stacks`.

use clap::Parser;
use std::process::ExitCode;
use windlass_stacks::Args;

fn main() -> ExitCode {
    match windlass_stacks::main(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("windlass-stacks: {message}");
            ExitCode::FAILURE
        }
    }
}
