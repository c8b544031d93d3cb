//! IP packets of the command: taken apart on arrival, put together on the way out.

use std::net::{IpAddr, SocketAddr};
use windlass_base::Ecn;
use windlass_base::checksum::checksum;
use windlass_tcp::Segment;
use windlass_tcp::segment::ip::{
    self, Addresses, IPV6_HEADER_LEN, IpHeader, PROTOCOL_TCP, partial_checksum, transport_checksum,
};
use windlass_tcp::segment::wire::{self, CHECKSUM_FIELD, MAX_HEADER_LEN, Ports};

pub(crate) const PROTOCOL_ICMP: u8 = 1;
pub(crate) const PROTOCOL_UDP: u8 = 17;
pub(crate) const PROTOCOL_ICMPV6: u8 = 58;

/// A UDP header in bytes (RFC 768).
pub(crate) const UDP_HEADER_LEN: usize = 8;
/// Room for the longest IP and TCP header of a packet that is sent.
pub(crate) const HEAD_LEN_MAX: usize = IPV6_HEADER_LEN + MAX_HEADER_LEN;
/// TTL and hop limit of sent packets.
const HOP_LIMIT: u8 = 64;
/// Echo requests and replies (RFC 792, RFC 4443 section 4).
const ECHO_REQUEST: u8 = 8;
const ECHO_REQUEST_V6: u8 = 128;

/// The two ends of a packet or flow. As a packet's, `app` is the source.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ends {
    /// The command's end.
    pub(crate) app: SocketAddr,
    /// The end outside.
    pub(crate) far: SocketAddr,
}

/// A packet of the command that needs a reaction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Incoming<'a> {
    Tcp {
        ends: Ends,
        segment: Segment,
        payload: &'a [u8],
        ecn: Ecn,
    },
    Udp {
        ends: Ends,
        payload: &'a [u8],
    },
    /// The first piece of a UDP datagram.
    UdpPiece {
        ends: Ends,
    },
    /// An echo request: everything behind the ICMP header's first four bytes.
    Echo {
        from: IpAddr,
        to: IpAddr,
        rest: &'a [u8],
    },
    /// A packet of a protocol that is not carried.
    OtherProtocol {
        from: IpAddr,
        to: IpAddr,
    },
}

/// Takes a packet apart. `None` for a packet to ignore: damaged, a later fragment, to a group of
/// hosts, or ICMP other than an echo request. With `checksum_known_good` the transport's checksum is
/// not verified: the kernel leaves it incomplete where the device computes it.
pub(crate) fn parse(bytes: &[u8], checksum_known_good: bool) -> Option<Incoming<'_>> {
    let packet = ip::parse(bytes).ok()?;
    let addresses = &packet.header.addresses;
    let (from, to) = addresses.both();
    if packet.later_fragment || !is_one_host(from) || !is_one_host(to) {
        return None;
    }
    let protocol = packet.header.protocol;
    let verifies = |bytes: &[u8]| {
        checksum_known_good || transport_checksum(addresses, protocol, &[bytes]) == 0
    };
    match protocol {
        // A kernel does not fragment its own TCP, and a piece cannot be verified.
        PROTOCOL_TCP if packet.fragment || !verifies(packet.payload) => None,
        PROTOCOL_TCP => {
            let (ports, segment, at) = wire::parse(packet.payload).ok()?;
            let ends = with_ports(from, to, ports);
            Some(Incoming::Tcp {
                ends,
                segment,
                payload: packet.payload.get(at..)?,
                ecn: packet.header.ecn,
            })
        }
        PROTOCOL_UDP if packet.fragment => {
            Some(Incoming::UdpPiece { ends: udp_ends(from, to, packet.payload)? })
        }
        PROTOCOL_UDP => parse_udp(from, to, packet.payload, verifies),
        PROTOCOL_ICMP | PROTOCOL_ICMPV6 => {
            // ICMP in IPv6 or ICMPv6 in IPv4: no host answers it.
            let right_family = from.is_ipv4() == (protocol == PROTOCOL_ICMP);
            parse_echo(from, to, packet.payload).filter(|_| right_family && !packet.fragment)
        }
        _ => Some(Incoming::OtherProtocol { from, to }),
    }
}

