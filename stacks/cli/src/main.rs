//! The command `windlass-stacks`.

use clap::Parser;
use std::process::ExitCode;
use windlass_stacks::Args;

fn main() -> ExitCode {
    match windlass_stacks::main(&Args::parse()) {
        Ok(status) => status,
        Err(message) => {
            eprintln!("windlass-stacks: {message}");
            // As `windlass` has it for bad arguments; 1 is for verdicts.
            ExitCode::from(2)
        }
    }
}
