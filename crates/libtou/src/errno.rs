//! Errors of Rust as errno, which `abi` sets.

use libc::c_int;
use std::io::{self, ErrorKind};

/// An errno value, never 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

pub(crate) type Result<T> = std::result::Result<T, Errno>;

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Errno {
        Errno(error.raw_os_error().unwrap_or_else(|| of_kind(error.kind())))
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Errno {
        Errno(error.raw_os_error())
    }
}

/// The errno of an error that does not come from a system call.
fn of_kind(kind: ErrorKind) -> c_int {
    match kind {
        ErrorKind::AddrInUse => libc::EADDRINUSE,
        ErrorKind::BrokenPipe => libc::EPIPE,
        ErrorKind::ConnectionAborted => libc::ECONNABORTED,
        ErrorKind::ConnectionRefused => libc::ECONNREFUSED,
        ErrorKind::ConnectionReset => libc::ECONNRESET,
        ErrorKind::HostUnreachable => libc::EHOSTUNREACH,
        ErrorKind::InvalidInput => libc::EINVAL,
        ErrorKind::NotConnected => libc::ENOTCONN,
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::PermissionDenied => libc::EACCES,
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => libc::EPROTO,
        ErrorKind::OutOfMemory | ErrorKind::QuotaExceeded => libc::ENOBUFS,
        ErrorKind::TimedOut => libc::ETIMEDOUT,
        ErrorKind::WouldBlock => libc::EAGAIN,
        _ => libc::EIO,
    }
}