fn parse_udp<'a>(
    from: IpAddr,
    to: IpAddr,
    bytes: &'a [u8],
    verifies: impl Fn(&[u8]) -> bool,
) -> Option<Incoming<'a>> {
    let ends = udp_ends(from, to, bytes)?;
    let header: &[u8; UDP_HEADER_LEN] = bytes.first_chunk()?;
    let len = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let datagram = bytes.get(..len)?;
    let payload = datagram.get(UDP_HEADER_LEN..)?;
    // Zero says that an IPv4 sender computed no checksum (RFC 768); IPv6 requires one.
    let without = header[6..] == [0, 0] && from.is_ipv4();
    (without || verifies(datagram)).then_some(Incoming::Udp { ends, payload })
}

fn udp_ends(from: IpAddr, to: IpAddr, bytes: &[u8]) -> Option<Ends> {
    let [a, b, c, d] = *bytes.first_chunk::<4>()?;
    let (source, destination) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    Some(with_ports(from, to, Ports { source, destination }))
}

/// The checksum of a request is not verified, as the reply is computed anew: a damaged request gets
/// a valid reply that the asker does not recognise.
fn parse_echo(from: IpAddr, to: IpAddr, bytes: &[u8]) -> Option<Incoming<'_>> {
    let ([kind, code, _, _], rest) = bytes.split_first_chunk()?;
    let wanted = if from.is_ipv4() { ECHO_REQUEST } else { ECHO_REQUEST_V6 };
    (*kind == wanted && *code == 0 && rest.len() >= 4).then_some(Incoming::Echo { from, to, rest })
}

fn with_ports(from: IpAddr, to: IpAddr, ports: Ports) -> Ends {
    Ends { app: SocketAddr::new(from, ports.source), far: SocketAddr::new(to, ports.destination) }
}

/// Whether the address can be that of one host. No ICMP error answers a packet to several hosts
/// (RFC 1122 section 3.2.2, RFC 4443 section 2.4).
fn is_one_host(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !address.is_multicast() && !address.is_unspecified() && !broadcast
}

/// The place of a transport checksum that the kernel completes: offsets in a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PartialChecksum {
    /// The first byte that the checksum covers.
    pub start: u16,
    /// The position of the checksum's field, from `start`.
    pub offset: u16,
}

/// A packet to the command.
#[derive(Copy, Clone, Debug)]
pub struct Packet<'a> {
    /// IP and TCP header; of other packets, all bytes.
    pub head: &'a [u8],
    /// The payload in two pieces.
    pub payload: [&'a [u8]; 2],
    /// The checksum that the kernel has to complete; `None` if it is complete.
    pub checksum: Option<PartialChecksum>,
}

impl Packet<'_> {
    /// All bytes of the packet.
    pub fn to_vec(&self) -> Vec<u8> {
        [self.head, self.payload[0], self.payload[1]].concat()
    }
}

/// A segment to send, and its checksum's kind.
pub(crate) struct Outgoing<'a> {
    pub(crate) ends: &'a Ends,
    pub(crate) segment: &'a Segment,
    pub(crate) payload: [&'a [u8]; 2],
    pub(crate) ecn: Ecn,
    /// The kernel completes the checksum.
    pub(crate) offload: bool,
}

