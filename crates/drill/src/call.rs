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
    Bind {
        /// The socket.
        fd: Fd,
    },
    /// `listen` on a socket that is bound.
    Listen {
        /// The socket.
        fd: Fd,
        /// How many connections may wait for `accept`.
        backlog: i32,
    },
    /// `accept` and `accept4`.
    Accept {
        /// The listener.
        fd: Fd,
        /// SOCK_NONBLOCK was given for the new socket.
        nonblocking: bool,
    },
    /// `connect` to the other end's address and port.
    Connect {
        /// The socket.
        fd: Fd,
    },
    /// `connect` to AF_UNSPEC: the socket is as new.
    Disconnect {
        /// The socket.
        fd: Fd,
    },
    /// `read`, `recv` and `recvfrom` (flags 0 for `read`).
    Receive {
        /// The socket.
        fd: Fd,
        /// The size of the buffer in bytes.
        len: usize,
        /// MSG_DONTWAIT and the like.
        flags: i32,
    },
    /// `recvmsg` and `readv`.
    ReceiveMessage {
        /// The socket.
        fd: Fd,
        /// The sizes of its buffers in bytes.
        lens: Vec<usize>,
        /// Whether it has room for control messages.
        control: bool,
        /// MSG_DONTWAIT and the like.
        flags: i32,
    },
    /// `write`, `send` and `sendto` (flags 0 for `write`). With MSG_FASTOPEN it connects to the other end.
    Send {
        /// The socket.
        fd: Fd,
        /// How many bytes, all of them zeros.
        len: usize,
        /// MSG_DONTWAIT and the like.
        flags: i32,
    },
    /// `writev` and `sendmsg`.
    SendMessage {
        /// The socket.
        fd: Fd,
        /// The sizes of its buffers in bytes, all of them zeros.
        lens: Vec<usize>,
        /// Its control messages.
        control: Vec<Control>,
        /// MSG_DONTWAIT and the like.
        flags: i32,
    },
    /// A [`Send`](Call::Send) or [`Receive`](Call::Receive) whose buffer is a null pointer: EFAULT, if it comes to that.
    NullBuffer {
        /// The socket.
        fd: Fd,
        /// It sends; otherwise it receives.
        sends: bool,
        /// The size that it gives for the buffer, in bytes.
        len: usize,
        /// MSG_DONTWAIT and the like.
        flags: i32,
    },
    /// `shutdown` of one direction or both.
    Shutdown {
        /// The socket.
        fd: Fd,
        /// SHUT_RD, SHUT_WR or SHUT_RDWR.
        how: i32,
    },
    /// `close` of a descriptor.
    Close {
        /// A socket or an epoll instance.
        fd: Fd,
    },
    /// `setsockopt` with a value.
    SetOption {
        /// The socket.
        fd: Fd,
        /// SOL_SOCKET, SOL_TCP and the like.
        level: i32,
        /// The option.
        name: i32,
        /// The bytes of its value.
        value: Vec<u8>,
    },
    /// `getsockopt` for a value.
    GetOption {
        /// The socket.
        fd: Fd,
        /// SOL_SOCKET, SOL_TCP and the like.
        level: i32,
        /// The option.
        name: i32,
        /// The room for its value, in bytes.
        len: usize,
    },
    /// `poll` of several sockets.
    Poll {
        /// Descriptors with the events asked for.
        fds: Vec<(Fd, i16)>,
        /// How long it may block, in milliseconds; negative for ever.
        timeout_ms: i32,
    },
    /// `fcntl` with a command.
    Fcntl {
        /// The socket.
        fd: Fd,
        /// F_GETFL and the like.
        command: i32,
        /// Its argument, 0 without one.
        argument: i64,
    },
    /// `ioctl` that reads a number, as SIOCINQ does.
    Ioctl {
        /// The socket.
        fd: Fd,
        /// SIOCINQ and the like.
        request: u64,
    },
    /// `sendfile` of a file of zeros.
    SendFile {
        /// The socket.
        fd: Fd,
        /// How many bytes, all of them zeros.
        len: usize,
    },
    /// `epoll_create`, which opens an instance.
    EpollCreate,
    /// `epoll_ctl`, which adds, changes or removes a socket.
    EpollControl {
        /// The epoll instance.
        epoll: Fd,
        /// EPOLL_CTL_ADD and the like.
        operation: i32,
        /// The socket.
        fd: Fd,
        /// EPOLLIN and the like.
        events: u32,
    },
    /// `epoll_wait` for the sockets of an instance.
    EpollWait {
        /// The epoll instance.
        epoll: Fd,
        /// The most events that it returns.
        most: usize,
        /// How long it may block, in milliseconds; negative for ever.
        timeout_ms: i32,
    },
}

/// A control message (`cmsg`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// Its level, `cmsg_level`.
    pub level: i32,
    /// Its type, `cmsg_type`.
    pub kind: i32,
    /// Its bytes, `cmsg_data`.
    pub data: Vec<u8>,
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Return {
    /// The value, or Linux's number of the error.
    pub value: Result<i64, i32>,
    /// The values that the call wrote into the program's memory.
    pub outcome: Outcome,
}

/// The values that a call writes into the memory of its program.
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
    Message {
        /// The flags, `msg_flags`.
        flags: i32,
        /// The control messages.
        control: Vec<Control>,
    },
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
