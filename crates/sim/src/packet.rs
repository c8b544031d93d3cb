//! Packets: as the network moves them, and as middleboxes and captures see them.

use crate::scenario::model::NodeId;
use windlass_aqm as aqm;
use windlass_base::Ecn;
use windlass_tcp::Segment;

/// An IPv4 header without options, in bytes.
pub const IPV4_HEADER_BYTES: u32 = 20;
/// A UDP header, in bytes.
pub const UDP_HEADER_BYTES: u32 = 8;

/// A packet with everything that it says, without payload bytes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Packet {
    /// Which flow: an index into the scenario's TCP flows, followed by its UDP sources.
    pub flow: u32,
    /// Which connection of the run, counted from 0; for UDP the number of the source.
    pub connection: u32,
    /// True for packets from the receiver back to the sender.
    pub reverse: bool,
    /// Where it comes from.
    pub source: Address,
    /// Where it goes.
    pub destination: Address,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// What the IP header is followed by.
    pub body: Body,
}

/// A host and a port.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The host.
    pub node: NodeId,
    /// The TCP or UDP port.
    pub port: u16,
}

/// What an IP packet carries.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp {
        /// Bytes of payload.
        payload_bytes: u32,
    },
}

impl Packet {
    /// Bytes on the link: IPv4 header, transport header, options and payload.
    pub fn wire_bytes(&self) -> u32 {
        IPV4_HEADER_BYTES
            + match self.body {
                Body::Tcp(segment) => segment.wire_bytes(),
                Body::Udp { payload_bytes } => UDP_HEADER_BYTES + payload_bytes,
            }
    }
}

/// A packet as queues and links move it: small; its segment waits in [`Bodies`].
#[derive(Copy, Clone, Debug)]
pub(crate) struct Handle {
    /// The endpoint or UDP sink that it is for.
    pub(crate) to: Sink,
    /// As [`Packet::flow`].
    pub(crate) flow: u32,
    /// Where in the list of hops it is.
    pub(crate) hop: u32,
    /// Where its segment waits; [`Bodies::NONE`] for UDP.
    pub(crate) body: u32,
    pub(crate) wire_bytes: u32,
    pub(crate) ecn: Ecn,
}

/// Who takes a packet at its destination: one end of a TCP connection, or a UDP sink.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sink(u32);

impl Sink {
    const UDP: u32 = 1 << 31;

    /// The sink of a UDP source.
    pub(crate) fn udp(source: u32) -> Sink {
        Sink(source | Sink::UDP)
    }

    /// An end of a connection: 0 opened it, 1 listened.
    pub(crate) fn tcp(connection: u32, side: usize) -> Sink {
        Sink(connection << 1 | side as u32)
    }

    pub(crate) fn is_udp(self) -> bool {
        self.0 & Sink::UDP != 0
    }

    /// The connection, or the number of the UDP source.
    pub(crate) fn connection(self) -> u32 {
        if self.is_udp() { self.0 & !Sink::UDP } else { self.0 >> 1 }
    }

    /// True if packets to it run from a receiver back to its sender.
    pub(crate) fn is_reverse(self) -> bool {
        !self.is_udp() && self.0 & 1 == 0
    }

    /// Which end of its connection a TCP endpoint is.
    pub(crate) fn side(self) -> usize {
        (self.0 & 1) as usize
    }

    /// The number of the TCP endpoint.
    pub(crate) fn endpoint(self) -> u32 {
        self.0
    }

    /// The TCP endpoint of that number.
    pub(crate) fn from_endpoint(number: u32) -> Sink {
        Sink(number)
    }
}

impl aqm::Packet for Handle {
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn flow_hash(&self) -> u64 {
        u64::from(self.to.0)
    }
}

/// The segments of all packets on their way, in slots that are used again.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    segments: Vec<Segment>,
    free: Vec<u32>,
}

impl Bodies {
    /// The slot of packets without a segment.
    pub(crate) const NONE: u32 = u32::MAX;

    pub(crate) fn put(&mut self, segment: Segment) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.segments[slot as usize] = segment;
                slot
            }
            None => {
                self.segments.push(segment);
                self.segments.len() as u32 - 1
            }
        }
    }

    pub(crate) fn get(&self, slot: u32) -> &Segment {
        &self.segments[slot as usize]
    }

    /// The segment in a slot, which becomes free.
    pub(crate) fn take(&mut self, slot: u32) -> Segment {
        self.release(slot);
        self.segments[slot as usize]
    }

    pub(crate) fn release(&mut self, slot: u32) {
        if slot != Bodies::NONE {
            self.free.push(slot);
        }
    }

    /// Segments on their way.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.segments.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_stay_small() {
        assert!(size_of::<Handle>() <= 24);
    }

    #[test]
    fn slots_are_used_again() {
        let mut bodies = Bodies::default();
        let first = bodies.put(Segment::default());
        let second = bodies.put(Segment { payload_len: 7, ..Segment::default() });
        bodies.release(first);
        assert_eq!(bodies.put(Segment::default()), first);
        assert_eq!(bodies.get(second).payload_len, 7);
        assert_eq!(bodies.in_use(), 2);
    }
}
