//! Packets as bytes: taken apart on arrival, written with the options where Linux puts them.
//!
//! RFC 9293 section 3.1 leaves the order and padding of options open, and scripts compare them.

use std::net::{IpAddr, SocketAddr};
use windlass_base::Ecn;
use windlass_base::checksum::checksum;
use windlass_tcp::segment::ip::{self, Addresses, IPV4_HEADER_LEN, IpHeader, PROTOCOL_TCP};
use windlass_tcp::segment::wire::{self, CHECKSUM_FIELD, MAX_HEADER_LEN, MIN_HEADER_LEN, Ports};
use windlass_tcp::segment::{AccEcnOption, AccEcnOrder, Options};
use windlass_tcp::{Flags, Segment, SeqNumber};

const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_ICMPV6: u8 = 58;
/// Linux's TTL.
const HOP_LIMIT: u8 = 64;

/// A packet for the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Incoming {
    Segment {
        ends: Ends,
        segment: Segment,
        ecn: Ecn,
    },
    /// An ICMP error about a segment that this host sent, with the error's kind and the segment's number.
    Error {
        ends: Ends,
        seq: SeqNumber,
        error: IcmpError,
    },
}

/// The two ends of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ends {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

/// The meaning of an ICMP error for a connection (RFC 9293 section 3.9.2.2, RFC 1191).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum IcmpError {
    /// A router could not pass it on unfragmented; its link takes packets of this many bytes.
    TooBig(u32),
    /// No way there, by Linux's number of the error. `hard`: it will not help to try again.
    Unreachable { errno: i32, hard: bool },
}

/// Takes a packet apart; `None` for one that a host drops.
pub(super) fn parse(bytes: &[u8]) -> Option<Incoming> {
    let packet = ip::parse(bytes).ok()?;
    let (from, to) = packet.header.addresses.both();
    match packet.header.protocol {
        PROTOCOL_TCP if !packet.fragment => {
            if !wire::verify(&packet.header.addresses, packet.payload) {
                return None;
            }
            let (ports, segment, _) = wire::parse(packet.payload).ok()?;
            let local = SocketAddr::new(to, ports.destination);
            let remote = SocketAddr::new(from, ports.source);
            let ecn = packet.header.ecn;
            Some(Incoming::Segment { ends: Ends { local, remote }, segment, ecn })
        }
        PROTOCOL_ICMP | PROTOCOL_ICMPV6 => parse_error(packet.header.protocol, packet.payload),
        _ => None,
    }
}

/// An ICMP error that quotes a segment of this host.
fn parse_error(protocol: u8, bytes: &[u8]) -> Option<Incoming> {
    let head: &[u8; 8] = bytes.first_chunk()?;
    let quoted = bytes.get(8..)?;
    let error = match protocol {
        PROTOCOL_ICMP => meaning(head)?,
        _ => meaning_v6(head)?,
    };
    let (source, destination, transport) = quoted_ends(quoted)?;
    let start: &[u8; 8] = transport.first_chunk()?;
    let port = |at: usize| u16::from_be_bytes([start[at], start[at + 1]]);
    let seq = SeqNumber(u32::from_be_bytes([start[4], start[5], start[6], start[7]]));
    let local = SocketAddr::new(source, port(0));
    let remote = SocketAddr::new(destination, port(2));
    Some(Incoming::Error { ends: Ends { local, remote }, seq, error })
}

/// ICMP for IPv4 (RFC 792, RFC 1191), with Linux's errors (`icmp_err_convert`).
fn meaning(head: &[u8; 8]) -> Option<IcmpError> {
    use super::abi::errno::{ECONNREFUSED, EHOSTUNREACH, ENETUNREACH};
    let unreachable = |errno, hard| Some(IcmpError::Unreachable { errno, hard });
    match (head[0], head[1]) {
        (3, 4) => Some(IcmpError::TooBig(u32::from(u16::from_be_bytes([head[6], head[7]])))),
        (3, 0 | 6 | 11) => unreachable(ENETUNREACH, false),
        (3, 2) => unreachable(super::abi::errno::ENOPROTOOPT, true),
        (3, 3) => unreachable(ECONNREFUSED, true),
        (3, 9 | 10 | 13) => unreachable(EHOSTUNREACH, true),
        (3, _) | (11, 0) => unreachable(EHOSTUNREACH, false),
        (12, 0) => unreachable(super::abi::errno::EPROTO, true),
        _ => None,
    }
}

