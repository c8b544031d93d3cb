//! Packet captures in the pcapng format (draft-ietf-opsawg-pcapng), which Wireshark and tshark read.
//!
//! Three kinds of blocks are all that a capture needs, so they are written here: a crate would bring
//! a parser, its own error type and an allocation for each packet.

use crate::model::{LinkDirection, NodeId, Scenario};
use crate::packet::{Address, Body, IPV4_HEADER_BYTES, Packet, UDP_HEADER_BYTES};
use crate::record::Recorder;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use windlass_base::Time;
use windlass_tcp::Segment;
use windlass_tcp::segment::ip::{Addresses, IpHeader, PROTOCOL_TCP};
use windlass_tcp::segment::wire::{self, Ports};

/// IPv4 and TCP headers with all their options: what is kept of a packet.
const SNAP_LEN: usize = IPV4_HEADER_BYTES as usize + wire::MAX_HEADER_LEN;
/// Raw IP packets, without a link layer.
const LINKTYPE_RAW: u16 = 101;
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
            write_section_header(&mut writer)?;
            write_interface(&mut writer, &link.name)?;
            links.push(Capture { writer, packets: 0 });
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
        let result = headers(packet, link.packets, &mut bytes).and_then(|captured| {
            let original = packet.wire_bytes();
            let bytes = &bytes[..captured];
            write_packet(&mut link.writer, now, direction.reverse, original, bytes)
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

const SECTION_HEADER_BLOCK: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION_BLOCK: u32 = 1;
const ENHANCED_PACKET_BLOCK: u32 = 6;
const OPTION_END: u16 = 0;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_PACKET_FLAGS: u16 = 2;
const FLAG_INBOUND: u32 = 0b01;
const FLAG_OUTBOUND: u32 = 0b10;

/// Blocks are little-endian, as their section header says.
fn write_section_header(writer: &mut impl Write) -> io::Result<()> {
    let mut body = vec![];
    body.extend(0x1a2b_3c4d_u32.to_le_bytes());
    // Version 1.0, length of the section not given.
    body.extend([1, 0, 0, 0]);
    body.extend(u64::MAX.to_le_bytes());
    write_block(writer, SECTION_HEADER_BLOCK, &body)
}

fn write_interface(writer: &mut impl Write, name: &str) -> io::Result<()> {
    let mut body = vec![];
    body.extend(LINKTYPE_RAW.to_le_bytes());
    body.extend([0, 0]);
    body.extend((SNAP_LEN as u32).to_le_bytes());
    push_option(&mut body, OPTION_INTERFACE_NAME, name.as_bytes());
    // Times are in units of 10^-9 s.
    push_option(&mut body, OPTION_TIME_RESOLUTION, &[9]);
    push_option(&mut body, OPTION_END, &[]);
    write_block(writer, INTERFACE_DESCRIPTION_BLOCK, &body)
}

fn push_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn write_block(writer: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let len = (12 + body.len() as u32).to_le_bytes();
    writer.write_all(&kind.to_le_bytes())?;
    writer.write_all(&len)?;
    writer.write_all(body)?;
    writer.write_all(&len)
}

fn write_packet(
    writer: &mut impl Write,
    now: Time,
    inbound: bool,
    original_len: u32,
    bytes: &[u8],
) -> io::Result<()> {
    // Fields, the packet, the flags and the end of options.
    let mut body = [0; 20 + SNAP_LEN + 8 + 4];
    let nanos = now.as_nanos();
    let fields = [0, (nanos >> 32) as u32, nanos as u32, bytes.len() as u32, original_len];
    for (place, field) in body.chunks_exact_mut(4).zip(fields) {
        place.copy_from_slice(&field.to_le_bytes());
    }
    body[20..20 + bytes.len()].copy_from_slice(bytes);
    let options = 20 + bytes.len().next_multiple_of(4);
    let flags = if inbound { FLAG_INBOUND } else { FLAG_OUTBOUND };
    body[options..options + 2].copy_from_slice(&OPTION_PACKET_FLAGS.to_le_bytes());
    body[options + 2..options + 4].copy_from_slice(&4u16.to_le_bytes());
    body[options + 4..options + 8].copy_from_slice(&flags.to_le_bytes());
    write_block(writer, ENHANCED_PACKET_BLOCK, &body[..options + 12])
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

    #[test]
    fn blocks_have_the_lengths_that_they_tell() {
        let mut file = vec![];
        write_section_header(&mut file).expect("memory takes everything");
        write_interface(&mut file, "a-b").expect("memory takes everything");
        let time = Time::from_nanos(0x1_0000_0002);
        write_packet(&mut file, time, true, 1_500, &[1; 41]).expect("memory takes everything");
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
        let (mut at, mut kinds) = (0, vec![]);
        while at < file.len() {
            let len = word(at + 4) as usize;
            assert_eq!((len % 4, word(at + len - 4) as usize), (0, len));
            kinds.push(word(at));
            at += len;
        }
        let expected = [SECTION_HEADER_BLOCK, INTERFACE_DESCRIPTION_BLOCK, ENHANCED_PACKET_BLOCK];
        assert_eq!((at, &kinds[..]), (file.len(), &expected[..]));
        let begin = file.len() - (32 + 44 + 12);
        assert_eq!([12, 16, 20, 24].map(|field| word(begin + field)), [1, 2, 41, 1_500]);
    }
}
