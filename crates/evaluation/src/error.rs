//! The errors of an evaluation.

use std::fmt;

/// Why an evaluation cannot begin or go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A controller cannot be used: the message of the scenario that names it.
    Controller(String),
    /// A name that no criterion, or no setting and no path, has: the name, and the names there are.
    Unknown(String, Vec<String>),
    /// There is no subject, or there are no seeds.
    Nothing(&'static str),
    /// The crate's own data: where, and the problem.
    Data(String, String),
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Controller(problem) => f.write_str(problem),
            Error::Unknown(name, known) => {
                write!(f, "there is no {name:?}; there are {}", known.join(", "))
            }
            Error::Nothing(lacking) => write!(f, "an evaluation needs {lacking}"),
            Error::Data(place, problem) => write!(f, "{place}: {problem}"),
        }
    }
}
