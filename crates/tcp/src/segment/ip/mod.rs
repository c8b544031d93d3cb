//! IPv4 and IPv6 headers as bytes (RFC 791, RFC 8200), with the fields that a carrier of TCP needs.

use super::error::WireError;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use windlass_base::Ecn;
use windlass_base::checksum::{Sum, checksum};

/// The protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// An IPv4 header without options, in bytes.
pub const IPV4_HEADER_LEN: usize = 20;
/// An IPv6 header without extension headers, in bytes.
pub const IPV6_HEADER_LEN: usize = 40;

/// More IPv6 extension headers than a packet can have a reason for (RFC 8200 §4.1 lists seven).
const MAX_EXTENSION_HEADERS: usize = 8;
/// The don't-fragment bit of an IPv4 header, in octet 6.
const DONT_FRAGMENT: u8 = 0x40;

/// The addresses of a packet, both of one family.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say all")]
pub enum Addresses {
    V4 { source: Ipv4Addr, destination: Ipv4Addr },
    V6 { source: Ipv6Addr, destination: Ipv6Addr },
}

impl Addresses {
    /// The addresses of a packet from `source` to `destination`; `None` if the families differ.
    pub fn new(source: IpAddr, destination: IpAddr) -> Option<Addresses> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                Some(Addresses::V4 { source, destination })
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                Some(Addresses::V6 { source, destination })
            }
            _ => None,
        }
    }

    /// Source and destination.
    pub fn ends(self) -> (IpAddr, IpAddr) {
        match self {
            Addresses::V4 { source, destination } => (source.into(), destination.into()),
            Addresses::V6 { source, destination } => (source.into(), destination.into()),
        }
    }

    /// Adds both addresses to a checksum.
    fn add_to(&self, sum: Sum) -> Sum {
        match self {
            Addresses::V4 { source, destination } => {
                sum.add_bytes(&source.octets()).add_bytes(&destination.octets())
            }
            Addresses::V6 { source, destination } => {
                sum.add_bytes(&source.octets()).add_bytes(&destination.octets())
            }
        }
    }
}

/// The fields of an IP header.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct IpHeader {
    /// Source and destination; their family is the version of the header.
    pub addresses: Addresses,
    /// The ECN field. The rest of that octet, DSCP, is sent as zero and ignored on arrival.
    pub ecn: Ecn,
    /// TTL or hop limit.
    pub hop_limit: u8,
    /// The protocol of the payload; in IPv6 the next header after the extension headers.
    pub protocol: u8,
    /// The identification of an IPv4 packet; IPv6 has none: zero.
    pub identification: u16,
}

/// A parsed packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct IpPacket<'a> {
    /// Its header.
    pub header: IpHeader,
    /// The packet is a fragment: its payload may begin in the middle of a segment, and its
    /// transport checksum cannot be verified.
    pub fragment: bool,
    /// The packet is a fragment and not the first one: its payload begins in the middle.
    pub later_fragment: bool,
    /// The payload of the packet, without padding behind it.
    pub payload: &'a [u8],
}

impl IpHeader {
    /// Writes the header of a packet with `payload_len` bytes of payload to the beginning of
    /// `out`; returns its length, 20 or 40 bytes. IPv4 packets have DF set and no options.
    ///
    /// # Errors
    ///
    /// [`WireError::TooLong`] if the payload does not fit into one packet.
    ///
    /// # Panics
    ///
    /// If `out` is shorter than the header; [`IPV6_HEADER_LEN`] is always enough.
    pub fn emit(&self, payload_len: usize, out: &mut [u8]) -> Result<usize, WireError> {
        match self.addresses {
            Addresses::V4 { source, destination } => {
                let total = u16::try_from(payload_len.saturating_add(IPV4_HEADER_LEN))
                    .map_err(|_| WireError::TooLong)?;
                let out = &mut out[..IPV4_HEADER_LEN];
                self.emit_v4(total, out);
                out[12..16].copy_from_slice(&source.octets());
                out[16..20].copy_from_slice(&destination.octets());
                let checksum = checksum(out);
                out[10..12].copy_from_slice(&checksum.to_be_bytes());
                Ok(IPV4_HEADER_LEN)
            }
            Addresses::V6 { source, destination } => {
                let len = u16::try_from(payload_len).map_err(|_| WireError::TooLong)?;
                self.emit_v6(len, out);
                out[8..24].copy_from_slice(&source.octets());
                out[24..40].copy_from_slice(&destination.octets());
                Ok(IPV6_HEADER_LEN)
            }
        }
    }

