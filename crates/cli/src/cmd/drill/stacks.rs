//! Subjects of other projects, which a program of its own has.

use super::args::Drill;
use crate::failure::Failure;
use crate::stacks_program;
use std::process::ExitCode;

/// Runs the scripts on a subject of that program, which takes the arguments of `windlass drill`; returns its exit
/// status.
pub(super) fn run(args: &Drill, subject: &str) -> Result<ExitCode, Failure> {
    let mut words = vec!["drill".into(), "--subject".into(), subject.into()];
    words.extend(args.jobs.map(|jobs| format!("--jobs={jobs}").into()));
    words.extend(args.repeated());
    let about = format!("--subject {subject}: expected engine, or a TCP of another project");
    stacks_program::run(&about, &words)
}
