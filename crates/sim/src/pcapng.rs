//! Packet captures of a simulation's links.

use crate::model::{LinkDirection, NodeId, Scenario};
use crate::packet::{Address, Body, IPV4_HEADER_BYTES, Packet, UDP_HEADER_BYTES};
use crate::record::Recorder;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use windlass_base::Time;
use windlass_base::pcapng::{self, Captured};
use windlass_tcp::Segment;
use windlass_tcp::segment::ip::{Addresses, IpHeader, PROTOCOL_TCP};
use windlass_tcp::segment::wire::{self, Ports};

/// IPv4 and TCP headers with all their options: what is kept of a packet.
const SNAP_LEN: usize = IPV4_HEADER_BYTES as usize + wire::MAX_HEADER_LEN;
/// The protocol number of UDP.
const PROTOCOL_UDP: u8 = 17;
/// The payload: none is stored in a simulation, so it is all zeros.
static PAYLOAD: [u8; 1 << 16] = [0; 1 << 16];

/// Captures every packet on every link, one file a link, as its end `a` sees them: packets that go
/// out when their transmission begins, packets that come in when they arrive. Names of captures are
/// those of the links. Node n (from 0) has the address 10.0.0.0 + n + 1.
///
/// Headers are real and complete, their checksums right for a payload of zeros, which is cut off
/// (UDP has no checksum, as RFC 768 allows). Errors of writing are kept until
/// [`Captures::finish`].
#[derive(Debug)]
pub struct Captures<W> {
    links: Vec<Capture<W>>,
    error: Option<io::Error>,
}

#[derive(Debug)]
struct Capture<W> {
    writer: W,
    /// Counts packets, for the identification in their IP headers.
    packets: u16,
    /// Kept for its memory.
    blocks: Vec<u8>,
}

impl<W: Write> Captures<W> {
    /// Opens the captures of a scenario's links. `open` returns the writer for a name, which should be
    /// buffered.
    ///
    /// # Errors
    ///
    /// The first error of `open` or of writing a file's header.
    pub fn new(
        scenario: &Scenario,
        mut open: impl FnMut(&str) -> io::Result<W>,
    ) -> io::Result<Captures<W>> {
        let mut links = vec![];
        for link in &scenario.links {
            let mut writer = open(&link.name)?;
            let mut blocks = vec![];
            pcapng::section_header(&mut blocks);
            pcapng::interface(&mut blocks, &link.name, SNAP_LEN as u32);
            writer.write_all(&blocks)?;
            links.push(Capture { writer, packets: 0, blocks });
        }
        Ok(Captures { links, error: None })
    }

    /// Flushes all files.
    ///
    /// # Errors
    ///
    /// The first error of any write since the captures were opened.
    pub fn finish(mut self) -> io::Result<()> {
        for link in &mut self.links {
            link.writer.flush()?;
        }
        self.error.map_or(Ok(()), Err)
    }
}

impl<W: Write> Recorder for Captures<W> {
    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, now: Time, direction: LinkDirection, packet: &Packet) {
        let link = &mut self.links[direction.link];
        link.packets = link.packets.wrapping_add(1);
        let mut bytes = [0; SNAP_LEN];
        let result = headers(packet, link.packets, &mut bytes).and_then(|len| {
            link.blocks.clear();
            let captured = Captured {
                at: now,
                inbound: direction.reverse,
                original_len: packet.wire_bytes(),
                bytes: &bytes[..len],
            };
            pcapng::packet(&mut link.blocks, &captured);
            link.writer.write_all(&link.blocks)
        });
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

/// The IPv4 address of a node.
fn ip_address(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 | ((node as u32 + 1) & 0x00ff_ffff))
}

