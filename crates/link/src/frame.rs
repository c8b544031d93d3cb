//! A packet on its way through the emulator.

use crate::ecn;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use windlass_base::{Ecn, Rng, Time};
use windlass_tcp::SeqNumber;
use windlass_tcp::segment::ip::{self, Addresses, IpPacket, PROTOCOL_TCP};
use windlass_tcp::segment::wire;
use windlass_tou_wire as tou;

const PROTOCOL_UDP: u8 = 17;
const UDP_HEADER_LEN: usize = 8;

/// The bytes of an IP packet, and the fields that the emulator has read in them. Bytes that are no
/// valid IP packet are carried too: they are not ECN-capable and belong to no flow.
#[derive(Clone, Debug)]
pub struct Frame {
    bytes: Vec<u8>,
    ecn: Ecn,
    flow: Option<Flow>,
    data: Option<TcpData>,
    /// When it arrived at the queue that it is in.
    pub(crate) queued_at: Time,
}

/// The key of a flow in one direction: addresses, protocol and ports.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flow {
    addresses: Addresses,
    protocol: u8,
    /// Source and destination port in network byte order; zero if the packet has none.
    ports: [u8; 4],
}

/// The payload that a segment carries, of TCP or of TCP over UDP; a pure ACK has none.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct TcpData {
    pub seq: SeqNumber,
    pub len: u32,
}

impl Frame {
    /// Takes the bytes of a packet and reads its headers.
    pub fn new(bytes: Vec<u8>) -> Frame {
        let Ok(packet) = ip::parse(&bytes) else {
            let (ecn, queued_at) = (Ecn::NotEct, Time::ZERO);
            return Frame { bytes, ecn, flow: None, data: None, queued_at };
        };
        let (ecn, flow, data) = (packet.header.ecn, flow(&packet), tcp_data(&packet));
        Frame { bytes, ecn, flow: Some(flow), data, queued_at: Time::ZERO }
    }

    /// The bytes of the packet.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The destination address; `None` if the bytes are no valid IP packet.
    pub fn destination(&self) -> Option<IpAddr> {
        self.flow.map(|flow| match flow.addresses {
            Addresses::V4 { destination, .. } => IpAddr::V4(destination),
            Addresses::V6 { destination, .. } => IpAddr::V6(destination),
        })
    }

    pub(crate) fn flow(&self) -> Option<Flow> {
        self.flow
    }

    pub(crate) fn tcp_data(&self) -> Option<TcpData> {
        self.data
    }

    /// Flips one bit behind the IP header: the packet arrives with a damaged payload.
    pub(crate) fn corrupt(&mut self, rng: &mut Rng) {
        let header_len = match self.bytes.first().map(|octet| (octet >> 4, octet & 0x0f)) {
            Some((4, words)) => usize::from(words) * 4,
            Some((6, _)) => ip::IPV6_HEADER_LEN,
            _ => 0,
        };
        let Some(payload) = self.bytes.get_mut(header_len..) else { return };
        let bit = rng.below(payload.len() as u64 * 8) as usize;
        if let Some(octet) = payload.get_mut(bit / 8) {
            *octet ^= 1 << (bit % 8);
        }
    }
}

fn flow(packet: &IpPacket<'_>) -> Flow {
    let IpPacket { header, fragment, payload, .. } = packet;
    // Only the first fragment has ports. All fragments of a packet must get one flow.
    let has_ports = !fragment && matches!(header.protocol, PROTOCOL_TCP | PROTOCOL_UDP);
    let ports = payload.first_chunk().filter(|_| has_ports).copied().unwrap_or_default();
    Flow { addresses: header.addresses, protocol: header.protocol, ports }
}

/// The payload of a segment, of TCP or of TCP over UDP (docs/reference/tou-protocol.md).
fn tcp_data(packet: &IpPacket<'_>) -> Option<TcpData> {
    if packet.fragment {
        return None;
    }
    let segment = match packet.header.protocol {
        PROTOCOL_TCP => wire::parse(packet.payload).ok()?.1,
        PROTOCOL_UDP => tou::parse(packet.payload.get(UDP_HEADER_LEN..)?).ok()?.0,
        _ => return None,
    };
    Some(TcpData { seq: segment.seq, len: segment.payload_len })
}

impl windlass_aqm::Packet for Frame {
    fn wire_bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
        ecn::rewrite(&mut self.bytes, ecn);
    }

    fn flow_hash(&self) -> u64 {
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        self.flow.hash(&mut hasher);
        hasher.finish()
    }
}

