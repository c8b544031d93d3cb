//! Packets as bytes: in captures, and between the judge and a sender that speaks IP, as a kernel's device does.

use crate::bed::{EventKind, Wire};
use crate::subject::Packet;
use std::net::Ipv4Addr;
use windlass_base::pcapng::{self, Captured};
use windlass_tcp::segment::ip::{self, Addresses, IpHeader, PROTOCOL_TCP};
use windlass_tcp::segment::wire::{self, CHECKSUM_FIELD, Ports};

/// The sender's address.
pub const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The receiver's, in whose place is the judge.
pub const PEER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// The receiver's port.
pub const PEER_PORT: u16 = 5001;
/// The sender's port in a capture.
const HOST_PORT: u16 = 40_000;
/// The headers, which is what a capture keeps.
const SNAP_LEN: usize = ip::IPV4_HEADER_LEN + wire::MAX_HEADER_LEN;

const THERE: Addresses = Addresses::V4 { source: HOST, destination: PEER };
const BACK: Addresses = Addresses::V4 { source: PEER, destination: HOST };

/// The packets at the sender's end as a pcapng file. Addresses and ports are the same in each, the payload is zeros
/// and left out.
pub fn capture(name: &str, wire: &Wire) -> Vec<u8> {
    let mut file = Vec::new();
    pcapng::section_header(&mut file);
    pcapng::interface(&mut file, name, SNAP_LEN as u32);
    for event in wire.events() {
        let inbound = event.kind == EventKind::Arrived;
        let bytes = match inbound {
            true => to_host(&event.packet, HOST_PORT),
            false => {
                let ports = Ports { source: HOST_PORT, destination: PEER_PORT };
                emit(&event.packet, THERE, ports)
            }
        };
        let headers = bytes.len() - event.packet.segment.payload_len as usize;
        let (at, original_len) = (event.at, bytes.len() as u32);
        let bytes = &bytes[..headers];
        pcapng::packet(&mut file, &Captured { at, inbound, original_len, bytes });
    }
    file
}

/// A packet of the receiver to the sender's port.
pub fn to_host(packet: &Packet, port: u16) -> Vec<u8> {
    emit(packet, BACK, Ports { source: PEER_PORT, destination: port })
}

/// A packet with a payload of zeros.
fn emit(packet: &Packet, addresses: Addresses, ports: Ports) -> Vec<u8> {
    let mut tcp = vec![0; wire::MAX_HEADER_LEN];
    let len = wire::emit(&packet.segment, ports, &mut tcp);
    tcp.resize(len + packet.segment.payload_len as usize, 0);
    let checksum = wire::checksum(&addresses, &tcp[..len], &tcp[len..]);
    tcp[CHECKSUM_FIELD].copy_from_slice(&checksum.to_be_bytes());
    let (ecn, protocol) = (packet.ecn, PROTOCOL_TCP);
    let header = IpHeader { addresses, ecn, hop_limit: 64, protocol, identification: 0 };
    let mut bytes = vec![0; ip::IPV4_HEADER_LEN];
    // A segment of one MSS fits into a packet.
    let _ = header.emit(tcp.len(), &mut bytes);
    bytes.extend(tcp);
    bytes
}

/// Reads a packet of the sender. `None` for another, and for one with a wrong checksum, as a receiver drops it.
pub fn from_host(bytes: &[u8]) -> Option<Packet> {
    let packet = ip::parse(bytes).ok()?;
    let header = packet.header;
    let is_ours = header.protocol == PROTOCOL_TCP && header.addresses == THERE;
    if !is_ours || packet.fragment || !wire::verify(&header.addresses, packet.payload) {
        return None;
    }
    let (ports, segment, _) = wire::parse(packet.payload).ok()?;
    (ports.destination == PEER_PORT).then_some(Packet { segment, ecn: header.ecn })
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Ecn;
    use windlass_tcp::segment::Timestamps;
    use windlass_tcp::{Flags, Segment, SeqNumber};

    fn packet() -> Packet {
        let mut segment = Segment {
            seq: SeqNumber(9),
            ack: SeqNumber(0xffff_fff0),
            flags: Flags::ACK | Flags::ECE,
            window: 500,
            payload_len: 1_447,
            ..Segment::default()
        };
        segment.options.timestamps = Some(Timestamps { value: 3, echo_reply: 4 });
        Packet { segment, ecn: Ecn::Ect0 }
    }

    fn from_sender() -> Vec<u8> {
        emit(&packet(), THERE, Ports { source: HOST_PORT, destination: PEER_PORT })
    }

    #[test]
    fn a_packet_is_read_as_it_was_written() {
        assert_eq!(from_host(&from_sender()), Some(packet()));
    }

    #[test]
    fn a_packet_with_a_wrong_checksum_is_dropped() {
        let mut bytes = from_sender();
        bytes[30] ^= 1;
        assert!(from_host(&bytes).is_none());
    }

    #[test]
    fn a_packet_of_another_connection_is_none_of_ours() {
        assert!(from_host(&to_host(&packet(), HOST_PORT)).is_none());
        assert!(from_host(&[]).is_none());
    }
}
