//! The account of a connection that a simulated server has ended.

use serde::Serialize;
use std::collections::VecDeque;
use std::net::SocketAddr;
use windlass_probe::wire::Flow;
use windlass_tcp::{AccurateEcn, Connection, EcnCounts};

/// Accounts kept for a caller that takes them late, or never.
const ACCOUNTS_MAX: usize = 4096;

/// A connection that has ended: the server has closed it, reset it or given it up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// The client's address.
    pub client: SocketAddr,
    /// The server's address.
    pub server: SocketAddr,
    /// Bytes that the client has acknowledged.
    pub bytes_acknowledged: u64,
    /// Bytes that the client has sent.
    pub bytes_received: u64,
    /// Data segments that the server sent again.
    pub retransmitted_segments: u64,
    /// The counts of AccECN (RFC 9768); `None` if the connection did not use it.
    pub accecn: Option<Counts>,
}

/// The counts of AccECN at the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The server's packets, as the client has reported them.
    pub reported: Marked,
    /// The client's packets, as the server has counted them.
    pub received: Marked,
    /// The server found no fault of the path, and sent its data as ECT.
    pub sends_ect: bool,
}

/// Packets with CE and their payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Marked {
    /// Packets, those without payload included.
    pub ce_packets: u64,
    /// Bytes of payload.
    pub ce_bytes: u64,
}

impl Ended {
    pub(crate) fn new(flow: &Flow, connection: &Connection) -> Ended {
        Ended {
            client: flow.remote,
            server: flow.local,
            bytes_acknowledged: connection.bytes_acked(),
            bytes_received: connection.bytes_received(),
            retransmitted_segments: connection.stats().retransmitted_segments,
            accecn: connection.accurate_ecn().map(Counts::from),
        }
    }
}

impl From<AccurateEcn> for Counts {
    fn from(counts: AccurateEcn) -> Counts {
        let AccurateEcn { received, reported, sends_ect } = counts;
        Counts { reported: reported.into(), received: received.into(), sends_ect }
    }
}

impl From<EcnCounts> for Marked {
    fn from(counts: EcnCounts) -> Marked {
        Marked { ce_packets: counts.ce_packets, ce_bytes: counts.ce_bytes }
    }
}

/// Accounts until the caller takes them; beyond 4,096 the oldest goes.
#[derive(Debug, Default)]
pub(crate) struct Accounts(VecDeque<Ended>);

impl Accounts {
    pub(crate) fn push(&mut self, ended: Ended) {
        if self.0.len() == ACCOUNTS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(ended);
    }

    pub(crate) fn pop(&mut self) -> Option<Ended> {
        self.0.pop_front()
    }
}