    /// All but the addresses, with a checksum of zero.
    fn emit_v4(&self, total_len: u16, out: &mut [u8]) {
        out[..2].copy_from_slice(&[0x45, self.ecn.bits()]);
        out[2..4].copy_from_slice(&total_len.to_be_bytes());
        out[4..6].copy_from_slice(&self.identification.to_be_bytes());
        out[6..8].copy_from_slice(&[DONT_FRAGMENT, 0]);
        out[8..12].copy_from_slice(&[self.hop_limit, self.protocol, 0, 0]);
    }

    /// All but the addresses; no flow label.
    fn emit_v6(&self, payload_len: u16, out: &mut [u8]) {
        out[..4].copy_from_slice(&[0x60, self.ecn.bits() << 4, 0, 0]);
        out[4..6].copy_from_slice(&payload_len.to_be_bytes());
        out[6..8].copy_from_slice(&[self.protocol, self.hop_limit]);
    }
}

/// The checksum of a transport protocol over the pseudo header of RFC 9293 §3.1 (IPv4) or RFC 8200
/// §8.1 (IPv6) and the pieces of the packet. The checksum field holds zeros. Only the last piece may
/// have an odd length. Zero over bytes that hold their own checksum, if it is right.
pub fn transport_checksum(addresses: &Addresses, protocol: u8, pieces: &[&[u8]]) -> u16 {
    let len = pieces.iter().map(|piece| piece.len()).sum::<usize>() as u32;
    let pseudo = pseudo_header(addresses, protocol, len);
    pieces.iter().fold(pseudo, |sum, piece| sum.add_bytes(piece)).finish()
}

/// The part of [`transport_checksum`] that a device with checksum offload expects in the checksum
/// field: the sum over the pseudo header alone, not complemented.
pub fn partial_checksum(addresses: &Addresses, protocol: u8, len: u32) -> u16 {
    !pseudo_header(addresses, protocol, len).finish()
}

fn pseudo_header(addresses: &Addresses, protocol: u8, len: u32) -> Sum {
    addresses.add_to(Sum::default()).add_u32(u32::from(protocol)).add_u32(len)
}

/// Takes an IPv4 or IPv6 packet apart. IPv4 options and IPv6 extension headers are skipped; bytes
/// behind the packet (padding of a short Ethernet frame) are left out.
///
/// # Errors
///
/// Any [`WireError`] but [`WireError::OptionLength`] and [`WireError::TooLong`]. A jumbogram (RFC
/// 2675) is one of [`WireError::HeaderLength`].
pub fn parse(bytes: &[u8]) -> Result<IpPacket<'_>, WireError> {
    match bytes.first().ok_or(WireError::Truncated)? >> 4 {
        4 => parse_v4(bytes),
        6 => parse_v6(bytes),
        _ => Err(WireError::Version),
    }
}

