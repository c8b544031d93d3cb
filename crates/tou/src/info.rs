//! Copies of a connection's state for applications, taken under the port's lock.

use std::time::Duration;
use windlass_base::Span;
use windlass_tcp::conn::Stats;
use windlass_tcp::{Connection, State};

/// State and counters of a connection, similar to Linux's TCP_INFO.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Info {
    /// The state of RFC 9293 §3.3.2.
    pub state: State,
    /// Payload bytes of a full segment, options subtracted.
    pub mss: u32,
    /// Congestion window in bytes, without `inflation`.
    pub cwnd: u64,
    /// Bytes by which fast recovery without SACK inflates the window (RFC 5681 §3.2).
    pub inflation: u64,
    /// Slow start threshold in bytes; `None` before the first reduction of the window.
    pub ssthresh: Option<u64>,
    /// Smoothed round-trip time; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// Retransmission timeout, including back-off.
    pub rto: Duration,
    /// Bytes sent and not yet acknowledged.
    pub in_flight: u64,
    /// Bytes sent that the peer has acknowledged.
    pub bytes_acked: u64,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// Whether both ends use ECN.
    pub ecn: bool,
    /// Whether both ends use SACK.
    pub sack: bool,
    /// Counters since the connection began.
    pub stats: Stats,
}

/// Which operations on a connection would not wait, as poll(2) reports it for a socket.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Ready {
    /// Reading would not wait: there are bytes, the end of the stream, or an error.
    pub readable: bool,
    /// Writing would not wait: there is room, or an error.
    pub writable: bool,
    /// The peer has closed its direction (POLLRDHUP).
    pub peer_closed: bool,
    /// Both directions are closed (POLLHUP).
    pub over: bool,
    /// The connection failed (POLLERR).
    pub failed: bool,
}

impl Ready {
    /// The state of `connection`, which is writable if there is `room` in bytes. Nothing is ready
    /// before it is established.
    pub(crate) fn of(connection: &Connection, room: u64) -> Ready {
        let state = connection.state();
        if matches!(state, State::SynSent | State::SynReceived) {
            return Ready::default();
        }
        let sends = matches!(state, State::Established | State::CloseWait);
        let (closed, peer_closed) = (state == State::Closed, connection.peer_closed());
        Ready {
            readable: closed || peer_closed || connection.readable() > 0,
            writable: !sends || connection.writable() >= room,
            peer_closed: closed || peer_closed,
            over: closed || (peer_closed && !sends),
            failed: false,
        }
    }

    /// The state of a connection that was removed.
    pub(crate) const GONE: Ready =
        Ready { readable: true, writable: true, peer_closed: true, over: true, failed: false };
}

impl Info {
    pub(crate) fn of(connection: &Connection) -> Info {
        Info {
            state: connection.state(),
            mss: connection.mss(),
            cwnd: connection.cwnd() as u64,
            inflation: connection.window_inflation(),
            ssthresh: Some(connection.ssthresh()).filter(|bytes| *bytes < u64::MAX),
            rtt: connection.smoothed_rtt().map(duration),
            rto: duration(connection.rto()),
            in_flight: connection.in_flight(),
            bytes_acked: connection.bytes_acked(),
            bytes_received: connection.bytes_received(),
            ecn: connection.ecn_negotiated(),
            sack: connection.sack_negotiated(),
            stats: *connection.stats(),
        }
    }
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}
