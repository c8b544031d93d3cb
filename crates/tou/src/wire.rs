//! The ToU header as bytes (docs/reference/tou-protocol.md), and what else may come to the same UDP port.

use std::fmt;
use windlass_tcp::segment::wire::{WireError, emit_options, parse_options};
use windlass_tcp::{Flags, Options, Segment, SeqNumber};

/// Stands where STUN has its own, so that both can share a port.
pub const COOKIE: u32 = 0x7194_b32e;
/// A header without options, in bytes.
pub const MIN_HEADER_LEN: usize = 16;
/// The longest header that the data offset can tell, in bytes. Options have 40 bytes at most, as
/// TCP's.
pub const MAX_HEADER_LEN: usize = MIN_HEADER_LEN + Options::MAX_LEN;

/// STUN's magic cookie (RFC 8489 §5).
const STUN_COOKIE: u32 = 0x2112_a442;
/// STUN's header in bytes.
const STUN_HEADER_LEN: usize = 20;

/// What a datagram is, by its first bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A ToU segment, whole or not.
    Segment,
    /// A STUN message (RFC 8489 §5), for whoever looks for a way through a NAT.
    Stun,
    /// Neither.
    Unknown,
}

/// Tells the datagrams apart that may come to one port.
pub fn kind(datagram: &[u8]) -> Kind {
    let Some(cookie) = datagram.get(4..8) else { return Kind::Unknown };
    // STUN's first two bits are zero, and its length counts words (RFC 8489 §5).
    let stun = datagram.len() >= STUN_HEADER_LEN && datagram[0] >> 6 == 0 && datagram[3] & 3 == 0;
    match u32::from_be_bytes([cookie[0], cookie[1], cookie[2], cookie[3]]) {
        COOKIE => Kind::Segment,
        STUN_COOKIE if stun => Kind::Stun,
        _ => Kind::Unknown,
    }
}

/// Why a datagram with ToU's cookie is no segment.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// Not ToU's cookie, or no room for one.
    Cookie,
    /// The reserved bits are set: a later version, of which this one knows nothing.
    Version,
    /// The header is not whole, or an option is not.
    Header(WireError),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Cookie => f.write_str("no ToU cookie"),
            ParseError::Version => f.write_str("reserved bits are set: another version of ToU"),
            ParseError::Header(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ParseError {}

/// Takes a datagram apart: the segment, and where in the datagram its payload begins; all the rest
/// is payload.
///
/// # Errors
///
/// [`ParseError`]: such a datagram is dropped.
pub fn parse(datagram: &[u8]) -> Result<(Segment, usize), ParseError> {
    let fixed: &[u8; MIN_HEADER_LEN] =
        datagram.first_chunk().ok_or(ParseError::Header(WireError::Truncated))?;
    if be32(fixed, 4) != COOKIE {
        return Err(ParseError::Cookie);
    }
    if fixed[12] & 0x0f != 0 || fixed[13] & 0x80 != 0 {
        return Err(ParseError::Version);
    }
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < MIN_HEADER_LEN {
        return Err(ParseError::Header(WireError::HeaderLength));
    }
    let options = datagram.get(MIN_HEADER_LEN..header_len);
    let options = options.ok_or(ParseError::Header(WireError::Truncated))?;
    let payload_len = datagram.len() - header_len;
    let segment = Segment {
        seq: SeqNumber(be32(fixed, 0)),
        ack: SeqNumber(be32(fixed, 8)),
        flags: flags_from_wire(fixed[13]),
        window: u16::from_be_bytes([fixed[14], fixed[15]]),
        options: parse_options(options).map_err(ParseError::Header)?,
        payload_len: u32::try_from(payload_len)
            .map_err(|_| ParseError::Header(WireError::TooLong))?,
    };
    Ok((segment, header_len))
}

/// Writes the segment's header to the beginning of `out` and returns its length: 16 bytes and
/// [`Options::wire_len`].
///
/// # Panics
///
/// If `out` is shorter than the header; [`MAX_HEADER_LEN`] is always enough.
pub fn emit(segment: &Segment, out: &mut [u8]) -> usize {
    let header_len = MIN_HEADER_LEN + emit_options(&segment.options, &mut out[MIN_HEADER_LEN..]);
    out[0..4].copy_from_slice(&segment.seq.0.to_be_bytes());
    out[4..8].copy_from_slice(&COOKIE.to_be_bytes());
    out[8..12].copy_from_slice(&segment.ack.0.to_be_bytes());
    out[12] = (header_len as u8 / 4) << 4;
    out[13] = flags_to_wire(segment.flags);
    out[14..16].copy_from_slice(&segment.window.to_be_bytes());
    header_len
}

/// URG is gone, so ECE and CWR stand one bit lower than in TCP.
fn flags_to_wire(flags: Flags) -> u8 {
    let bits = flags.bits();
    bits & 0x1f | (bits & 0xc0) >> 1
}

fn flags_from_wire(bits: u8) -> Flags {
    Flags::from_bits_retain(bits & 0x1f | (bits & 0x60) << 1)
}

fn be32(bytes: &[u8; MIN_HEADER_LEN], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;
