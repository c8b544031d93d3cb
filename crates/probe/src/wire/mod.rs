//! Packets in and out: the engine's segments in real IP headers.

use std::net::SocketAddr;
use windlass_base::Ecn;
use windlass_tcp::Segment;
use windlass_tcp::segment::ip::{self, Addresses, IPV6_HEADER_LEN, IpHeader, PROTOCOL_TCP};
use windlass_tcp::segment::wire::{self, CHECKSUM_FIELD, MAX_HEADER_LEN, Ports, WireError};

const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_ICMPV6: u8 = 58;
/// RFC 792.
const ICMP_UNREACHABLE: u8 = 3;
/// "Fragmentation needed": news of a path MTU, no failure.
const ICMP_TOO_BIG_CODE: u8 = 4;
/// RFC 4443 §3.1.
const ICMPV6_UNREACHABLE: u8 = 1;
/// TTL and hop limit of sent packets.
const HOP_LIMIT: u8 = 64;

/// The two ends of a connection, as this one sees them.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// This end.
    pub local: SocketAddr,
    /// The server.
    pub remote: SocketAddr,
}

impl Flow {
    /// The flow without scope and flow label, which packets do not carry.
    pub(crate) fn plain(&self) -> Flow {
        let plain = |address: SocketAddr| SocketAddr::new(address.ip(), address.port());
        Flow { local: plain(self.local), remote: plain(self.remote) }
    }
}

/// The driver's information on a packet besides its bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Meta {
    /// The kernel merged several segments into one packet (GRO, GSO). Each but the last had this many
    /// bytes of payload.
    pub segment_bytes: Option<u16>,
    /// The kernel has verified the TCP checksum, or left it incomplete because the packet was on no wire.
    pub checksum_known_good: bool,
}

/// A packet for one of this machine's connections.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Incoming<'a> {
    /// Its connection.
    pub flow: Flow,
    /// Its content.
    pub kind: Kind<'a>,
}

/// The content of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A segment with its payload.
    Segment(Received<'a>),
    /// A segment with a wrong checksum.
    Damaged,
    /// An ICMP message that the other end cannot be reached.
    Unreachable {
        /// RFC 792 or RFC 4443 §3.1.
        code: u8,
    },
}

/// A segment that has arrived.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Its header.
    pub segment: Segment,
    /// Its payload.
    pub payload: &'a [u8],
    /// TTL or hop limit.
    pub hop_limit: u8,
    /// See [`Meta::segment_bytes`].
    pub segment_bytes: Option<u16>,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
}

impl Received<'_> {
    /// The payload lengths of the segments on the wire.
    pub(crate) fn segment_lens(&self) -> impl Iterator<Item = u32> {
        let total = self.segment.payload_len;
        let one = self.segment_bytes.map_or(total, u32::from).max(1);
        (0..total.div_ceil(one)).map(move |index| one.min(total - index * one))
    }
}

/// Parses an IP packet. `None` if it is no TCP segment or ICMP unreachable message, a fragment, or too
/// damaged to find its connection.
pub fn parse(bytes: &[u8], meta: Meta) -> Option<Incoming<'_>> {
    let packet = ip::parse(bytes).ok()?;
    if packet.fragment {
        return None;
    }
    match packet.header.protocol {
        PROTOCOL_TCP => parse_tcp(&packet.header, packet.payload, meta),
        PROTOCOL_ICMP | PROTOCOL_ICMPV6 => parse_icmp(&packet),
        _ => None,
    }
}

fn parse_tcp<'a>(header: &IpHeader, bytes: &'a [u8], meta: Meta) -> Option<Incoming<'a>> {
    // Malformed options: dropped, as a stack drops them, but counted.
    let (flow, parsed) = match wire::parse(bytes) {
        Ok((ports, segment, at)) => (flow_to_here(&header.addresses, ports), Some((segment, at))),
        Err(WireError::OptionLength) => (flow_to_here(&header.addresses, ports(bytes)?), None),
        Err(_) => return None,
    };
    let good = meta.checksum_known_good || wire::verify(&header.addresses, bytes);
    let kind = match parsed {
        Some((segment, at)) if good => Kind::Segment(Received {
            segment,
            payload: &bytes[at..],
            hop_limit: header.hop_limit,
            segment_bytes: meta.segment_bytes.filter(|len| *len > 0),
            ecn: header.ecn,
        }),
        _ => Kind::Damaged,
    };
    Some(Incoming { flow, kind })
}

