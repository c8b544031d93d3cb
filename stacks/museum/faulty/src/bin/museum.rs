//! The museum with these versions.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_stacks_museum::main(windlass_stacks_museum_faulty::LOCK)
}
