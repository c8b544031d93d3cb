//! Datagrams of a session: many connections between two hosts over one UDP port pair.
//!
//! A session's datagram is eight bytes, the session's tag and cookie, and then a segment whose own
//! cookie field holds the number of the connection. Inside of a program, such a connection has a
//! virtual peer address, which never appears in a packet. See docs/reference/tou-protocol.md.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The magic cookie of a session's datagrams, in bytes 4 to 7.
pub(crate) const SESSION_COOKIE: u32 = 0x5e55_104e;
/// Bytes before the segment in a session's datagram.
pub(crate) const SESSION_PREFIX_LEN: usize = 8;

/// The first 64 bits of virtual addresses: a part of the block for discarded packets (RFC 6666).
/// No host has such an address.
const PREFIX: [u16; 4] = [0x0100, 0, 0, 1];
/// The port of virtual addresses. It has no meaning.
const PORT: u16 = 1;

/// A connection of a session, as the peer of an endpoint.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionPeer {
    /// Identifies the session at both of its hosts.
    pub tag: u32,
    /// Identifies the connection in the session.
    pub number: u32,
}

impl SessionPeer {
    /// The virtual address of this connection's peer.
    #[inline]
    pub fn address(self) -> SocketAddr {
        let [t0, t1, n0, n1] = [self.tag >> 16, self.tag, self.number >> 16, self.number];
        let [a, b, c, d] = PREFIX;
        let ip = Ipv6Addr::new(a, b, c, d, t0 as u16, t1 as u16, n0 as u16, n1 as u16);
        (ip, PORT).into()
    }

    /// The connection with this virtual address; `None` for every other address.
    #[inline]
    pub fn of(address: &SocketAddr) -> Option<SessionPeer> {
        let IpAddr::V6(ip) = address.ip() else { return None };
        let [a, b, c, d, t0, t1, n0, n1] = ip.segments();
        // The host part of a virtual address: tag, then number.
        let join = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        ([a, b, c, d] == PREFIX).then(|| SessionPeer { tag: join(t0, t1), number: join(n0, n1) })
    }

    /// Writes the beginning of a datagram, before the segment.
    pub(crate) fn emit_prefix(self, out: &mut [u8]) {
        out[..4].copy_from_slice(&self.tag.to_be_bytes());
        out[4..8].copy_from_slice(&SESSION_COOKIE.to_be_bytes());
    }

    /// The connection that a session's datagram is for. `None` if it is too short.
    pub(crate) fn of_datagram(datagram: &[u8]) -> Option<SessionPeer> {
        let word = |at: usize| {
            let bytes: &[u8; 4] = datagram.get(at..)?.first_chunk()?;
            Some(u32::from_be_bytes(*bytes))
        };
        // The segment's sequence number comes first, its cookie field second.
        Some(SessionPeer { tag: word(0)?, number: word(SESSION_PREFIX_LEN + 4)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_address_names_one_connection() {
        let peer = SessionPeer { tag: 0xdead_beef, number: 0x0102_0304 };
        let address = peer.address();
        assert_eq!(address.to_string(), "[100::1:dead:beef:102:304]:1");
        assert_eq!(SessionPeer::of(&address), Some(peer));
        for other in ["192.0.2.1:1", "[2001:db8::1]:1", "[100::1]:1", "[::ffff:192.0.2.1]:1"] {
            assert_eq!(SessionPeer::of(&other.parse().expect("an address")), None, "{other}");
        }
    }

    #[test]
    fn a_datagram_too_short_for_a_connection_number_has_none() {
        let mut datagram = [0; 16];
        let peer = SessionPeer { tag: 7, number: 9 };
        peer.emit_prefix(&mut datagram);
        datagram[12..].copy_from_slice(&9_u32.to_be_bytes());
        assert_eq!(SessionPeer::of_datagram(&datagram), Some(peer));
        assert_eq!(SessionPeer::of_datagram(&datagram[..15]), None);
    }
}