fn parse_v4(bytes: &[u8]) -> Result<IpPacket<'_>, WireError> {
    let fixed: &[u8; IPV4_HEADER_LEN] = bytes.first_chunk().ok_or(WireError::Truncated)?;
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if header_len < IPV4_HEADER_LEN || total < header_len {
        return Err(WireError::HeaderLength);
    }
    let packet = bytes.get(..total).ok_or(WireError::Truncated)?;
    let (header, payload) = packet.split_at(header_len);
    // RFC 1122 §3.2.1.2: a host verifies it and drops what is wrong.
    if checksum(header) != 0 {
        return Err(WireError::Checksum);
    }
    let addresses = Addresses::V4 {
        source: Ipv4Addr::from([fixed[12], fixed[13], fixed[14], fixed[15]]),
        destination: Ipv4Addr::from([fixed[16], fixed[17], fixed[18], fixed[19]]),
    };
    let header = IpHeader {
        addresses,
        ecn: Ecn::from_bits(fixed[1]),
        hop_limit: fixed[8],
        protocol: fixed[9],
        identification: u16::from_be_bytes([fixed[4], fixed[5]]),
    };
    // More fragments, or an offset: all of these 16 bits but the reserved one and DF.
    let offset_and_more = u16::from_be_bytes([fixed[6], fixed[7]]);
    let (fragment, later_fragment) = (offset_and_more & 0x3fff != 0, offset_and_more & 0x1fff != 0);
    Ok(IpPacket { header, fragment, later_fragment, payload })
}

fn parse_v6(bytes: &[u8]) -> Result<IpPacket<'_>, WireError> {
    let (fixed, rest) = bytes.split_first_chunk::<IPV6_HEADER_LEN>().ok_or(WireError::Truncated)?;
    let len = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let (source, destination) = (address_at(fixed, 8), address_at(fixed, 24));
    if len == 0 && fixed[6] == next_header::HOP_BY_HOP {
        return Err(WireError::HeaderLength);
    }
    let body = rest.get(..len).ok_or(WireError::Truncated)?;
    let upper = skip_extensions(fixed[6], body)?;
    let header = IpHeader {
        addresses: Addresses::V6 { source, destination },
        ecn: Ecn::from_bits(fixed[1] >> 4),
        hop_limit: fixed[7],
        protocol: upper.protocol,
        identification: 0,
    };
    let Upper { fragment, later_fragment, payload, .. } = upper;
    Ok(IpPacket { header, fragment, later_fragment, payload })
}

fn address_at(fixed: &[u8; IPV6_HEADER_LEN], at: usize) -> Ipv6Addr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&fixed[at..at + 16]);
    Ipv6Addr::from(octets)
}

/// The extension headers that are skipped (RFC 8200 §4, RFC 4302).
mod next_header {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION: u8 = 60;
}

/// The protocol and payload behind the extension headers.
struct Upper<'a> {
    protocol: u8,
    fragment: bool,
    later_fragment: bool,
    payload: &'a [u8],
}

fn skip_extensions(protocol: u8, payload: &[u8]) -> Result<Upper<'_>, WireError> {
    let mut upper = Upper { protocol, fragment: false, later_fragment: false, payload };
    for _ in 0..=MAX_EXTENSION_HEADERS {
        let first: Option<&[u8; 4]> = upper.payload.first_chunk();
        let octet = |at: usize| first.map(|octets| octets[at]).ok_or(WireError::Truncated);
        let len = match upper.protocol {
            next_header::HOP_BY_HOP | next_header::ROUTING | next_header::DESTINATION => {
                8 + 8 * usize::from(octet(1)?)
            }
            next_header::AUTHENTICATION => 8 + 4 * usize::from(octet(1)?),
            next_header::FRAGMENT => 8,
            _ => return Ok(upper),
        };
        if upper.protocol == next_header::FRAGMENT {
            let offset_and_more = u16::from_be_bytes([octet(2)?, octet(3)?]);
            // An atomic fragment, with offset 0 and no further fragments, is complete (RFC 6946).
            upper.fragment |= offset_and_more & !0b110 != 0;
            upper.later_fragment = offset_and_more >> 3 != 0;
        }
        upper.protocol = octet(0)?;
        upper.payload = upper.payload.get(len..).ok_or(WireError::Truncated)?;
        if upper.later_fragment {
            return Ok(upper);
        }
    }
    Err(WireError::ExtensionHeaders)
}

#[cfg(test)]
mod tests;
