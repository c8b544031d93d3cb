use std::path::PathBuf;
use std::{error, fmt, io};

/// Why the packet path could not be set up, changed or looked at.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A setting out of its range.
    BadSetting(String),
    /// No interface of that name in this network namespace.
    NoInterface(String),
    /// The proxy stands at that interface already, the other way round.
    OtherSide(String),
    /// The proxy does not stand at that interface.
    NotAttached(String),
    /// Another proxy's programs are attached to that interface.
    OtherProxy(String),
    /// The kernel lacks what is needed.
    Kernel(String),
    /// The kernel does not let this user.
    NotPermitted(String),
    /// A file could not be read or written.
    Io(PathBuf, io::Error),
    /// The kernel refused; with what libbpf has to say.
    Refused {
        /// The operation, such as "loading the programs".
        doing: &'static str,
        /// Its answer.
        source: libbpf_rs::Error,
        /// The warnings of libbpf, and of the verifier through it: the last lines. All of them are
        /// logged at debug level.
        log: String,
    },
    /// The kernel returned data that this version of Windlass does not understand.
    Unreadable(String),
}

impl Error {
    /// An answer of the kernel to `doing`, with the log gathered meanwhile.
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

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Error::Io(_, error) => Some(error),
            Error::Refused { source, .. } => Some(source),
            _ => None,
        }
    }
}
