//! How a command ends when it does not succeed.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// The exit codes, for the help texts.
pub(crate) const EXIT_CODES: &str = "\
Exit status: 0 success; 1 failure while working (a disk that is full, say); 2 bad input: arguments, \
scenario files, an output directory that exists or cannot be written; 130 interrupted.";

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the user gave is wrong; told before any work is done.
    Input(String),
    /// Something failed in the middle of the work.
    Work(String),
    /// Whoever read the output has enough of it.
    ReaderGone,
}

impl Failure {
    /// An I/O error, with what was being done.
    pub(crate) fn io(doing: impl Display, error: &io::Error) -> Failure {
        Failure::Work(format!("{doing}: {error}"))
    }

    /// Tells the user and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Failure::Input(message) => {
                eprintln!("{message}");
                ExitCode::from(2)
            }
            Failure::Work(message) => {
                eprintln!("windlass: {message}");
                ExitCode::from(1)
            }
            Failure::ReaderGone => ExitCode::SUCCESS,
        }
    }
}
