//! How a command ends when it does not succeed.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use windlass_base::printable_lines;

/// The exit codes, for the help texts.
pub(crate) const EXIT_CODES: &str = "\
Exit status: 0 success; 1 failure while working (a disk that is full, say); 2 bad input: arguments, \
scenario files, an output directory that exists or cannot be written; 130 interrupted.

A bare number is seconds where a time is expected, bits per second where a rate is, bytes where a size \
is. In files every quantity has its unit.";

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user's input is wrong. Reported before any work is done; a line for each problem.
    Input(String),
    /// Something failed in the middle of the work.
    Work(String),
    /// The reader of standard output has closed it.
    ReaderGone,
}

impl Failure {
    /// An I/O error, with what was being done.
    pub(crate) fn io(doing: impl Display, error: &io::Error) -> Failure {
        Failure::Work(format!("{doing}: {error}"))
    }

    /// The reason of the failure, in words.
    #[cfg(feature = "live")]
    pub(crate) fn message(&self) -> &str {
        match self {
            Failure::Input(message) | Failure::Work(message) => message,
            Failure::ReaderGone => "standard output is closed",
        }
    }

    /// Prints the failure to standard error and returns the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Failure::Input(message) => {
                message.lines().for_each(error);
                ExitCode::from(2)
            }
            Failure::Work(message) => {
                error(message);
                ExitCode::from(1)
            }
            Failure::ReaderGone => ExitCode::SUCCESS,
        }
    }
}

/// Prints an error to standard error, with the prefix that all errors have. A line that is
/// indented continues the one before it.
pub(crate) fn error(message: impl AsRef<str>) {
    let message = plain(message.as_ref());
    let message = printable_lines(&message).to_string();
    let prefix = if message.starts_with(char::is_whitespace) { "" } else { "error: " };
    // The terminal may be gone, and the process still ends in order.
    let _ = writeln!(io::stderr(), "{prefix}{message}");
}

/// A message without the numbers that `std::io::Error` adds, such as `(os error 2)`.
pub(crate) fn plain(message: &str) -> String {
    const MARK: &str = " (os error ";
    let mut parts = message.split(MARK);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                text += rest;
            }
            _ => text += &format!("{MARK}{part}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_system_errors_are_left_out_and_other_brackets_stay() {
        assert_eq!(
            plain("x: No such file or directory (os error 2)"),
            "x: No such file or directory"
        );
        assert_eq!(plain("a (os error 13) (see b) (os error 1)"), "a (see b)");
        assert_eq!(plain("a (os error x) (os error 2"), "a (os error x) (os error 2");
    }
}
