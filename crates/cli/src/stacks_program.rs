//! The program `windlass-stacks`, which has other people's stacks: a workspace of its own builds it.

use crate::failure::Failure;
use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const NAME: &str = "windlass-stacks";
/// Where a checkout has it, from its root.
const BUILT: [&str; 2] =
    ["stacks/target/release/windlass-stacks", "stacks/target/debug/windlass-stacks"];

/// Runs it with these arguments; returns its exit status. `about` begins the messages.
pub(crate) fn run(about: &str, words: &[OsString]) -> Result<ExitCode, Failure> {
    let mut command = Command::new(find().unwrap_or_else(|| NAME.into()));
    let status = command.args(words).status().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::Input(format!(
            "{about}: {NAME} is not installed. In a checkout of Windlass: (cd stacks && cargo build --release)"
        )),
        _ => Failure::io(format!("{about}: {NAME}"), &error),
    })?;
    match status.code() {
        Some(code @ (0..=2 | 130)) => Ok(ExitCode::from(code as u8)),
        _ => Err(Failure::Work(format!("{about}: {NAME} failed"))),
    }
}

/// Beside this program, or in the checkout in which the user is or from which this program was built. `None`: PATH
/// decides.
fn find() -> Option<PathBuf> {
    let program = env::current_exe().ok();
    let beside = program.as_deref().map(|program| program.with_file_name(NAME));
    let places = [env::current_dir().ok(), program];
    let folders = places.iter().flatten().flat_map(|place| place.ancestors());
    let built = folders.flat_map(|folder| BUILT.map(|built| folder.join(built)));
    beside.into_iter().chain(built).find(|path| path.is_file())
}
