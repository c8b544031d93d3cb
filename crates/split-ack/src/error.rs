//! The errors of splitting ACKs. `windlass split-ack` prints them as they are.

use std::path::PathBuf;
use std::{error, fmt, io};

/// Why ACKs cannot be split.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// These capabilities are missing.
    Capabilities(Vec<&'static str>),
    /// No cgroup can be made, entered or left there.
    Cgroup(PathBuf, io::Error),
    /// No interface of that name in this network namespace.
    NoInterface(String),
    /// No interface of this network namespace is up.
    NoneUp,
    /// The kernel refused to load or attach the programs.
    Kernel(windlass_bpf::Error),
    /// The step that failed, as a phrase for the message, and its error.
    Io(&'static str, io::Error),
}

impl From<windlass_bpf::Error> for Error {
    fn from(error: windlass_bpf::Error) -> Error {
        Error::Kernel(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Capabilities(missing) => write!(
                f,
                "not permitted: lacks {}; run it as root, or sudo setcap \
                 cap_bpf,cap_net_admin+ep $(command -v windlass)",
                missing.join(" and ")
            ),
            Error::Cgroup(path, error) if error.kind() == io::ErrorKind::PermissionDenied => {
                write!(
                    f,
                    "not permitted: no cgroup can be made in {}; run it as root, or in a cgroup of \
                     your own (systemd-run --user --scope -p Delegate=yes windlass split-ack ...)",
                    path.display()
                )
            }
            Error::Cgroup(path, error) => write!(f, "cgroup {}: {error}", path.display()),
            Error::NoInterface(name) => write!(f, "no interface {name} in this network namespace"),
            Error::NoneUp => f.write_str("no interface of this network namespace is up"),
            Error::Kernel(error) => error.fmt(f),
            Error::Io(doing, error) => write!(f, "{doing}: {error}"),
        }
    }
}

// Without `source`: `Display` prints the error behind this one already.
impl error::Error for Error {}
