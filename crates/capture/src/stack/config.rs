use crate::icmp::Unreachable;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use windlass_base::Span;
use windlass_tcp::cc::NoControl;
use windlass_tcp::config::AckPolicy;
use windlass_tcp::segment::ip::{IPV4_HEADER_LEN, IPV6_HEADER_LEN};
use windlass_tcp::segment::wire::MIN_HEADER_LEN;
use windlass_tcp::{Config as TcpConfig, Profile};

/// The options of a [`Stack`](super::Stack).
#[derive(Clone, Debug)]
pub struct Config {
    /// The largest IP packet, in bytes.
    pub mtu: u16,
    /// The DNS forwarder's address, which also answers echo requests.
    pub forwarder_v4: Ipv4Addr,
    /// Its IPv6 address.
    pub forwarder_v6: Ipv6Addr,
    /// The size of each of a connection's two buffers, in bytes.
    pub buffer: u64,
    /// Bytes in the buffers of all connections above which no buffer grows and no connection begins.
    pub memory_max: u64,
    /// Connections at once, at most. A further SYN is not answered; the command sends it again.
    pub flows_max: usize,
    /// DNS queries over UDP without an answer, at most. Further ones are not taken; the command sends
    /// them again.
    pub queries_max: usize,
    /// Leaves checksums of sent segments for the kernel to complete.
    pub offload: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mtu: 65_535,
            forwarder_v4: Ipv4Addr::new(198, 18, 0, 2),
            forwarder_v6: Ipv6Addr::new(0xfd77, 0x6c61, 0x7373, 0, 0, 0, 0, 2),
            buffer: 256 << 10,
            memory_max: 1 << 30,
            flows_max: 4096,
            queries_max: 1024,
            offload: false,
        }
    }
}

impl Config {
    pub(super) fn forwarder(&self, v4: bool) -> IpAddr {
        if v4 { self.forwarder_v4.into() } else { self.forwarder_v6.into() }
    }

    /// The options of a connection.
    ///
    /// The path is a device in memory, so nothing limits a sender but the peer's window. Every
    /// segment is acknowledged at once: at an MSS of 64 kB nearly every write of a program is shorter
    /// than a segment, and its sender's Nagle algorithm would wait for a delayed ACK.
    pub(super) fn tcp(&self, v4: bool) -> TcpConfig {
        let ip = if v4 { IPV4_HEADER_LEN } else { IPV6_HEADER_LEN };
        let mss = self.mtu.saturating_sub((ip + MIN_HEADER_LEN) as u16);
        Profile::Linux.config(mss, Arc::new(NoControl)).with(|c| {
            c.acks.policy = AckPolicy::Immediate;
            c.sending.nagle = false;
            c.extensions.timestamps = false;
            c.buffers.send = self.buffer;
            c.buffers.receive = self.buffer;
            // No segment stays in the network longer than a moment.
            c.timers.time_wait = Span::from_secs(1);
        })
    }
}

/// How a connection fails that cannot be opened.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// By a reset: the far host refused the connection (ECONNREFUSED).
    Refused,
    /// By ICMP: there is no route to the far network (ENETUNREACH).
    NetworkUnreachable,
    /// By ICMP: the far host does not answer (EHOSTUNREACH).
    HostUnreachable,
    /// By ICMP: the connection is not allowed (EHOSTUNREACH, with IPv6 EACCES).
    Prohibited,
}

impl Refusal {
    pub(super) fn unreachable(self) -> Option<Unreachable> {
        match self {
            Refusal::Refused => None,
            Refusal::NetworkUnreachable => Some(Unreachable::Network),
            Refusal::HostUnreachable => Some(Unreachable::Host),
            Refusal::Prohibited => Some(Unreachable::Prohibited),
        }
    }
}
