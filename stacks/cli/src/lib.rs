//! The command `windlass-stacks`: transports of other projects in Windlass's simulator.

mod args;
mod bed;
mod compare;
mod contender;
mod matrix;
mod registry;
mod run;
mod table;
mod watch;

pub use args::Args;
pub use registry::registry;

use args::Command;

/// Runs the command.
///
/// # Errors
///
/// A sentence for the user: a scenario that cannot be read or run.
pub fn main(args: &Args) -> Result<(), String> {
    match &args.command {
        Command::Run(args) => run::main(args),
        Command::Matrix(args) => matrix::main(args),
        Command::Compare(args) => compare::main(args),
    }
}
