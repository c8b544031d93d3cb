//! Linux's numbers of errors, options and flags, as x86 and ARM have them.

pub(super) const EBADF: i32 = 9;
pub(super) const EAGAIN: i32 = 11;
pub(super) const EINVAL: i32 = 22;
pub(super) const EPIPE: i32 = 32;
pub(super) const EOPNOTSUPP: i32 = 95;
pub(super) const ECONNRESET: i32 = 104;
pub(super) const EISCONN: i32 = 106;
pub(super) const ENOTCONN: i32 = 107;
pub(super) const ECONNREFUSED: i32 = 111;
pub(super) const EALREADY: i32 = 114;
pub(super) const EINPROGRESS: i32 = 115;

pub(super) const SOL_SOCKET: i32 = 1;
pub(super) const SOL_TCP: i32 = 6;
pub(super) const SO_REUSEADDR: i32 = 2;
pub(super) const SO_ERROR: i32 = 4;
pub(super) const SO_REUSEPORT: i32 = 15;
pub(super) const TCP_NODELAY: i32 = 1;
pub(super) const TCP_CONGESTION: i32 = 13;

pub(super) const MSG_DONTWAIT: i32 = 0x40;
pub(super) const MSG_NOSIGNAL: i32 = 0x4000;
pub(super) const F_GETFL: i32 = 3;
pub(super) const F_SETFL: i32 = 4;
pub(super) const O_RDWR: i64 = 0o2;
pub(super) const O_NONBLOCK: i64 = 0o4000;
pub(super) const SHUT_WR: i32 = 1;
pub(super) const POLLIN: i16 = 1;
pub(super) const POLLOUT: i16 = 4;
pub(super) const POLLHUP: i16 = 0x10;

/// Variables of Linux that scripts set before they begin, the last part of their names.
pub(super) const VARIABLES: [&str; 26] = [
    "default_qdisc",
    "optmem_max",
    "tcp_congestion_control",
    "tcp_delack_max_us",
    "tcp_dsack",
    "tcp_early_retrans",
    "tcp_ecn",
    "tcp_fastopen",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_invalid_ratelimit",
    "tcp_mem",
    "tcp_min_snd_mss",
    "tcp_min_tso_segs",
    "tcp_moderate_rcvbuf",
    "tcp_no_metrics_save",
    "tcp_notsent_lowat",
    "tcp_pacing_ca_ratio",
    "tcp_pacing_ss_ratio",
    "tcp_recovery",
    "tcp_rmem",
    "tcp_rto_min_us",
    "tcp_sack",
    "tcp_shrink_window",
    "tcp_syn_retries",
    "tcp_timestamps",
    "tcp_wmem",
];
