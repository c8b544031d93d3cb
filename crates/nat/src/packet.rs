//! The endpoints of an IPv4 or IPv6 packet (RFC 791, RFC 8200): where they are, and how to replace
//! them with all checksums.

use crate::{Flow, Protocol};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use windlass_base::checksum::{Sum, checksum, update};

const IPV4_HEADER_LEN: usize = 20;
const IPV6_HEADER_LEN: usize = 40;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;

/// Class of a packet, which decides how the NAT translates it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A packet of a flow.
    Flow(Protocol),
    /// The answer to a query: its identifier is the destination's.
    Answer,
    /// An ICMP error, which quotes another packet behind its header.
    Error,
}

/// Whether a packet is complete or quoted in an ICMP error.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// Its end may be missing, but for the first 8 bytes behind the IP header (RFC 792).
    Quoted,
}

/// One of the two endpoints.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Source,
    Destination,
}

/// The layout of a packet: the first byte of each part.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) ipv6: bool,
    pub(crate) kind: Kind,
    pub(crate) transport: usize,
    /// Behind the last byte that is there.
    pub(crate) end: usize,
}

impl Layout {
    /// Finds the parts of the packet at the beginning of `bytes`. `None` if it is no packet that a
    /// NAT translates: a fragment, damaged, with extension headers, or of another protocol.
    pub(crate) fn of(bytes: &[u8], extent: Extent) -> Option<Layout> {
        let (ipv6, protocol, transport, len) = match bytes.first()? >> 4 {
            4 => ipv4(bytes)?,
            6 => ipv6(bytes)?,
            _ => return None,
        };
        if extent == Extent::Whole && len > bytes.len() {
            return None;
        }
        let end = len.min(bytes.len());
        let body = bytes.get(transport..end)?;
        let kind = match (protocol, ipv6) {
            (UDP, _) => Kind::Flow(Protocol::Udp),
            (TCP, _) => Kind::Flow(Protocol::Tcp),
            (ICMP, false) => icmp_kind(*body.first()?)?,
            (ICMPV6, true) => icmpv6_kind(*body.first()?)?,
            _ => return None,
        };
        let shortest = match (kind, extent) {
            (Kind::Flow(Protocol::Tcp), Extent::Whole) => 20,
            _ => 8,
        };
        (body.len() >= shortest).then_some(Layout { ipv6, kind, transport, end })
    }

    /// Both endpoints. The remote one of a query has port zero.
    pub(crate) fn flow(&self, bytes: &[u8]) -> Option<Flow> {
        let protocol = match self.kind {
            Kind::Flow(protocol) => protocol,
            Kind::Answer => Protocol::Icmp,
            Kind::Error => return None,
        };
        let endpoint = |end| {
            let port = self.port_at(end).and_then(|at| bytes.get(at..at + 2)?.try_into().ok());
            let port = u16::from_be_bytes(port.unwrap_or_default());
            Some(SocketAddr::new(self.address(bytes, end)?, port))
        };
        let (source, destination) = (endpoint(End::Source)?, endpoint(End::Destination)?);
        Some(Flow { protocol, source, destination })
    }

