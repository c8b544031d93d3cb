use std::time::Duration;
use windlass_base::Span;
use windlass_tcp::conn::Stats;
use windlass_tcp::{Connection, State};

/// Where a connection stands, in the manner of Linux's TCP_INFO.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Info {
    /// The state of RFC 9293 §3.3.2.
    pub state: State,
    /// Payload bytes of a full segment, options subtracted.
    pub mss: u32,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow start threshold in bytes; `None` before the first cut.
    pub ssthresh: Option<u64>,
    /// Smoothed round-trip time; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Bytes sent and not acknowledged.
    pub in_flight: u64,
    /// Bytes of this end that the peer has acknowledged.
    pub bytes_acked: u64,
    /// Bytes of the peer that arrived in order.
    pub bytes_received: u64,
    /// ECN was agreed on.
    pub ecn: bool,
    /// SACK was agreed on.
    pub sack: bool,
    /// Counters since the beginning.
    pub stats: Stats,
}

impl Info {
    pub(crate) fn of(connection: &Connection) -> Info {
        Info {
            state: connection.state(),
            mss: connection.mss(),
            cwnd: connection.cwnd() as u64,
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
