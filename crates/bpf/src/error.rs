//! The refusals of the kernel that all tools with BPF programs report. Each tool has an error of its own, which
//! takes these in and says what its user can do.

use std::path::PathBuf;
use std::{error, fmt, io};

/// Why the kernel refused to load or attach a program.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The kernel lacks a feature ([`tc::Filter::attach`](crate::tc::Filter::attach)). The text is the
    /// whole message.
    Lacking(String),
    /// This user lacks a permission. The text is the step that failed, or the file, and the error.
    NotPermitted(String),
    /// A file of the BPF file system or of /proc could not be read or written.
    Io(PathBuf, io::Error),
    /// The kernel refused for another reason.
    Refused {
        /// The step that failed, as a phrase for the message: "attaching the programs".
        doing: &'static str,
        /// The kernel's error, as libbpf returned it.
        source: libbpf_rs::Error,
        /// The warnings of libbpf, the verifier's log among them. `Display` prints its last lines.
        log: String,
    },
}

impl Error {
    /// Converts the kernel's error in the step `doing`, and adds libbpf's log since
    /// [`crate::log::begin`].
    pub fn kernel(doing: &'static str, source: libbpf_rs::Error) -> Error {
        let log = crate::log::take();
        // The verifier returns EACCES too, but its log has the reason.
        let by_verifier = log.contains("PROG LOAD LOG");
        if source.kind() == libbpf_rs::ErrorKind::PermissionDenied && !by_verifier {
            return Error::NotPermitted(format!("{doing}: {source}"));
        }
        Error::Refused { doing, source, log }
    }

    /// An I/O error at `path`.
    pub fn io(path: impl Into<PathBuf>, error: io::Error) -> Error {
        let path = path.into();
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                Error::NotPermitted(format!("{}: {error}", path.display()))
            }
            _ => Error::Io(path, error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Lacking(what) => f.write_str(what),
            Error::NotPermitted(what) => write!(f, "not permitted ({what})"),
            Error::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Error::Refused { doing, source, log } => {
                write!(f, "{doing}: {source:#}")?;
                let log = crate::log::last_lines(log);
                if log.is_empty() { Ok(()) } else { write!(f, "\n{log}") }
            }
        }
    }
}

// Without `source`: `Display` prints the error behind this one already.
impl error::Error for Error {}
