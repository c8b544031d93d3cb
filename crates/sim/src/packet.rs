//! Packets, in the form of the network and in that of middleboxes and captures.

use windlass_base::{Ecn, Span, Time};
use windlass_tcp::{Run, Segment};

/// An IPv4 header without options, in bytes.
pub(crate) const IPV4_HEADER_BYTES: u32 = 20;
/// A UDP header, in bytes.
pub(crate) const UDP_HEADER_BYTES: u32 = 8;

/// An index into [`Scenario::nodes`](crate::Scenario::nodes).
pub type NodeId = usize;

/// A packet with all its header fields, without payload bytes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Packet {
    /// Which flow: an index into the scenario's TCP flows, followed by its UDP sources, and those by its flows of
    /// endpoints.
    pub flow: u32,
    /// Which connection of the run, counted from 0; for UDP the number of the source, for endpoints that of their
    /// flow among those of endpoints.
    pub connection: u32,
    /// True for packets from the receiver back to the sender.
    pub reverse: bool,
    /// Source address.
    pub source: Address,
    /// Destination address.
    pub destination: Address,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Payload of the IP packet.
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

/// Payload of an IP packet.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp {
        /// Bytes of payload.
        payload_bytes: u32,
        /// The frame of media that it is a part of, from 0 on; 0 for other sources. For endpoints, which number the
        /// datagram has among those of its end.
        frame: u64,
    },
}

impl Packet {
    /// Bytes on the link: IPv4 header, transport header, options and payload.
    pub fn wire_bytes(&self) -> u32 {
        IPV4_HEADER_BYTES
            + match self.body {
                Body::Tcp(segment) => segment.wire_bytes(),
                Body::Udp { payload_bytes, .. } => UDP_HEADER_BYTES + payload_bytes,
            }
    }
}

/// A packet on its way. Queues and links move its [`Slot`].
#[derive(Copy, Clone, Debug, Default)]
// The fields that the network reads, and those that endpoints read of most segments, share a cache line.
#[repr(C, align(64))]
pub(crate) struct InFlight {
    /// The end of a connection or UDP sink that it is for.
    pub(crate) to: Sink,
    /// As [`Packet::flow`].
    pub(crate) flow: u32,
    /// Index of its present hop in the list of hops.
    pub(crate) hop: u32,
    pub(crate) wire_bytes: u32,
    /// How long it has waited in queues so far.
    pub(crate) waited: Span,
    /// Its segment as the engine built it, and its ECN field. For UDP and endpoints the ECN field has a
    /// meaning, and `stream_offset`, which is the packet's [`frame`](InFlight::frame).
    pub(crate) run: Run,
}

impl InFlight {
    /// The segment of a UDP packet.
    pub(crate) fn run_of_udp(ecn: Ecn, frame: u64) -> Run {
        Run { ecn, stream_offset: frame, ..Run::default() }
    }

    /// The frame of media that a UDP packet is a part of; 0 for other sources. The number of a datagram.
    pub(crate) fn frame(&self) -> u64 {
        self.run.stream_offset
    }

    /// Counts a wait in a queue, which it returns.
    #[inline]
    pub(crate) fn wait(&mut self, from: Time, until: Time) -> Span {
        let nanos = until.as_nanos() - from.as_nanos();
        // No packet has waited for longer than the time of the run: plain sums cannot overflow.
        self.waited = Span::from_nanos(self.waited.as_nanos() + nanos);
        Span::from_nanos(nanos)
    }
}

/// Where a packet is kept in [`Packets`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u32);

impl Slot {
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The slot of that number.
    pub(crate) fn from_number(number: u32) -> Slot {
        Slot(number)
    }
}

/// The destination of a packet: one end of a TCP connection, a UDP sink, or an endpoint of another transport.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sink(u32);

impl Sink {
    /// The kind is in the top two bits; it is 0 for TCP.
    const KIND_SHIFT: u32 = 30;
    const UDP: u32 = 2 << Sink::KIND_SHIFT;
    const DATAGRAM: u32 = 3 << Sink::KIND_SHIFT;
    const NUMBER: u32 = (1 << Sink::KIND_SHIFT) - 1;

