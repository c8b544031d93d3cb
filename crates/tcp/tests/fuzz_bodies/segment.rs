//! Parses arbitrary bytes as a TCP segment and as an IP packet: no parser panics, and a header that
//! was parsed and written once stays the same when this is repeated.

use windlass_tcp::segment::ip::{self, Addresses, PROTOCOL_TCP};
use windlass_tcp::segment::wire;
use windlass_tcp::{Options, SackBlocks, Segment};

/// One input of the target `segment`.
pub(crate) fn run(bytes: &[u8]) {
    segment(bytes);
    segment(&with_fixed_header(bytes));
    packet(bytes);
    packet(&plausible_v4(bytes));
    packet(&plausible_v6(bytes));
}

fn segment(bytes: &[u8]) {
    let Ok((ports, segment, payload)) = wire::parse(bytes) else { return };
    assert_eq!(payload + segment.payload_len as usize, bytes.len());

    let mut written = [0; wire::MAX_HEADER_LEN];
    let len = wire::emit(&segment, ports, &mut written);
    assert_eq!(len, wire::MIN_HEADER_LEN + segment.options.wire_len());
    let again = wire::parse(&written[..len]).expect("a header just written");
    assert_eq!(again, (ports, as_sent(&segment), len));

    let mut rewritten = [0; wire::MAX_HEADER_LEN];
    assert_eq!(wire::emit(&again.1, ports, &mut rewritten), len);
    assert_eq!(written, rewritten);
}

/// The header of `segment` as it arrives: without the SACK blocks that found no room.
fn as_sent(segment: &Segment) -> Segment {
    let mut sack = SackBlocks::default();
    for &(left, right) in segment.options.sack_that_fits() {
        assert!(sack.push(left, right));
    }
    let options = Options { sack, ..segment.options };
    Segment { options, payload_len: 0, ..*segment }
}

/// Up to 40 of the bytes as the options of a valid header, so that the fuzzer reaches them quickly.
fn with_fixed_header(bytes: &[u8]) -> Vec<u8> {
    let mut header = vec![0; wire::MIN_HEADER_LEN];
    header.extend_from_slice(&bytes[..bytes.len().min(Options::MAX_LEN)]);
    header.resize(header.len().next_multiple_of(4), 0);
    header[12] = (header.len() as u8 / 4) << 4;
    header
}

fn packet(bytes: &[u8]) {
    let Ok(packet) = ip::parse(bytes) else { return };
    let mut written = [0; ip::IPV6_HEADER_LEN];
    let len = packet.header.emit(packet.payload.len(), &mut written).expect("it was a packet");
    let rewritten = [&written[..len], packet.payload].concat();
    // Without the extension headers an upper protocol that is one itself would be read again.
    let whole = !packet.fragment && packet.header.protocol == PROTOCOL_TCP;
    if whole || matches!(packet.header.addresses, Addresses::V4 { .. }) {
        let again = ip::parse(&rewritten).expect("a packet just written");
        assert_eq!((again.header, again.payload), (packet.header, packet.payload));
        assert!(!again.fragment);
    }
    if whole {
        wire::verify(&packet.header.addresses, packet.payload);
        segment(packet.payload);
    }
}

/// The bytes as an IPv4 packet with version, total length and checksum set right.
fn plausible_v4(bytes: &[u8]) -> Vec<u8> {
    let mut packet = bytes.to_vec();
    packet.resize(packet.len().clamp(ip::IPV4_HEADER_LEN, 0xffff), 0);
    packet[0] = 0x40 | packet[0] & 0x0f;
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    packet[10..12].fill(0);
    let header = usize::from(packet[0] & 0x0f) * 4;
    let mut sum: u32 = 0;
    for word in packet[..header.min(packet.len())].chunks_exact(2) {
        sum += u32::from(u16::from_be_bytes([word[0], word[1]]));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
    packet
}

/// The bytes as an IPv6 packet with version and length set right.
fn plausible_v6(bytes: &[u8]) -> Vec<u8> {
    let mut packet = bytes.to_vec();
    packet.resize(packet.len().clamp(ip::IPV6_HEADER_LEN, 0xffff), 0);
    packet[0] = 0x60 | packet[0] & 0x0f;
    let len = (packet.len() - ip::IPV6_HEADER_LEN) as u16;
    packet[4..6].copy_from_slice(&len.to_be_bytes());
    packet
}
