//! The system calls of a script, with their arguments evaluated, and what a subject returns.

use std::time::Duration;

/// A file descriptor as the subject numbers it. The runner maps the numbers of the script to these.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fd(pub i32);

/// A call. Constants have their values on Linux, so that a kernel takes them as they are; another subject compares
/// them with those of `libc`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// `socket` for TCP; the address family is the script's.
    Socket {
        /// SOCK_NONBLOCK was given.
        nonblocking: bool,
    },
    /// `bind` to the subject's address and port.
    Bind { fd: Fd },
    /// `listen`.
    Listen { fd: Fd, backlog: i32 },
    /// `accept` and `accept4`.
    Accept { fd: Fd, nonblocking: bool },
    /// `connect` to the other end's address and port.
    Connect { fd: Fd },
    /// `read`, `recv` and `recvfrom` (flags 0 for `read`).
    Receive { fd: Fd, len: usize, flags: i32 },
    /// `recvmsg`: the sizes of its buffers, whether it takes control messages.
    ReceiveMessage { fd: Fd, lens: Vec<usize>, control: bool, flags: i32 },
    /// `write`, `send` and `sendto` (flags 0 for `write`).
    Send { fd: Fd, len: usize, flags: i32 },
    /// `writev` and `sendmsg`, with its control messages.
    SendMessage { fd: Fd, lens: Vec<usize>, control: Vec<Control>, flags: i32 },
    /// `shutdown` with SHUT_RD, SHUT_WR or SHUT_RDWR.
    Shutdown { fd: Fd, how: i32 },
    /// `close`.
    Close { fd: Fd },
    /// `setsockopt` with the bytes of its value.
    SetOption { fd: Fd, level: i32, name: i32, value: Vec<u8> },
    /// `getsockopt` with room for `len` bytes.
    GetOption { fd: Fd, level: i32, name: i32, len: usize },
    /// `poll`: descriptors with the events asked for.
    Poll { fds: Vec<(Fd, i16)>, timeout_ms: i32 },
    /// `fcntl`.
    Fcntl { fd: Fd, command: i32, argument: i64 },
    /// `ioctl` that reads a number, as SIOCINQ does.
    Ioctl { fd: Fd, request: u64 },
    /// `sendfile` of `len` zeros.
    SendFile { fd: Fd, len: usize },
    /// `epoll_create`.
    EpollCreate,
    /// `epoll_ctl`.
    EpollControl { epoll: Fd, operation: i32, fd: Fd, events: u32 },
    /// `epoll_wait`.
    EpollWait { epoll: Fd, most: usize, timeout_ms: i32 },
}

/// A control message (`cmsg`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// `cmsg_level`.
    pub level: i32,
    /// `cmsg_type`.
    pub kind: i32,
    /// `cmsg_data`.
    pub data: Vec<u8>,
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Return {
    /// The value, or Linux's number of the error.
    pub value: Result<i64, i32>,
    /// What the call wrote into the program's memory.
    pub outcome: Outcome,
}

/// What a call writes into the memory of its program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing that a script can compare.
    #[default]
    None,
    /// The value of an option.
    Option(Vec<u8>),
    /// The number of an `ioctl`.
    Number(i64),
    /// `msg_flags` and the control messages of `recvmsg`.
    Message { flags: i32, control: Vec<Control> },
    /// The events of `poll`, in the order asked for.
    Polled(Vec<i16>),
    /// The events of `epoll_wait`.
    Events(Vec<(u32, Fd)>),
}

impl Return {
    /// A call that succeeded with this value.
    pub fn value(value: i64) -> Return {
        Return { value: Ok(value), outcome: Outcome::None }
    }

    /// A call that failed with this number of Linux's.
    pub fn error(errno: i32) -> Return {
        Return { value: Err(errno), outcome: Outcome::None }
    }
}

/// How long a call may block where the script gives no end.
pub const BLOCKED_AT_MOST: Duration = Duration::from_secs(3);