    /// The sink of a UDP source.
    pub(crate) fn udp(source: u32) -> Sink {
        Sink(source | Sink::UDP)
    }

    /// An end of a connection: 0 opened it, 1 listened.
    pub(crate) fn tcp(connection: u32, side: usize) -> Sink {
        Sink(connection << 1 | side as u32)
    }

    /// An end of a flow of endpoints: 0 for the sender, 1 for the receiver.
    pub(crate) fn datagram(flow: u32, side: usize) -> Sink {
        Sink(flow << 1 | side as u32 | Sink::DATAGRAM)
    }

    pub(crate) fn is_udp(self) -> bool {
        self.0 >> Sink::KIND_SHIFT == Sink::UDP >> Sink::KIND_SHIFT
    }

    pub(crate) fn is_datagram(self) -> bool {
        self.0 >> Sink::KIND_SHIFT == Sink::DATAGRAM >> Sink::KIND_SHIFT
    }

    pub(crate) fn is_tcp(self) -> bool {
        self.0 & Sink::UDP == 0
    }

    /// The connection, the number of the UDP source, or the flow of endpoints.
    pub(crate) fn connection(self) -> u32 {
        let number = self.0 & Sink::NUMBER;
        if self.is_udp() { number } else { number >> 1 }
    }

    /// True if packets to it run from a receiver back to its sender.
    pub(crate) fn is_reverse(self) -> bool {
        !self.is_udp() && self.0 & 1 == 0
    }

    /// The other end of a connection.
    pub(crate) fn other_end(self) -> Sink {
        Sink(self.0 ^ 1)
    }

    /// Which end of its connection it is.
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

/// All packets in the network, in reusable slots.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    slots: Vec<InFlight>,
    free: Vec<Slot>,
    /// Bytes of datagrams, by slot. Those of a lost one stay until another takes its place.
    payloads: Vec<Vec<u8>>,
}

impl Packets {
    /// Allocates a slot, which the caller must fill: it still holds an old packet.
    pub(crate) fn allocate(&mut self) -> Slot {
        self.free.pop().unwrap_or_else(|| self.grow())
    }

    pub(crate) fn put(&mut self, packet: InFlight) -> Slot {
        let slot = self.allocate();
        *self.get_mut(slot) = packet;
        slot
    }

    /// Puts a datagram of an endpoint, with its bytes.
    pub(crate) fn put_datagram(&mut self, packet: InFlight, payload: Vec<u8>) -> Slot {
        let slot = self.put(packet);
        if self.payloads.len() < self.slots.len() {
            self.payloads.resize_with(self.slots.len(), Vec::new);
        }
        self.payloads[slot.0 as usize] = payload;
        slot
    }

    /// Takes the bytes of a datagram.
    pub(crate) fn take_payload(&mut self, slot: Slot) -> Vec<u8> {
        self.payloads.get_mut(slot.0 as usize).map(std::mem::take).unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self) -> Slot {
        let slot = Slot(self.slots.len() as u32);
        self.slots.push(InFlight::default());
        slot
    }

    pub(crate) fn get(&self, slot: Slot) -> &InFlight {
        &self.slots[slot.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> &mut InFlight {
        &mut self.slots[slot.0 as usize]
    }

    /// Frees the slot of a packet that was delivered or lost.
    pub(crate) fn release(&mut self, slot: Slot) {
        self.free.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again() {
        let packet = |wire_bytes| InFlight {
            to: Sink::tcp(0, 0),
            flow: 0,
            hop: 0,
            wire_bytes,
            waited: Span::ZERO,
            run: Run::default(),
        };
        let mut packets = Packets::default();
        let first = packets.put(packet(1));
        let second = packets.put(packet(2));
        packets.release(first);
        assert_eq!(packets.put(packet(3)), first);
        assert_eq!((packets.get(first).wire_bytes, packets.get(second).wire_bytes), (3, 2));
        assert_ne!(packets.put(packet(4)), first);
    }
}
