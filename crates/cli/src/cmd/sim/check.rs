//! `windlass sim check`.

use super::args::Check;
use super::load;
use crate::failure::Failure;
use crate::stdout;

/// Prints the good files to standard output and what is wrong with the others to standard error.
pub(super) fn main(args: &Check) -> Result<(), Failure> {
    let mut problems = Vec::new();
    for path in &args.files {
        match load::file(path, &args.set) {
            Ok(_) => stdout::line(&format!("{}: ok", path.display()))?,
            Err(message) => problems.push(message),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Input(problems.join("\n"))) }
}