/// Writes the headers of a segment to `head`; returns their length and the checksum to complete.
pub(crate) fn write_head(
    outgoing: &Outgoing<'_>,
    head: &mut [u8; HEAD_LEN_MAX],
) -> Option<(usize, Option<PartialChecksum>)> {
    let Outgoing { ends, segment, payload, ecn, offload } = *outgoing;
    let addresses = Addresses::new(ends.far.ip(), ends.app.ip())?;
    let ports = Ports { source: ends.far.port(), destination: ends.app.port() };
    let ip_len = ip_header_len(&addresses);
    let (ip_head, tcp) = head.split_at_mut(ip_len);
    let tcp_len = wire::emit(segment, ports, tcp);
    let len = tcp_len + payload[0].len() + payload[1].len();
    let checksum = match offload {
        true => partial_checksum(&addresses, PROTOCOL_TCP, u32::try_from(len).ok()?),
        false => complete_checksum(&addresses, &tcp[..tcp_len], payload),
    };
    tcp[CHECKSUM_FIELD].copy_from_slice(&checksum.to_be_bytes());
    header(addresses, PROTOCOL_TCP, ecn).emit(len, ip_head).ok()?;
    let partial = offload
        .then_some(PartialChecksum { start: ip_len as u16, offset: CHECKSUM_FIELD.start as u16 });
    Some((ip_len + tcp_len, partial))
}

/// Only the last piece of a checksum's input may have an odd length.
fn complete_checksum(addresses: &Addresses, head: &[u8], payload: [&[u8]; 2]) -> u16 {
    if payload[0].len().is_multiple_of(2) {
        transport_checksum(addresses, PROTOCOL_TCP, &[head, payload[0], payload[1]])
    } else {
        transport_checksum(addresses, PROTOCOL_TCP, &[head, &payload.concat()])
    }
}

fn ip_header_len(addresses: &Addresses) -> usize {
    match addresses {
        Addresses::V4 { .. } => ip::IPV4_HEADER_LEN,
        Addresses::V6 { .. } => ip::IPV6_HEADER_LEN,
    }
}

fn header(addresses: Addresses, protocol: u8, ecn: Ecn) -> IpHeader {
    IpHeader { addresses, ecn, hop_limit: HOP_LIMIT, protocol, identification: 0 }
}

/// A whole packet. `None` if the families differ or the payload is too long.
fn whole(source: IpAddr, destination: IpAddr, protocol: u8, payload: &[u8]) -> Option<Vec<u8>> {
    let addresses = Addresses::new(source, destination)?;
    let mut ip = [0; IPV6_HEADER_LEN];
    let len = header(addresses, protocol, Ecn::NotEct).emit(payload.len(), &mut ip).ok()?;
    Some([&ip[..len], payload].concat())
}

/// A UDP datagram from the far end to the command.
pub(crate) fn udp(ends: &Ends, payload: &[u8]) -> Option<Vec<u8>> {
    let (source, destination) = (ends.far, ends.app);
    let addresses = Addresses::new(source.ip(), destination.ip())?;
    let len = u16::try_from(UDP_HEADER_LEN + payload.len()).ok()?;
    let mut datagram = Vec::with_capacity(usize::from(len));
    datagram.extend(source.port().to_be_bytes());
    datagram.extend(destination.port().to_be_bytes());
    datagram.extend(len.to_be_bytes());
    datagram.extend([0; 2]);
    datagram.extend(payload);
    // A computed zero is sent as its complement, since zero says that there is none (RFC 768).
    let checksum = match transport_checksum(&addresses, PROTOCOL_UDP, &[&datagram]) {
        0 => 0xffff,
        checksum => checksum,
    };
    datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
    whole(source.ip(), destination.ip(), PROTOCOL_UDP, &datagram)
}

/// An ICMP message: its type, code and everything behind its checksum.
pub(crate) fn icmp(
    source: IpAddr,
    destination: IpAddr,
    kind_and_code: [u8; 2],
    rest: &[u8],
) -> Option<Vec<u8>> {
    let addresses = Addresses::new(source, destination)?;
    let mut message = [&kind_and_code[..], &[0; 2], rest].concat();
    let (protocol, checksum) = match addresses {
        Addresses::V4 { .. } => (PROTOCOL_ICMP, checksum(&message)),
        Addresses::V6 { .. } => {
            (PROTOCOL_ICMPV6, transport_checksum(&addresses, PROTOCOL_ICMPV6, &[&message]))
        }
    };
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    whole(source, destination, protocol, &message)
}
