//! The command `windlass-stacks`: transports of other projects in Windlass's simulator.

mod args;
mod registry;
mod run;

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
        Command::Run(run) => run::main(run),
    }
}
