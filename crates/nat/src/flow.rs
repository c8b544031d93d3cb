//! The endpoints of packets, and the sides of a NAT.

use std::net::SocketAddr;

/// The protocols that a NAT translates.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// UDP, as the settings say.
    Udp,
    /// TCP. Its mapping is endpoint-independent and its filtering address and port-dependent.
    Tcp,
    /// ICMP and ICMPv6 queries (RFC 5508 section 3). The identifier stands in the place of the
    /// inner port, and the remote port is zero.
    Icmp,
}

/// The endpoints of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The protocol above IP.
    pub protocol: Protocol,
    /// The sender.
    pub source: SocketAddr,
    /// The receiver, of the same family.
    pub destination: SocketAddr,
}

/// A side of the NAT.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The private network.
    Inside,
    /// The Internet.
    Outside,
}