fn ports(tcp: &[u8]) -> Option<Ports> {
    let [a, b, c, d] = *tcp.first_chunk::<4>()?;
    Some(Ports { source: u16::from_be_bytes([a, b]), destination: u16::from_be_bytes([c, d]) })
}

/// The connection of a packet with these addresses that came in.
fn flow_to_here(addresses: &Addresses, ports: Ports) -> Flow {
    let (source, destination) = addresses.both();
    Flow {
        local: SocketAddr::new(destination, ports.destination),
        remote: SocketAddr::new(source, ports.source),
    }
}

/// Parses an ICMP unreachable message, which quotes the beginning of the packet that was sent.
fn parse_icmp<'a>(packet: &ip::IpPacket<'_>) -> Option<Incoming<'a>> {
    let [kind, code, _, _, _, _, _, _, sent @ ..] = packet.payload else { return None };
    let is_unreachable = match packet.header.protocol {
        PROTOCOL_ICMP => *kind == ICMP_UNREACHABLE && *code != ICMP_TOO_BIG_CODE,
        _ => *kind == ICMPV6_UNREACHABLE,
    };
    let (addresses, tcp) = quoted(sent).filter(|_| is_unreachable)?;
    // The quoted packet was sent by this end, so its direction is reversed.
    let Flow { local, remote } = flow_to_here(&addresses, ports(tcp)?);
    let flow = Flow { local: remote, remote: local };
    Some(Incoming { flow, kind: Kind::Unreachable { code: *code } })
}

/// The addresses and the TCP header of a packet that is quoted in part: [`ip::parse`] needs a whole
/// packet.
fn quoted(sent: &[u8]) -> Option<(Addresses, &[u8])> {
    match sent.first()? >> 4 {
        4 => {
            let fixed: &[u8; 20] = sent.first_chunk()?;
            let at = usize::from(fixed[0] & 0x0f) * 4;
            let source = <[u8; 4]>::try_from(&fixed[12..16]).ok()?.into();
            let destination = <[u8; 4]>::try_from(&fixed[16..20]).ok()?.into();
            let tcp = sent.get(at..).filter(|_| fixed[9] == PROTOCOL_TCP)?;
            Some((Addresses::V4 { source, destination }, tcp))
        }
        6 => {
            let (fixed, tcp) = sent.split_first_chunk::<IPV6_HEADER_LEN>()?;
            let source = <[u8; 16]>::try_from(&fixed[8..24]).ok()?.into();
            let destination = <[u8; 16]>::try_from(&fixed[24..40]).ok()?.into();
            (fixed[6] == PROTOCOL_TCP).then_some((Addresses::V6 { source, destination }, tcp))
        }
        _ => None,
    }
}

/// Appends the packet that carries `segment` with `payload` to `out`. Nothing is appended if the
/// families of the two ends differ or the payload is too long for one packet.
pub fn emit(
    flow: &Flow,
    segment: &Segment,
    payload: &[&[u8]],
    identification: u16,
    out: &mut Vec<u8>,
) {
    emit_with_ecn(flow, segment, Ecn::NotEct, payload, identification, out);
}

/// The same with this codepoint in the IP header.
pub fn emit_with_ecn(
    flow: &Flow,
    segment: &Segment,
    ecn: Ecn,
    payload: &[&[u8]],
    identification: u16,
    out: &mut Vec<u8>,
) {
    let addresses = Addresses::new(flow.local.ip(), flow.remote.ip());
    let Some(addresses) = addresses else { return };
    let ports = Ports { source: flow.local.port(), destination: flow.remote.port() };
    let mut tcp = vec![0; MAX_HEADER_LEN];
    let header_len = wire::emit(segment, ports, &mut tcp);
    tcp.truncate(header_len);
    payload.iter().for_each(|piece| tcp.extend_from_slice(piece));
    let (header, body) = tcp.split_at(header_len);
    let checksum = wire::checksum(&addresses, header, body);
    tcp[CHECKSUM_FIELD].copy_from_slice(&checksum.to_be_bytes());
    let header =
        IpHeader { addresses, ecn, hop_limit: HOP_LIMIT, protocol: PROTOCOL_TCP, identification };
    let mut ip = [0; IPV6_HEADER_LEN];
    if let Ok(len) = header.emit(tcp.len(), &mut ip) {
        out.extend_from_slice(&ip[..len]);
        out.extend_from_slice(&tcp);
    }
}
