//! Errors of a test.

use std::fmt;
use std::io;

/// Why a test failed, as a line of text for a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// An error with this text.
    pub fn new(reason: impl Into<String>) -> Error {
        Error(reason.into())
    }

    /// An I/O error of `subject`.
    pub(crate) fn io(subject: impl fmt::Display, error: &io::Error) -> Error {
        Error(format!("{subject}: {error}"))
    }

    /// The peer has sent `found` where the protocol has another message.
    pub(crate) fn unexpected(found: &str) -> Error {
        Error(format!("the other end does not keep to the protocol: {found} came too soon"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
