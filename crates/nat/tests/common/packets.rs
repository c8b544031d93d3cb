//! Packets with right checksums, and the check of a packet's checksums. The sums are computed here
//! word by word, and not with the NAT's code.

use std::net::{IpAddr, SocketAddr};

pub(crate) const UDP: u8 = 17;
pub(crate) const TCP: u8 = 6;

/// The Internet checksum over several pieces of even length, but for the last.
fn checksum(pieces: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for pair in pieces.iter().flat_map(|piece| piece.chunks(2)) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// The bytes before the payload that a transport's checksum covers.
fn pseudo(source: &[u8], destination: &[u8], protocol: u8, len: usize) -> Vec<u8> {
    let len = (len as u32).to_be_bytes();
    [source, destination, &len, &[0, 0, 0, protocol]].concat()
}

/// An IP packet; `sum_at` is the offset of the payload's checksum.
pub(crate) fn ip(from: IpAddr, to: IpAddr, protocol: u8, payload: &[u8], sum_at: usize) -> Vec<u8> {
    let (source, destination) = (octets(from), octets(to));
    let mut payload = payload.to_vec();
    payload[sum_at..sum_at + 2].fill(0);
    let covered = match protocol {
        1 => vec![],
        _ => pseudo(&source, &destination, protocol, payload.len()),
    };
    let sum = match checksum(&[&covered, &payload]) {
        // Zero would say that the datagram has no checksum (RFC 768).
        0 if protocol == UDP => 0xffff,
        sum => sum,
    };
    payload[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
    let mut header = match from {
        IpAddr::V4(_) => {
            let len = ((20 + payload.len()) as u16).to_be_bytes();
            let mut header = vec![0x45, 0, len[0], len[1], 1, 2, 0x40, 0, 64, protocol, 0, 0];
            header.extend([&source[..], &destination[..]].concat());
            seal(&mut header);
            header
        }
        IpAddr::V6(_) => {
            let len = (payload.len() as u16).to_be_bytes();
            let mut header = vec![0x60, 0, 0, 0, len[0], len[1], protocol, 64];
            header.extend([&source[..], &destination[..]].concat());
            header
        }
    };
    header.extend(payload);
    header
}

/// Writes the checksum of an IPv4 header.
pub(crate) fn seal(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let sum = checksum(&[&packet[..20]]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn ends(from: &str, to: &str) -> (SocketAddr, SocketAddr) {
    (super::endpoint(from), super::endpoint(to))
}

pub(crate) fn udp(from: &str, to: &str, data: &[u8]) -> Vec<u8> {
    let (from, to) = ends(from, to);
    let len = ((8 + data.len()) as u16).to_be_bytes();
    let (source, destination) = (from.port().to_be_bytes(), to.port().to_be_bytes());
    let payload = [&source[..], &destination, &len, &[0, 0], data].concat();
    ip(from.ip(), to.ip(), UDP, &payload, 6)
}

pub(crate) fn tcp(from: &str, to: &str, data: &[u8]) -> Vec<u8> {
    let (from, to) = ends(from, to);
    let mut payload = vec![0; 20];
    payload[..2].copy_from_slice(&from.port().to_be_bytes());
    payload[2..4].copy_from_slice(&to.port().to_be_bytes());
    payload[12] = 0x50;
    payload.extend(data);
    ip(from.ip(), to.ip(), TCP, &payload, 16)
}

fn is_ipv6(packet: &[u8]) -> bool {
    packet[0] >> 4 == 6
}

/// The ICMP error "port unreachable" of the receiver of `packet`, which it quotes in part.
pub(crate) fn error(packet: &[u8]) -> Vec<u8> {
    let quoted = &packet[..packet.len().min(56)];
    let (from, to) = addresses(packet);
    let (protocol, kind, code) = if is_ipv6(packet) { (58, 1, 4) } else { (1, 3, 3) };
    let payload = [&[kind, code, 0, 0, 0, 0, 0, 0], quoted].concat();
    ip(to, from, protocol, &payload, 2)
}

/// An echo request, or the answer to one.
pub(crate) fn echo(from: &str, to: &str, identifier: u16, answer: bool) -> Vec<u8> {
    let (from, to): (IpAddr, IpAddr) =
        (from.parse().expect("an address"), to.parse().expect("an address"));
    let (protocol, kind) = match (from.is_ipv6(), answer) {
        (false, false) => (1, 8),
        (false, true) => (1, 0),
        (true, false) => (58, 128),
        (true, true) => (58, 129),
    };
    let identifier = identifier.to_be_bytes();
    ip(from, to, protocol, &[kind, 0, 0, 0, identifier[0], identifier[1], 0, 1, 7, 7], 2)
}

fn addresses(packet: &[u8]) -> (IpAddr, IpAddr) {
    let address = |at: usize| -> IpAddr {
        match is_ipv6(packet) {
            true => <[u8; 16]>::try_from(&packet[8 + at * 16..][..16]).expect("there").into(),
            false => <[u8; 4]>::try_from(&packet[12 + at * 4..][..4]).expect("there").into(),
        }
    };
    (address(0), address(1))
}

/// Source and destination of a packet of UDP or TCP, whole or quoted.
pub(crate) fn endpoints(packet: &[u8]) -> (SocketAddr, SocketAddr) {
    let transport = if is_ipv6(packet) { 40 } else { 20 };
    let port = |at: usize| u16::from_be_bytes([packet[transport + at], packet[transport + at + 1]]);
    let (from, to) = addresses(packet);
    (SocketAddr::new(from, port(0)), SocketAddr::new(to, port(2)))
}

/// Panics if a checksum of a whole packet is wrong.
#[track_caller]
pub(crate) fn assert_intact(packet: &[u8]) {
    let (header, payload) = packet.split_at(if is_ipv6(packet) { 40 } else { 20 });
    if !is_ipv6(packet) {
        assert_eq!(checksum(&[header]), 0, "the IP header");
    }
    let (protocol, addresses) = match is_ipv6(packet) {
        true => (packet[6], &packet[8..40]),
        false => (packet[9], &packet[12..20]),
    };
    let covered = match protocol {
        1 => vec![],
        _ => pseudo(addresses, &[], protocol, payload.len()),
    };
    assert_eq!(checksum(&[&covered, payload]), 0, "the payload");
}
