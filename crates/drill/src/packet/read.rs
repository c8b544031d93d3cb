//! Reads packets.

use super::{
    Icmp, Ip, PROTOCOL_ICMP, PROTOCOL_ICMPV6, PROTOCOL_TCP, Packet, Tcp, Transport, option,
};
use std::net::{Ipv4Addr, Ipv6Addr};
use windlass_base::checksum::checksum;

const CUT: &str = "the packet is cut";

/// Takes a packet of a subject apart. The checksum of the transport is not verified: a kernel leaves it to the device.
///
/// # Errors
///
/// A header is cut, or its lengths or its checksum are wrong.
pub fn parse(bytes: &[u8]) -> Result<Packet, String> {
    let (ip, protocol, payload) = match bytes.first().map(|first| first >> 4) {
        Some(4) => ipv4(bytes)?,
        Some(6) => ipv6(bytes)?,
        _ => return Err("neither IPv4 nor IPv6".to_owned()),
    };
    let transport = match protocol {
        PROTOCOL_TCP => Transport::Tcp(tcp(payload)?),
        PROTOCOL_ICMP | PROTOCOL_ICMPV6 => Transport::Icmp(icmp(payload)?),
        _ => Transport::Other { protocol, payload: payload.to_vec() },
    };
    Ok(Packet { ip, transport })
}

fn ipv4(bytes: &[u8]) -> Result<(Ip, u8, &[u8]), String> {
    let fixed: &[u8; 20] = bytes.first_chunk().ok_or(CUT)?;
    let header_len = usize::from(fixed[0] & 0xf) * 4;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if header_len != 20 || total < 20 {
        return Err(format!("an IPv4 header of {header_len} bytes in a packet of {total}"));
    }
    if checksum(fixed) != 0 {
        return Err("the checksum of the IPv4 header is wrong".to_owned());
    }
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
    let ip = Ip {
        source: address(12).into(),
        destination: address(16).into(),
        tos: fixed[1],
        ttl: fixed[8],
        flow_label: 0,
    };
    Ok((ip, fixed[9], bytes.get(20..total).ok_or(CUT)?))
}

fn ipv6(bytes: &[u8]) -> Result<(Ip, u8, &[u8]), String> {
    let fixed: &[u8; 40] = bytes.first_chunk().ok_or(CUT)?;
    let first = u32::from_be_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]);
    let len = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&fixed[at..at + 16]);
        Ipv6Addr::from(octets)
    };
    let ip = Ip {
        source: address(8).into(),
        destination: address(24).into(),
        tos: (first >> 20) as u8,
        ttl: fixed[7],
        flow_label: first & 0xf_ffff,
    };
    Ok((ip, fixed[6], bytes.get(40..40 + len).ok_or(CUT)?))
}

fn tcp(bytes: &[u8]) -> Result<Tcp, String> {
    let fixed: &[u8; 20] = bytes.first_chunk().ok_or(CUT)?;
    let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
    let bits = half(12);
    let header_len = usize::from(bits >> 12) * 4;
    let options = bytes.get(20..header_len).ok_or("the data offset of the TCP header is wrong")?;
    Ok(Tcp {
        source: half(0),
        destination: half(2),
        seq: word(4),
        ack: word(8),
        flags: bits & 0x1ff,
        reserved: (bits >> 9 & 7) as u8,
        window: half(14),
        urgent: half(18),
        options: option::parse(options),
        payload: bytes[header_len..].to_vec(),
    })
}

fn icmp(bytes: &[u8]) -> Result<Icmp, String> {
    let fixed: &[u8; 8] = bytes.first_chunk().ok_or(CUT)?;
    let rest = [fixed[4], fixed[5], fixed[6], fixed[7]];
    Ok(Icmp { kind: fixed[0], code: fixed[1], rest, body: bytes[8..].to_vec() })
}

#[cfg(test)]
mod tests {
    use super::super::{TcpOption, flags};
    use super::*;

    fn packet(source: &str, destination: &str) -> Packet {
        let address = |text: &str| text.parse().expect("an address");
        let tcp = Tcp {
            source: 1000,
            destination: 8080,
            seq: 7,
            ack: 9,
            flags: flags::ACK | flags::AE,
            reserved: 5,
            window: 10,
            urgent: 11,
            options: vec![TcpOption::Mss(1460), TcpOption::Nop, TcpOption::WindowScale(7)],
            payload: vec![0; 3],
        };
        let flow_label = u32::from(source.contains(':')) * 5;
        let ip = Ip {
            source: address(source),
            destination: address(destination),
            tos: 0x12,
            ttl: 64,
            flow_label,
        };
        Packet { ip, transport: Transport::Tcp(tcp) }
    }

    #[test]
    fn packets_survive_the_wire() {
        for packet in [packet("192.0.2.1", "192.168.0.1"), packet("fd00::1", "fd00::2")] {
            let bytes = packet.bytes().expect("bytes");
            assert_eq!(parse(&bytes), Ok(packet));
            (0..bytes.len()).for_each(|len| assert!(parse(&bytes[..len]).is_err(), "{len}"));
        }
        assert_eq!(packet("192.0.2.1", "fd00::2").bytes(), None);
    }

    #[test]
    fn a_packet_is_printed_as_a_script_writes_it() {
        let text = "[tos 0x12] A. 7:10(3) ack 9 win 10 urg 11 <mss 1460,nop,wscale 7>";
        assert_eq!(packet("192.0.2.1", "192.168.0.1").to_string(), text);
        assert!(packet("192.0.2.1", "192.168.0.1").text(true).contains(" .4 7:10"));
    }
}
