//! Packets as bytes, on the device between the kernel and the judge.

use crate::subject::Packet;
use std::net::Ipv4Addr;
use windlass_tcp::segment::ip::{self, Addresses, IpHeader, PROTOCOL_TCP};
use windlass_tcp::segment::wire::{self, CHECKSUM_FIELD, Ports};

/// The kernel's end of the connection.
pub(super) const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The judge's.
pub(super) const PEER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// The port of the judge's end.
pub(super) const PEER_PORT: u16 = 5001;

/// Reads a packet of the connection. `None` for another, and for one with a wrong checksum, as a receiver drops it.
pub(super) fn parse(bytes: &[u8]) -> Option<(Ports, Packet)> {
    let packet = ip::parse(bytes).ok()?;
    let header = packet.header;
    let expected = Addresses::V4 { source: HOST, destination: PEER };
    let is_ours = header.protocol == PROTOCOL_TCP && header.addresses == expected;
    if !is_ours || packet.fragment || !wire::verify(&header.addresses, packet.payload) {
        return None;
    }
    let (ports, segment, _) = wire::parse(packet.payload).ok()?;
    (ports.destination == PEER_PORT).then_some((ports, Packet { segment, ecn: header.ecn }))
}

/// Writes a packet of the judge's end to the kernel's port. Its payload is zeros.
pub(super) fn emit(packet: &Packet, port: u16) -> Vec<u8> {
    let addresses = Addresses::V4 { source: PEER, destination: HOST };
    let ports = Ports { source: PEER_PORT, destination: port };
    let mut tcp = vec![0; wire::MAX_HEADER_LEN];
    let len = wire::emit(&packet.segment, ports, &mut tcp);
    tcp.resize(len + packet.segment.payload_len as usize, 0);
    let checksum = wire::checksum(&addresses, &tcp[..len], &tcp[len..]);
    tcp[CHECKSUM_FIELD].copy_from_slice(&checksum.to_be_bytes());
    let header = IpHeader {
        addresses,
        ecn: packet.ecn,
        hop_limit: 64,
        protocol: PROTOCOL_TCP,
        identification: 0,
    };
    let mut bytes = vec![0; ip::IPV4_HEADER_LEN];
    // The judge's end sends less than 64 KiB.
    if header.emit(tcp.len(), &mut bytes).is_ok() {
        bytes.extend(tcp);
    }
    bytes
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
            ..Segment::default()
        };
        segment.options.timestamps = Some(Timestamps { value: 3, echo_reply: 4 });
        Packet { segment, ecn: Ecn::Ect0 }
    }

    /// The same bytes as a packet of the kernel: both ends change places.
    fn returned(mut bytes: Vec<u8>) -> Vec<u8> {
        for (at, len) in [(12, 4), (20, 2)] {
            let (first, second) = bytes[at..].split_at_mut(len);
            first.swap_with_slice(&mut second[..len]);
        }
        bytes
    }

    #[test]
    fn a_packet_is_read_as_it_was_written() {
        let bytes = returned(emit(&packet(), 40_000));
        let (ports, read) = parse(&bytes).expect("a sound packet");
        assert_eq!((ports.source, read), (40_000, packet()));
    }

    #[test]
    fn a_packet_with_a_wrong_checksum_is_dropped() {
        let mut bytes = returned(emit(&packet(), 40_000));
        bytes[30] ^= 1;
        assert!(parse(&bytes).is_none());
    }

    #[test]
    fn a_packet_of_another_connection_is_none_of_ours() {
        assert!(parse(&emit(&packet(), 40_000)).is_none());
        assert!(parse(&[]).is_none());
    }
}
