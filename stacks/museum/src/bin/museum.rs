//! The museum with the mended versions.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_stacks_museum::main(include_str!("../../../Cargo.lock"))
}