/// FNV-1a: unlike the standard library's hasher it is the same in every version.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl Flow {
    pub(crate) fn is_tcp(&self) -> bool {
        self.protocol == PROTOCOL_TCP
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use windlass_aqm::Packet;
    use windlass_tcp::segment::ip::IpHeader;
    use windlass_tcp::segment::wire::Ports;
    use windlass_tcp::{Flags, Options, Segment};

    /// An IPv4 packet from 10.0.0.1 to 10.0.0.2.
    pub(crate) fn packet(protocol: u8, ecn: Ecn, payload: &[u8]) -> Vec<u8> {
        let addresses = Addresses::V4 {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
        };
        let header = IpHeader { addresses, ecn, hop_limit: 64, protocol, identification: 0 };
        let mut bytes = [0; ip::IPV6_HEADER_LEN];
        let len = header.emit(payload.len(), &mut bytes).expect("a short payload");
        [&bytes[..len], payload].concat()
    }

    /// A TCP segment with `len` bytes of payload.
    pub(crate) fn tcp(source_port: u16, seq: u32, len: u32) -> Frame {
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(0),
            flags: Flags::ACK,
            window: 1000,
            options: Options::default(),
            payload_len: len,
        };
        let ports = Ports { source: source_port, destination: 80 };
        let mut bytes = vec![0; wire::MIN_HEADER_LEN + len as usize];
        wire::emit(&segment, ports, &mut bytes);
        Frame::new(packet(PROTOCOL_TCP, Ecn::Ect0, &bytes))
    }

    pub(crate) fn tou(source_port: u16, seq: u32, len: u32) -> Frame {
        let segment = Segment {
            seq: SeqNumber(seq),
            flags: Flags::ACK,
            payload_len: len,
            ..Segment::default()
        };
        let mut bytes = vec![0; UDP_HEADER_LEN + wire::MAX_HEADER_LEN + len as usize];
        bytes[..2].copy_from_slice(&source_port.to_be_bytes());
        let header_len = super::tou::emit(&segment, &mut bytes[UDP_HEADER_LEN..]);
        bytes.truncate(UDP_HEADER_LEN + header_len + len as usize);
        Frame::new(packet(PROTOCOL_UDP, Ecn::NotEct, &bytes))
    }

    pub(crate) fn udp(source_port: u16) -> Frame {
        let payload = [&source_port.to_be_bytes()[..], &[0; 10]].concat();
        Frame::new(packet(PROTOCOL_UDP, Ecn::NotEct, &payload))
    }

    #[test]
    fn flows_differ_by_ports_and_segments_of_one_do_not() {
        assert_eq!(tcp(1, 0, 10).flow_hash(), tcp(1, 10, 500).flow_hash());
        assert_ne!(tcp(1, 0, 10).flow_hash(), tcp(2, 0, 10).flow_hash());
        assert_ne!(tcp(1, 0, 10).flow(), udp(1).flow());
    }

    #[test]
    fn a_marked_frame_says_so_in_its_bytes() {
        let mut frame = tcp(1, 0, 10);
        assert_eq!(frame.ecn(), Ecn::Ect0);
        frame.set_ecn(Ecn::Ce);
        assert_eq!(Frame::new(frame.bytes().to_vec()).ecn(), Ecn::Ce);
    }

    #[test]
    fn corruption_turns_one_bit_behind_the_ip_header() {
        let mut rng = Rng::new(1);
        for _ in 0..100 {
            let mut frame = tcp(1, 0, 3);
            let before = frame.bytes().to_vec();
            frame.corrupt(&mut rng);
            let different = before.iter().zip(frame.bytes()).map(|(a, b)| (a ^ b).count_ones());
            assert_eq!(different.sum::<u32>(), 1);
            assert_eq!(before[..20], frame.bytes()[..20]);
        }
    }

    #[test]
    fn frames_that_are_no_ip_packets_are_carried_too() {
        for bytes in [vec![], vec![0x45], vec![0xff; 40], vec![0x60; 10]] {
            let mut frame = Frame::new(bytes.clone());
            assert_eq!((frame.bytes(), frame.ecn()), (&bytes[..], Ecn::NotEct));
            assert_eq!(frame.destination(), None);
            frame.corrupt(&mut Rng::new(1));
            assert_eq!(frame.bytes().len(), bytes.len());
        }
    }
}
