//! A program's sockets and what `setsockopt` changes of them.

use super::sysctl::Settings;
use crate::call::Fd;
use std::collections::VecDeque;

/// The name of a connection in the host.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LinkId(pub(super) u64);

/// The object behind a descriptor.
#[derive(Clone, Debug)]
pub(super) enum Descriptor {
    Socket(Socket),
    Epoll(Epoll),
}

/// A TCP socket.
#[derive(Clone, Debug, Default)]
pub(super) struct Socket {
    pub(super) nonblocking: bool,
    pub(super) options: Options,
    /// A `connect` that blocks waits for the handshake.
    pub(super) opening: bool,
    /// The port of `bind`.
    pub(super) port: Option<u16>,
    pub(super) kind: Kind,
}

/// The use of a socket.
#[derive(Clone, Debug, Default)]
pub(super) enum Kind {
    /// Nothing yet.
    #[default]
    Fresh,
    /// It accepts connections.
    Listener(Listener),
    /// It is an end of a connection.
    Connected(LinkId),
    /// Its connection could not be opened, and `connect` may be called again.
    Failed {
        /// The value of SO_ERROR.
        error: Option<i32>,
    },
}

/// The queues of a listening socket.
#[derive(Clone, Debug, Default)]
pub(super) struct Listener {
    pub(super) backlog: usize,
    /// Connections whose handshake is complete and that wait for `accept`.
    pub(super) ready: VecDeque<LinkId>,
}

/// An epoll instance: what it watches, by descriptor.
#[derive(Clone, Debug, Default)]
pub(super) struct Epoll {
    pub(super) watched: Vec<(Fd, u32)>,
}

/// The options of a socket.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) nodelay: bool,
    pub(super) cork: bool,
    pub(super) quickack: bool,
    pub(super) inq: bool,
    /// TCP_MAXSEG, in bytes.
    pub(super) max_segment: Option<u16>,
    pub(super) controller: Option<String>,
    pub(super) syn_retries: Option<u32>,
    pub(super) user_timeout_ms: u32,
    pub(super) keep_alive: bool,
    pub(super) keep_idle_s: Option<i64>,
    pub(super) keep_interval_s: Option<i64>,
    pub(super) keep_probes: Option<i64>,
    /// TCP_LINGER2, in seconds.
    pub(super) fin_timeout_s: Option<i64>,
    /// SO_LINGER: on, and for how many seconds.
    pub(super) linger: Option<i32>,
    /// sk_sndbuf, twice what SO_SNDBUF asked for.
    pub(super) send_buffer: Option<u64>,
    /// sk_rcvbuf, twice what SO_RCVBUF asked for.
    pub(super) receive_buffer: Option<u64>,
    pub(super) tos: u8,
    pub(super) ttl: u8,
    /// Options that are stored and change nothing, by level and name.
    pub(super) stored: Vec<(i32, i32, i32)>,
}

impl Options {
    /// Bytes of the receive buffer (sk_rcvbuf).
    pub(super) fn receive_buffer(&self, settings: &Settings) -> u64 {
        self.receive_buffer.unwrap_or(settings.rmem[1].unsigned_abs())
    }

    /// The bytes that the window shift must be able to announce: what the receive buffer may grow to, unless
    /// SO_RCVBUF has fixed it (`tcp_select_initial_window`).
    pub(super) fn window_scale_base(&self, settings: &Settings) -> u64 {
        match self.receive_buffer {
            Some(bytes) => bytes,
            None => settings.rmem[2].unsigned_abs().max(self.receive_buffer(settings)),
        }
    }

    /// The largest window in bytes: half of the receive buffer, since as much is for Linux's bookkeeping
    /// (`tcp_win_from_space`), in whole segments of `mss`.
    pub(super) fn window(&self, settings: &Settings, mss: u16) -> u64 {
        let space = self.receive_buffer(settings) / 2;
        let mss = u64::from(mss).max(1);
        if space > mss { space / mss * mss } else { space }
    }

    /// Bytes of the send buffer (sk_sndbuf).
    pub(super) fn send_buffer(&self, settings: &Settings) -> u64 {
        self.send_buffer.unwrap_or(settings.wmem[2].unsigned_abs())
    }
}
