//! Linux's numbers of errors, options and flags, which scripts and calls use (`include/uapi`, as x86 and ARM have
//! them).

/// Numbers of errors (`errno`).
pub(super) mod errno {
    pub(crate) const EBADF: i32 = 9;
    pub(crate) const EAGAIN: i32 = 11;
    pub(crate) const EFAULT: i32 = 14;
    pub(crate) const EINVAL: i32 = 22;
    pub(crate) const EPIPE: i32 = 32;
    pub(crate) const ENOTSOCK: i32 = 88;
    pub(crate) const ENOPROTOOPT: i32 = 92;
    pub(crate) const EADDRINUSE: i32 = 98;
    pub(crate) const ECONNABORTED: i32 = 103;
    pub(crate) const ECONNRESET: i32 = 104;
    pub(crate) const EISCONN: i32 = 106;
    pub(crate) const ENOTCONN: i32 = 107;
    pub(crate) const ETIMEDOUT: i32 = 110;
    pub(crate) const ECONNREFUSED: i32 = 111;
    pub(crate) const EHOSTUNREACH: i32 = 113;
    pub(crate) const EALREADY: i32 = 114;
    pub(crate) const EINPROGRESS: i32 = 115;
    pub(crate) const ENETUNREACH: i32 = 101;
    pub(crate) const ENOENT: i32 = 2;
    pub(crate) const EEXIST: i32 = 17;
    pub(crate) const EPROTO: i32 = 71;
}

/// Levels of `setsockopt` and of control messages.
pub(super) mod level {
    pub(crate) const IP: i32 = 0;
    pub(crate) const SOCKET: i32 = 1;
    pub(crate) const TCP: i32 = 6;
    pub(crate) const IPV6: i32 = 41;
}

/// Options of SOL_SOCKET.
pub(super) mod so {
    pub(crate) const REUSEADDR: i32 = 2;
    pub(crate) const ERROR: i32 = 4;
    pub(crate) const SNDBUF: i32 = 7;
    pub(crate) const RCVBUF: i32 = 8;
    pub(crate) const KEEPALIVE: i32 = 9;
    pub(crate) const PRIORITY: i32 = 12;
    pub(crate) const LINGER: i32 = 13;
    pub(crate) const REUSEPORT: i32 = 15;
    pub(crate) const ACCEPTCONN: i32 = 30;
    pub(crate) const MARK: i32 = 36;
}

/// Options of SOL_TCP.
pub(super) mod tcp {
    pub(crate) const NODELAY: i32 = 1;
    pub(crate) const MAXSEG: i32 = 2;
    pub(crate) const CORK: i32 = 3;
    pub(crate) const KEEPIDLE: i32 = 4;
    pub(crate) const KEEPINTVL: i32 = 5;
    pub(crate) const KEEPCNT: i32 = 6;
    pub(crate) const SYNCNT: i32 = 7;
    pub(crate) const LINGER2: i32 = 8;
    pub(crate) const QUICKACK: i32 = 12;
    pub(crate) const CONGESTION: i32 = 13;
    pub(crate) const USER_TIMEOUT: i32 = 18;
    pub(crate) const NOTSENT_LOWAT: i32 = 25;
    pub(crate) const INQ: i32 = 36;
}

/// Options of SOL_IP and SOL_IPV6.
pub(super) mod ip {
    pub(crate) const TOS: i32 = 1;
    pub(crate) const TTL: i32 = 2;
    pub(crate) const MTU_DISCOVER: i32 = 10;
    pub(crate) const V6_MTU_DISCOVER: i32 = 23;
    pub(crate) const V6_TCLASS: i32 = 67;
}

/// Flags of `send` and `recv`.
pub(super) mod msg {
    pub(crate) const PEEK: i32 = 0x2;
    pub(crate) const TRUNC: i32 = 0x20;
    pub(crate) const DONTWAIT: i32 = 0x40;
    pub(crate) const EOR: i32 = 0x80;
    pub(crate) const WAITALL: i32 = 0x100;
    pub(crate) const MORE: i32 = 0x8000;
}

/// Events of `poll` and `epoll`.
pub(super) mod event {
    pub(crate) const IN: u32 = 0x1;
    pub(crate) const OUT: u32 = 0x4;
    pub(crate) const ERR: u32 = 0x8;
    pub(crate) const HUP: u32 = 0x10;
    pub(crate) const RDNORM: u32 = 0x40;
    pub(crate) const WRNORM: u32 = 0x100;
    pub(crate) const RDHUP: u32 = 0x2000;
    pub(crate) const ONE_SHOT: u32 = 1 << 30;
    pub(crate) const EDGE: u32 = 1 << 31;
}

/// Commands and flags of `fcntl`, operations of `epoll_ctl`, requests of `ioctl`, ways of `shutdown`.
pub(super) mod misc {
    pub(crate) const F_GETFD: i32 = 1;
    pub(crate) const F_SETFD: i32 = 2;
    pub(crate) const F_GETFL: i32 = 3;
    pub(crate) const F_SETFL: i32 = 4;
    pub(crate) const O_RDWR: i64 = 0o2;
    pub(crate) const O_NONBLOCK: i64 = 0o4000;
    pub(crate) const CTL_ADD: i32 = 1;
    pub(crate) const CTL_DEL: i32 = 2;
    pub(crate) const CTL_MOD: i32 = 3;
    pub(crate) const SIOCINQ: u64 = 0x541b;
    pub(crate) const SIOCOUTQ: u64 = 0x5411;
    pub(crate) const SIOCOUTQNSD: u64 = 0x894b;
    pub(crate) const SHUT_RD: i32 = 0;
    pub(crate) const SHUT_WR: i32 = 1;
    pub(crate) const SHUT_RDWR: i32 = 2;
    /// The control message of TCP_INQ has the option's number.
    pub(crate) const CM_INQ: i32 = super::tcp::INQ;
}
