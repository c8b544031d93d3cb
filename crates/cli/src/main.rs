//! The `windlass` command.

use std::process::ExitCode;
use windlass_cli::Registry;

fn main() -> ExitCode {
    windlass_cli::main_with(Registry::default())
}