/// ICMP for IPv6 (RFC 4443).
fn meaning_v6(head: &[u8; 8]) -> Option<IcmpError> {
    use super::abi::errno::{ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EPROTO};
    let unreachable = |errno, hard| Some(IcmpError::Unreachable { errno, hard });
    match (head[0], head[1]) {
        (2, _) => Some(IcmpError::TooBig(u32::from_be_bytes([head[4], head[5], head[6], head[7]]))),
        (1, 0) => unreachable(ENETUNREACH, false),
        (1, 4) => unreachable(ECONNREFUSED, true),
        (1, _) | (3, _) => unreachable(EHOSTUNREACH, false),
        (4, _) => unreachable(EPROTO, true),
        _ => None,
    }
}

/// The addresses of a quoted packet, which may be cut, and what follows its IP header.
fn quoted_ends(quoted: &[u8]) -> Option<(IpAddr, IpAddr, &[u8])> {
    let octets4 = |at: usize| <[u8; 4]>::try_from(quoted.get(at..at + 4)?).ok();
    let octets16 = |at: usize| <[u8; 16]>::try_from(quoted.get(at..at + 16)?).ok();
    match quoted.first()? >> 4 {
        4 if *quoted.get(9)? == PROTOCOL_TCP => {
            let header_len = usize::from(quoted[0] & 0x0f) * 4;
            Some((octets4(12)?.into(), octets4(16)?.into(), quoted.get(header_len..)?))
        }
        6 if *quoted.get(6)? == PROTOCOL_TCP => {
            Some((octets16(8)?.into(), octets16(24)?.into(), quoted.get(40..)?))
        }
        _ => None,
    }
}

/// How a packet is to leave.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marking {
    /// The ECN field.
    pub(super) ecn: Ecn,
    /// The rest of the octet (IP_TOS, IPV6_TCLASS).
    pub(super) tos: u8,
    /// The hop limit (IP_TTL); zero for the host's.
    pub(super) hop_limit: u8,
}

/// The packet with `segment`, whose payload is zeros; `None` if it is too long for one packet.
pub(super) fn emit(ends: Ends, segment: &Segment, marking: Marking) -> Option<Vec<u8>> {
    let addresses = Addresses::new(ends.local.ip(), ends.remote.ip())?;
    let mut tcp = header(segment, ends);
    tcp.resize(tcp.len() + segment.payload_len as usize, 0);
    let sum = wire::checksum(&addresses, &[], &tcp);
    tcp[CHECKSUM_FIELD].copy_from_slice(&sum.to_be_bytes());
    let hop_limit = if marking.hop_limit == 0 { HOP_LIMIT } else { marking.hop_limit };
    let header = IpHeader {
        addresses,
        ecn: marking.ecn,
        hop_limit,
        protocol: PROTOCOL_TCP,
        identification: 0,
    };
    let mut packet = vec![0; ip::IPV6_HEADER_LEN];
    let len = header.emit(tcp.len(), &mut packet).ok()?;
    packet.truncate(len);
    set_class(&mut packet, marking.tos);
    packet.extend_from_slice(&tcp);
    Some(packet)
}

