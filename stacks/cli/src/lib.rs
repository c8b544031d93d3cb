//! The command `windlass-stacks`: transports of other projects in Windlass's simulator, under its judge and its drill.

mod args;
mod bed;
mod compare;
mod contender;
mod drill;
mod judge;
mod matrix;
mod registry;
mod run;
mod table;
mod watch;

pub use args::Args;
pub use registry::registry;

use args::Command;
use std::process::ExitCode;

/// Runs the command; returns its exit status.
///
/// # Errors
///
/// A sentence for the user: a file that cannot be read, or a stack that there is not.
pub fn main(args: &Args) -> Result<ExitCode, String> {
    match &args.command {
        Command::Run(args) => run::main(args).map(|()| ExitCode::SUCCESS),
        Command::Matrix(args) => matrix::main(args).map(|()| ExitCode::SUCCESS),
        Command::Judge(args) => judge::main(args),
        Command::Drill(args) => drill::main(args),
        Command::Compare(args) => compare::main(args).map(|()| ExitCode::SUCCESS),
    }
}

/// The program of docs/guide/stacks.md, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/stacks.md")]
struct Guide;
