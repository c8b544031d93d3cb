//! The errors of [`Datapath`](super::Datapath).

use std::path::PathBuf;
use std::{error, fmt, io};
use windlass_bpf::Error as Refusal;

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
    /// The kernel refused: it lacks a feature, this user a permission, or the verifier found a fault.
    Kernel(Refusal),
    /// The kernel returned data that this version of Windlass does not understand.
    Unreadable(String),
}

impl Error {
    /// Converts the kernel's error in the step `doing`, and adds libbpf's log.
    pub(super) fn kernel(doing: &'static str, source: libbpf_rs::Error) -> Error {
        Refusal::kernel(doing, source).into()
    }

    /// An I/O error at `path`.
    pub(crate) fn io(path: impl Into<PathBuf>, error: io::Error) -> Error {
        Refusal::io(path, error).into()
    }
}

impl From<Refusal> for Error {
    fn from(error: Refusal) -> Error {
        // The message has the last lines of the log only.
        if let Refusal::Refused { doing, log, .. } = &error
            && windlass_bpf::log::last_lines(log).len() < log.len()
        {
            tracing::debug!("{doing}: {log}");
        }
        Error::Kernel(error)
    }
}

pub(super) fn doing(what: &'static str) -> impl Fn(libbpf_rs::Error) -> Error {
    move |error| Error::kernel(what, error)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::BadSetting(message) => f.write_str(message),
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
            Error::Kernel(Refusal::NotPermitted(what)) => write!(
                f,
                "not permitted: run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON ({what})"
            ),
            Error::Kernel(refusal) => refusal.fmt(f),
            Error::Unreadable(what) => {
                write!(f, "cannot read the kernel's answer: {what}")
            }
        }
    }
}

// Without `source`: `Display` prints the error behind this one already.
impl error::Error for Error {}
