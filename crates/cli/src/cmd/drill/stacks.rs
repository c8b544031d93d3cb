//! Subjects of other projects, which a program of its own has.

use super::args::Drill;
use crate::failure::Failure;
use std::env;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The program. It takes the arguments of `windlass drill`.
const PROGRAM: &str = "windlass-stacks";

/// Runs the scripts on a subject of that program; returns its exit status.
pub(super) fn run(args: &Drill, subject: &str) -> Result<ExitCode, Failure> {
    let mut program = Command::new(beside().unwrap_or_else(|| PROGRAM.into()));
    program.args(["drill", "--subject", subject]);
    program.args(args.jobs.map(|jobs| format!("--jobs={jobs}"))).args(args.repeated());
    let status = program.status().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::Input(format!(
            "--subject {subject}: expected engine; the TCPs of other projects are in the program {PROGRAM}, which the \
             folder stacks of a checkout builds"
        )),
        _ => Failure::io(PROGRAM, &error),
    })?;
    match status.code() {
        Some(code @ (0..=2 | 130)) => Ok(ExitCode::from(code as u8)),
        _ => Err(Failure::Work(format!("{PROGRAM} failed"))),
    }
}

/// The program beside this one.
fn beside() -> Option<PathBuf> {
    let program =
        env::current_exe().ok()?.with_file_name(PROGRAM).with_extension(env::consts::EXE_EXTENSION);
    program.is_file().then_some(program)
}