    /// An address of the packet.
    pub(crate) fn address(&self, bytes: &[u8], end: End) -> Option<IpAddr> {
        let octets = bytes.get(self.address_at(end))?;
        match self.ipv6 {
            true => Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?).into()),
            false => Some(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?).into()),
        }
    }

    fn address_at(&self, end: End) -> std::ops::Range<usize> {
        let (first, len) = if self.ipv6 { (8, 16) } else { (12, 4) };
        let at = first + if end == End::Destination { len } else { 0 };
        at..at + len
    }

    fn port_at(&self, end: End) -> Option<usize> {
        match (self.kind, end) {
            (Kind::Flow(Protocol::Icmp), End::Source) | (Kind::Answer, End::Destination) => {
                Some(self.transport + 4)
            }
            (Kind::Flow(Protocol::Udp | Protocol::Tcp), End::Source) => Some(self.transport),
            (Kind::Flow(Protocol::Udp | Protocol::Tcp), End::Destination) => {
                Some(self.transport + 2)
            }
            _ => None,
        }
    }

    /// Replaces an endpoint. Its family is that of the packet.
    pub(crate) fn set_endpoint(&self, bytes: &mut [u8], end: End, new: SocketAddr) {
        self.set_address(bytes, end, new.ip());
        if let Some(at) = self.port_at(end) {
            let new = new.port().to_be_bytes();
            self.update_transport(bytes, &[bytes[at], bytes[at + 1]], &new);
            bytes[at..at + 2].copy_from_slice(&new);
        }
    }

    /// Replaces an address. Its family is that of the packet.
    pub(crate) fn set_address(&self, bytes: &mut [u8], end: End, new: IpAddr) {
        match new {
            IpAddr::V4(address) => self.set_octets(bytes, end, &address.octets()),
            IpAddr::V6(address) => self.set_octets(bytes, end, &address.octets()),
        }
    }

    fn set_octets<const N: usize>(&self, bytes: &mut [u8], end: End, new: &[u8; N]) {
        let range = self.address_at(end);
        debug_assert_eq!(range.len(), N, "the family of the packet");
        let mut old = [0; N];
        old.copy_from_slice(&bytes[range.clone()]);
        // IPv6 has no header checksum.
        if !self.ipv6 {
            update_at(bytes, 10, &old, new);
        }
        if self.covers_addresses() {
            self.update_transport(bytes, &old, new);
        }
        bytes[range].copy_from_slice(new);
    }

    /// Whether the checksum of the transport covers the addresses: all but ICMP's of IPv4.
    fn covers_addresses(&self) -> bool {
        self.ipv6 || matches!(self.kind, Kind::Flow(Protocol::Udp | Protocol::Tcp))
    }

    fn update_transport(&self, bytes: &mut [u8], old: &[u8], new: &[u8]) {
        let udp = self.kind == Kind::Flow(Protocol::Udp);
        let at = self.transport
            + match self.kind {
                Kind::Flow(Protocol::Udp) => 6,
                Kind::Flow(Protocol::Tcp) => 16,
                _ => 2,
            };
        // The checksum of a quoted TCP segment may be missing. A UDP checksum of zero means that
        // there is none (RFC 768).
        if at + 2 > self.end || (udp && bytes[at..at + 2] == [0, 0]) {
            return;
        }
        update_at(bytes, at, old, new);
        // RFC 768: a checksum that comes to zero is sent as all ones.
        if udp && bytes[at..at + 2] == [0, 0] {
            bytes[at..at + 2].copy_from_slice(&[0xff, 0xff]);
        }
    }

    /// The checksum that an ICMP message should have; over one that holds its own it is zero.
    pub(crate) fn icmp_checksum(&self, bytes: &[u8]) -> u16 {
        let message = &bytes[self.transport..self.end];
        let pseudo = match self.ipv6 {
            // RFC 8200 section 8.1.
            true => Sum::default()
                .add_bytes(&bytes[8..40])
                .add_u32(message.len() as u32)
                .add_u32(ICMPV6.into()),
            false => Sum::default(),
        };
        pseudo.add_bytes(message).finish()
    }

    /// Writes the checksum of an ICMP message.
    pub(crate) fn set_icmp_checksum(&self, bytes: &mut [u8]) {
        let at = self.transport + 2;
        bytes[at..at + 2].fill(0);
        let checksum = self.icmp_checksum(bytes);
        bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

fn update_at(bytes: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
    let before = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    bytes[at..at + 2].copy_from_slice(&update(before, old, new).to_be_bytes());
}

/// Version 6 or not, protocol, header length, total length.
type Header = (bool, u8, usize, usize);

fn ipv4(bytes: &[u8]) -> Option<Header> {
    let fixed: &[u8; IPV4_HEADER_LEN] = bytes.first_chunk()?;
    // RFC 791 section 3.1: the header's length in words of four bytes.
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if header_len < IPV4_HEADER_LEN || total < header_len {
        return None;
    }
    let intact = checksum(bytes.get(..header_len)?) == 0;
    // A fragment: more of them follow, or an offset.
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0;
    (intact && !fragment).then_some((false, fixed[9], header_len, total))
}

fn ipv6(bytes: &[u8]) -> Option<Header> {
    let fixed: &[u8; IPV6_HEADER_LEN] = bytes.first_chunk()?;
    let payload_len = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    Some((true, fixed[6], IPV6_HEADER_LEN, IPV6_HEADER_LEN + payload_len))
}

/// RFC 792: echo, and destination unreachable, time exceeded, parameter problem.
fn icmp_kind(number: u8) -> Option<Kind> {
    match number {
        8 => Some(Kind::Flow(Protocol::Icmp)),
        0 => Some(Kind::Answer),
        3 | 11 | 12 => Some(Kind::Error),
        _ => None,
    }
}

/// RFC 4443: echo, and destination unreachable, packet too big, time exceeded, parameter problem.
fn icmpv6_kind(number: u8) -> Option<Kind> {
    match number {
        128 => Some(Kind::Flow(Protocol::Icmp)),
        129 => Some(Kind::Answer),
        1..=4 => Some(Kind::Error),
        _ => None,
    }
}
