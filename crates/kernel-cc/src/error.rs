//! The errors of loading, inspecting and unloading.

use crate::{Name, paths};
use std::path::PathBuf;
use std::{error, fmt, io};
use windlass_bpf::Error as Refusal;

/// Why New-ECN cannot be loaded, inspected or unloaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A factor is out of its range.
    BadParameter(String),
    /// The kernel has a controller of that name already.
    NameTaken {
        /// The name.
        name: Name,
        /// Whether Windlass has loaded that controller.
        by_windlass: bool,
    },
    /// Windlass has loaded no controller of that name.
    NotLoaded(Name),
    /// The controller is the default of this network namespace.
    IsDefault(Name),
    /// The mount namespace is private: pins in it would vanish with it.
    PrivateMounts,
    /// The kernel does not accept tracing programs.
    NoTracing,
    /// The kernel refused for another reason, or this user lacks a permission.
    Kernel(Refusal),
    /// The kernel gave an answer that this version of Windlass does not understand.
    Unreadable(String),
}

impl Error {
    /// Converts the kernel's error in the step `doing`, and adds libbpf's log.
    pub(crate) fn kernel(doing: &'static str, source: libbpf_rs::Error) -> Error {
        Error::Kernel(Refusal::kernel(doing, source))
    }

    /// An I/O error at `path`.
    pub(crate) fn io(path: impl Into<PathBuf>, error: io::Error) -> Error {
        Error::Kernel(Refusal::io(path, error))
    }
}

/// Converts the kernel's error in a step.
pub(crate) fn doing(what: &'static str) -> impl Fn(libbpf_rs::Error) -> Error {
    move |error| Error::kernel(what, error)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::BadParameter(message) => f.write_str(message),
            Error::NameTaken { name, by_windlass: true } => {
                write!(f, "{name} is loaded already (see windlass cc status; unload it first)")
            }
            Error::NameTaken { name, by_windlass: false } => write!(
                f,
                "the kernel has a controller {name} that is not Windlass's (--name gives another)"
            ),
            Error::NotLoaded(name) => {
                write!(f, "Windlass has loaded no controller {name} (nothing at {})", paths::PINS)
            }
            Error::IsDefault(name) => write!(
                f,
                "{name} is the default of this network namespace, and new connections would go on \
                 with it: first set another, as by sysctl net.ipv4.tcp_congestion_control=cubic"
            ),
            Error::PrivateMounts => write!(
                f,
                "{} is not mounted in this mount namespace, which goes when the command ends (ip \
                 netns exec makes one for each): run windlass cc outside, controllers are the same \
                 in all network namespaces",
                paths::MOUNT_POINT
            ),
            Error::Kernel(Refusal::NotPermitted(what)) => {
                write!(f, "not permitted: run as root, or with CAP_BPF and CAP_PERFMON ({what})")
            }
            Error::NoTracing => f.write_str(
                "the kernel refuses tracing programs, and one of them lists the connections: the kernel is \
                 locked down (/sys/kernel/security/lockdown), lacks CONFIG_BPF_EVENTS, or has a security \
                 module that refuses them",
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
