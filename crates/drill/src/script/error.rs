//! Errors of a script, with their place in it.

use std::fmt;

/// A place in a script. Lines and columns count from 1, columns in characters.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A mistake in a script, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The place.
    pub position: Position,
    /// The mistake, and the text that was expected.
    pub message: String,
}

impl Error {
    pub(crate) fn new(position: Position, message: impl Into<String>) -> Error {
        Error { position, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)
    }
}

impl std::error::Error for Error {}
