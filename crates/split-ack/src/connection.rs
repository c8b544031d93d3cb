//! The table of bpf/tables.h, read by hand: plain numbers in the machine's own byte order.

use serde::Serialize;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// What came of a connection; of several one after the other if they had the same ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Connection {
    /// Our end.
    pub local: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
    /// The kernel's ACKs that were split.
    pub acks_split: u64,
    /// What they became: all parts that an interface took.
    pub acks_sent: u64,
    /// Parts that no interface took.
    pub acks_lost: u64,
    /// ACKs of new data that would have been split, but have a SACK option.
    pub acks_with_sack: u64,
    /// ACKs of new data that would have been split, but came with data or a FIN.
    pub acks_with_data: u64,
    /// Segments that came, pure ACKs among them.
    pub segments: u64,
    /// The packets that they came in: GRO and the sender's kernel may join several segments.
    pub packets: u64,
    /// Segments that brought data, new or not.
    pub data_segments: u64,
    /// Of those, the ones that begin before the end of what had come: sent again, or overtaken.
    pub late_segments: u64,
    /// The data in all of them, in bytes.
    pub bytes: u64,
    /// Data that was acknowledged, each byte once.
    pub acked_bytes: u64,
    /// The largest segment's data in bytes.
    pub mss_seen: u32,
    /// How many connections had these ends.
    pub connections: u32,
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    fn address(&mut self) -> Option<IpAddr> {
        self.array::<16>().map(|octets| Ipv6Addr::from(octets).to_canonical())
    }

    fn port(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }
}

impl Connection {
    /// From `struct flow_key` and `struct flow`.
    pub(crate) fn read(key: &[u8], value: &[u8]) -> Option<Connection> {
        let mut key = Reader(key);
        let (local, peer) = (key.address()?, key.address()?);
        let mut value = Reader(value);
        // The lock and what the programs keep in mind.
        value.array::<28>()?;
        let (mss_seen, connections, _) = (value.u32()?, value.u32()?, value.u32()?);
        Some(Connection {
            local: SocketAddr::new(local, key.port()?),
            peer: SocketAddr::new(peer, key.port()?),
            acks_split: value.u64()?,
            acks_sent: value.u64()?,
            acks_lost: value.u64()?,
            acks_with_sack: value.u64()?,
            acks_with_data: value.u64()?,
            segments: value.u64()?,
            packets: value.u64()?,
            data_segments: value.u64()?,
            late_segments: value.u64()?,
            bytes: value.u64()?,
            acked_bytes: value.u64()?,
            mss_seen,
            connections,
        })
    }
}