/// Sets the octet of type of service beside the ECN field.
fn set_class(header: &mut [u8], tos: u8) {
    let tos = tos & !0b11;
    if tos == 0 {
        return;
    }
    if header.len() == IPV4_HEADER_LEN {
        header[1] |= tos;
        header[10..12].fill(0);
        let sum = checksum(header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        header[0] |= tos >> 4;
        header[1] |= tos << 4;
    }
}

/// The TCP header, its checksum zero.
fn header(segment: &Segment, ends: Ends) -> Vec<u8> {
    let options = options(&segment.options);
    let ports = Ports { source: ends.local.port(), destination: ends.remote.port() };
    let bare = Segment { options: Options::default(), ..*segment };
    let mut out = vec![0; MAX_HEADER_LEN];
    wire::emit(&bare, ports, &mut out);
    out.truncate(MIN_HEADER_LEN);
    out.extend_from_slice(&options);
    // RFC 9293 section 3.1: the data offset counts words of four bytes.
    out[12] = (out[12] & 0x0f) | ((out.len() / 4) as u8) << 4;
    out
}

/// The options in Linux's order.
fn options(options: &Options) -> Vec<u8> {
    const NOP: u8 = 1;
    let mut out = Vec::with_capacity(Options::MAX_LEN);
    if let Some(mss) = options.mss {
        out.extend([2, 4]);
        out.extend(mss.to_be_bytes());
    }
    if let Some(timestamps) = options.timestamps {
        out.extend(if options.sack_permitted { [4, 2] } else { [NOP, NOP] });
        out.extend([8, 10]);
        out.extend(timestamps.value.to_be_bytes());
        out.extend(timestamps.echo_reply.to_be_bytes());
    }
    if let Some(option) = &options.accecn {
        out.extend(accecn(option));
        out.resize(out.len().next_multiple_of(4), NOP);
    }
    if options.sack_permitted && options.timestamps.is_none() {
        out.extend([NOP, NOP, 4, 2]);
    }
    if let Some(shift) = options.window_scale {
        out.extend([NOP, 3, 3, shift]);
    }
    let blocks = options.sack_that_fits();
    if !blocks.is_empty() {
        out.extend([NOP, NOP, 5, 2 + 8 * blocks.len() as u8]);
        for (left, right) in blocks {
            out.extend(left.0.to_be_bytes());
            out.extend(right.0.to_be_bytes());
        }
    }
    out
}

/// The AccECN option, without padding (RFC 9768 section 3.2.3).
fn accecn(option: &AccEcnOption) -> Vec<u8> {
    let (kind, fields) = match option.order() {
        AccEcnOrder::Ect0First => (172, [option.ect0(), option.ce(), option.ect1()]),
        AccEcnOrder::Ect1First => (174, [option.ect1(), option.ce(), option.ect0()]),
    };
    let body: Vec<u8> =
        fields.into_iter().flatten().flat_map(|field| field.to_be_bytes()[1..].to_vec()).collect();
    [&[kind, 2 + body.len() as u8], &body[..]].concat()
}

/// The reset that answers a segment for which there is no socket, and its flags as Linux sets them.
pub(super) fn reset_reply(segment: &Segment) -> Option<Segment> {
    segment.reset_reply().filter(|_| !segment.flags.contains(Flags::RST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_tcp::Timestamps;

    fn ends() -> Ends {
        Ends {
            local: "192.168.0.1:8080".parse().expect("an address"),
            remote: "192.0.2.1:40000".parse().expect("an address"),
        }
    }

    fn turned(ends: Ends) -> Ends {
        Ends { local: ends.remote, remote: ends.local }
    }

    #[test]
    fn a_packet_survives_being_written_and_taken_apart() {
        let segment = Segment {
            seq: SeqNumber(7),
            ack: SeqNumber(9),
            flags: Flags::ACK | Flags::PSH | Flags::AE,
            window: 300,
            options: Options {
                timestamps: Some(Timestamps { value: 1, echo_reply: 2 }),
                accecn: Some(AccEcnOption::new(AccEcnOrder::Ect1First, &[1, 0, 1])),
                ..Options::default()
            },
            payload_len: 1000,
        };
        let marking = Marking { ecn: Ecn::Ect0, tos: 0x10, hop_limit: 0 };
        let bytes = emit(ends(), &segment, marking).expect("a packet");
        assert_eq!(bytes[1], 0x12);
        let parsed = parse(&bytes).expect("a segment");
        assert_eq!(parsed, Incoming::Segment { ends: turned(ends()), segment, ecn: Ecn::Ect0 });
    }

    #[test]
    fn options_of_a_syn_ack_stand_as_linux_has_them() {
        let syn_ack = Options {
            mss: Some(1460),
            window_scale: Some(8),
            sack_permitted: true,
            accecn: Some(AccEcnOption::new(AccEcnOrder::Ect1First, &[1, 0, 1])),
            ..Options::default()
        };
        let kinds = [2, 4, 5, 180, 174, 11, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 4, 2, 1, 3, 3, 8];
        assert_eq!(options(&syn_ack), kinds);
        let timed = Options { timestamps: Some(Timestamps { value: 5, echo_reply: 6 }), ..syn_ack };
        let kinds = [4, 2, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
        assert_eq!(options(&timed)[4..16], kinds);
        assert_eq!(options(&timed).len(), 4 + 12 + 12 + 4);
    }

    #[test]
    fn a_damaged_packet_is_dropped() {
        let mut bytes = emit(ends(), &Segment::default(), Marking::default()).expect("a packet");
        *bytes.last_mut().expect("not empty") ^= 1;
        assert_eq!(parse(&bytes), None);
        assert_eq!(parse(&[]), None);
    }

    #[test]
    fn an_icmp_error_names_the_connection_and_the_mtu() {
        let quoted =
            emit(ends(), &Segment { seq: SeqNumber(5), ..Segment::default() }, Marking::default())
                .expect("a packet");
        let icmp = [&[3, 4, 0, 0, 0, 0, 5, 0x14], &quoted[..28]].concat();
        let error = IcmpError::TooBig(1300);
        assert_eq!(
            parse_error(PROTOCOL_ICMP, &icmp),
            Some(Incoming::Error { ends: ends(), seq: SeqNumber(5), error })
        );
        assert_eq!(parse_error(PROTOCOL_ICMP, &icmp[..20]), None);
    }
}