/// Writes a packet's headers into `out`; returns their length.
fn headers(packet: &Packet, identification: u16, out: &mut [u8; SNAP_LEN]) -> io::Result<usize> {
    let protocol = match packet.body {
        Body::Tcp(_) => PROTOCOL_TCP,
        Body::Udp { .. } => PROTOCOL_UDP,
    };
    let Packet { source, destination, ecn, .. } = *packet;
    let addresses = Addresses::V4 {
        source: ip_address(source.node),
        destination: ip_address(destination.node),
    };
    let header = IpHeader { addresses, ecn, hop_limit: 64, protocol, identification };
    let payload_len = packet.wire_bytes() - IPV4_HEADER_BYTES;
    let begin = header
        .emit(payload_len as usize, out)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a packet longer than 64 KiB"))?;
    let out = &mut out[begin..];
    let len = match packet.body {
        Body::Tcp(segment) => tcp_header(&segment, source, destination, &addresses, out),
        Body::Udp { payload_bytes, .. } => udp_header(payload_bytes, source, destination, out),
    };
    Ok(begin + len)
}

fn tcp_header(
    segment: &Segment,
    source: Address,
    destination: Address,
    addresses: &Addresses,
    out: &mut [u8],
) -> usize {
    let ports = Ports { source: source.port, destination: destination.port };
    let len = wire::emit(segment, ports, out);
    // Segments that do not fit into an IP packet have been refused.
    let payload = &PAYLOAD[..(segment.payload_len as usize).min(PAYLOAD.len())];
    let checksum = wire::checksum(addresses, &out[..len], payload);
    out[wire::CHECKSUM_FIELD].copy_from_slice(&checksum.to_be_bytes());
    len
}

fn udp_header(payload_bytes: u32, source: Address, destination: Address, out: &mut [u8]) -> usize {
    let len = UDP_HEADER_BYTES + payload_bytes;
    out[0..2].copy_from_slice(&source.port.to_be_bytes());
    out[2..4].copy_from_slice(&destination.port.to_be_bytes());
    out[4..6].copy_from_slice(&(len as u16).to_be_bytes());
    out[6..8].fill(0);
    UDP_HEADER_BYTES as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Ecn;
    use windlass_tcp::segment::ip;
    use windlass_tcp::{Flags, SeqNumber, Timestamps};

    fn packet(body: Body) -> Packet {
        Packet {
            flow: 0,
            connection: 0,
            reverse: false,
            source: Address { node: 0, port: 1024 },
            destination: Address { node: 258, port: 5001 },
            ecn: Ecn::Ce,
            body,
        }
    }

    #[test]
    fn tcp_headers_say_what_the_packet_says_and_their_checksums_are_right() {
        let mut segment = Segment {
            seq: SeqNumber(0xffff_fff0),
            ack: SeqNumber(77),
            flags: Flags::ACK | Flags::ECE,
            window: 1234,
            payload_len: 1_447,
            ..Segment::default()
        };
        segment.options.timestamps = Some(Timestamps { value: 3, echo_reply: 4 });
        let packet = packet(Body::Tcp(segment));
        let mut bytes = [0; SNAP_LEN];
        let len = headers(&packet, 9, &mut bytes).expect("short enough");
        let mut whole = bytes[..len].to_vec();
        whole.resize(packet.wire_bytes() as usize, 0);
        let parsed = ip::parse(&whole).expect("a sound IPv4 packet");
        assert_eq!(parsed.header.ecn, Ecn::Ce);
        let addresses = parsed.header.addresses;
        let expected = Addresses::V4 {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 1, 3),
        };
        assert_eq!(addresses, expected);
        assert!(wire::verify(&addresses, parsed.payload));
        let (ports, parsed, _) = wire::parse(parsed.payload).expect("a sound header");
        assert_eq!((ports.source, ports.destination), (1024, 5001));
        assert_eq!(parsed, segment);
    }

    #[test]
    fn udp_headers_tell_their_length() {
        let mut bytes = [0; SNAP_LEN];
        let len = headers(&packet(Body::Udp { payload_bytes: 100, frame: 0 }), 1, &mut bytes);
        assert_eq!(len.expect("short enough"), 28);
        assert_eq!(bytes[20..28], [4, 0, 0x13, 0x89, 0, 108, 0, 0]);
    }
}
