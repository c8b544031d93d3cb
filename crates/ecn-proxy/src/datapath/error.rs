//! The errors of [`Datapath`](super::Datapath).

use std::path::PathBuf;
use std::{error, fmt, io};

/// Why the packet path could not be set up, changed or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A setting out of its range.
    BadSetting(String),
    /// No interface of that name in this network namespace.
    NoInterface(String),
    /// The proxy is attached to that interface already, facing the other side.
    OtherSide(String),
    /// The proxy is not attached to that interface.
    NotAttached(String),
    /// Another proxy's programs are attached to that interface.
    OtherProxy(String),
    /// The kernel lacks a feature. The text is the whole message.
    Kernel(String),
    /// This user lacks a permission. The text is the step or the file, and the error.
    NotPermitted(String),
    /// A file could not be read or written.
    Io(PathBuf, io::Error),
    /// The kernel refused for another reason.
    Refused {
        /// The operation, such as "loading the programs".
        doing: &'static str,
        /// The kernel's error, as libbpf returned it.
        source: libbpf_rs::Error,
        /// The last lines of libbpf's warnings, the verifier's log among them. All lines are logged at
        /// debug level.
        log: String,
    },
    /// The kernel returned data that this version of Windlass does not understand.
    Unreadable(String),
}

impl Error {
    /// Converts the kernel's error in the step `doing`, and adds libbpf's log.
    pub(super) fn kernel(doing: &'static str, source: libbpf_rs::Error) -> Error {
        windlass_bpf::Error::kernel(doing, source).into()
    }

    pub(super) fn io(path: impl Into<PathBuf>, error: io::Error) -> Error {
        let path = path.into();
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                Error::NotPermitted(format!("{}: {error}", path.display()))
            }
            _ => Error::Io(path, error),
        }
    }
}

impl From<windlass_bpf::Error> for Error {
    fn from(error: windlass_bpf::Error) -> Error {
        match error {
            windlass_bpf::Error::NotPermitted(what) => Error::NotPermitted(what),
            windlass_bpf::Error::Refused { doing, source, log: whole } => {
                let log = windlass_bpf::log::last_lines(&whole);
                if log.len() < whole.len() {
                    tracing::debug!("{doing}: {whole}");
                }
                Error::Refused { doing, source, log }
            }
            unsupported => Error::Kernel(unsupported.to_string()),
        }
    }
}

pub(super) fn doing(what: &'static str) -> impl Fn(libbpf_rs::Error) -> Error {
    move |error| Error::kernel(what, error)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::BadSetting(message) | Error::Kernel(message) => f.write_str(message),
            Error::NoInterface(name) => write!(f, "no interface {name} in this network namespace"),
            Error::OtherSide(name) => {
                write!(f, "the proxy stands at {name} already, facing the other side")
            }
            Error::NotAttached(name) => write!(f, "the proxy does not stand at {name}"),
            Error::OtherProxy(name) => write!(
                f,
                "another ECN proxy serves {name}: stop it, or start with the --pin of the one that \
                 left its programs; removing its folder below /sys/fs/bpf detaches them"
            ),
            Error::NotPermitted(what) => write!(
                f,
                "not permitted: run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON ({what})"
            ),
            Error::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Error::Refused { doing, source, log } => {
                write!(f, "{doing}: {source:#}")?;
                if log.is_empty() { Ok(()) } else { write!(f, "\n{}", log.trim_end()) }
            }
            Error::Unreadable(what) => {
                write!(f, "cannot read the kernel's answer: {what}")
            }
        }
    }
}

// Without `source`: `Display` prints the error behind this one already.
impl error::Error for Error {}
