//! Parses and writes ToU's header (docs/reference/tou-protocol.md), and distinguishes ToU from STUN on
//! the same UDP port.
//!
//! ```
//! use windlass_tou_wire::{self as wire, Flags, Segment, SeqNumber};
//!
//! let segment = Segment { seq: SeqNumber(7), flags: Flags::SYN, ..Segment::default() };
//! let mut bytes = [0; wire::MAX_HEADER_LEN];
//! let len = wire::emit(&segment, &mut bytes);
//! assert_eq!(wire::kind(&bytes[..len]), wire::Kind::Segment);
//! assert_eq!(wire::parse(&bytes[..len])?, (segment, len));
//! # Ok::<(), wire::ParseError>(())
//! ```

mod accecn;
mod session;

pub use session::SessionPeer;
use session::{SESSION_COOKIE, SESSION_PREFIX_LEN};

use std::fmt;
use std::net::SocketAddr;
use windlass_tcp::segment::wire::{emit_options, parse_options_into};

pub use windlass_tcp::segment::wire::WireError;
pub use windlass_tcp::{Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps};

/// ToU's magic cookie, in bytes 4 to 7 of the header. STUN has a different one in the same place.
pub const COOKIE: u32 = 0x7194_b32e;
/// Length of a header without options, in bytes.
pub const MIN_HEADER_LEN: usize = 16;
/// Length of the longest header, in bytes. Options have at most 40 bytes, as in TCP.
pub const MAX_HEADER_LEN: usize = MIN_HEADER_LEN + Options::MAX_LEN;
/// Length of the longest header with a session's prefix, in bytes.
pub const MAX_SESSION_HEADER_LEN: usize = SESSION_PREFIX_LEN + MAX_HEADER_LEN;

/// STUN's magic cookie (RFC 8489 §5).
const STUN_COOKIE: u32 = 0x2112_a442;
/// STUN's header in bytes.
const STUN_HEADER_LEN: usize = 20;

/// The protocol of a datagram, judged by its first bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A ToU segment. It may still be malformed; see [`parse`].
    Segment,
    /// A STUN message (RFC 8489 §5), which hosts use to find a path through NATs.
    Stun,
    /// A datagram of a session, with a segment after the prefix; see [`SessionPeer`].
    Session,
    /// A datagram of another protocol.
    Unknown,
}

/// Determines the protocol of a datagram.
#[inline]
pub fn kind(datagram: &[u8]) -> Kind {
    let Some(cookie) = datagram.get(4..8) else { return Kind::Unknown };
    // STUN's first two bits are zero, and its length counts words (RFC 8489 §5).
    let stun = datagram.len() >= STUN_HEADER_LEN && datagram[0] >> 6 == 0 && datagram[3] & 3 == 0;
    match u32::from_be_bytes([cookie[0], cookie[1], cookie[2], cookie[3]]) {
        COOKIE => Kind::Segment,
        SESSION_COOKIE => Kind::Session,
        STUN_COOKIE if stun => Kind::Stun,
        _ => Kind::Unknown,
    }
}

/// Why [`parse`] rejects a datagram.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// The datagram does not have ToU's cookie.
    Cookie,
    /// Reserved bits are set, as a later version of ToU may do.
    Version,
    /// The header is too short, has an invalid length, or has a malformed option.
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

/// Parses a datagram. Returns the segment and the offset of its payload, which extends to the end of
/// the datagram.
///
/// [`Flags::AE`] is valid only on a connection that has agreed on AccECN; others drop such a segment. A SYN has
/// it by an option.
///
/// # Errors
///
/// [`ParseError`] if the datagram is not a valid segment of this version.
#[inline]
pub fn parse(datagram: &[u8]) -> Result<(Segment, usize), ParseError> {
    let mut segment = Segment::default();
    let payload_at = parse_into(datagram, &mut segment)?;
    Ok((segment, payload_at))
}

/// As [`parse`], into `segment`, which is a default one. Returns the offset of the payload. After an
/// error the value of `segment` has no meaning.
///
/// A copy of a segment that has just been parsed reads larger pieces than were written. The processor
/// then waits for all writes before it, such as those of the last payload.
///
/// # Errors
///
/// As [`parse`].
#[inline]
pub fn parse_into(datagram: &[u8], segment: &mut Segment) -> Result<usize, ParseError> {
    let fixed: &[u8; MIN_HEADER_LEN] =
        datagram.first_chunk().ok_or(ParseError::Header(WireError::Truncated))?;
    if be32(fixed, 4) != COOKIE {
        return Err(ParseError::Cookie);
    }
    parse_fields(datagram, segment)
}

/// Parses the segment in a session's datagram. The offset of the payload counts from the datagram's
/// beginning.
///
/// # Errors
///
/// [`ParseError`] if the datagram is not of a session, or its segment is invalid.
#[inline]
pub fn parse_session(datagram: &[u8]) -> Result<(SessionPeer, Segment, usize), ParseError> {
    if kind(datagram) != Kind::Session {
        return Err(ParseError::Cookie);
    }
    let truncated = ParseError::Header(WireError::Truncated);
    let peer = SessionPeer::of_datagram(datagram).ok_or(truncated)?;
    let mut segment = Segment::default();
    let payload_at = parse_fields(&datagram[SESSION_PREFIX_LEN..], &mut segment)?;
    Ok((peer, segment, SESSION_PREFIX_LEN + payload_at))
}

/// Parses everything but the cookie.
fn parse_fields(datagram: &[u8], segment: &mut Segment) -> Result<usize, ParseError> {
    let fixed: &[u8; MIN_HEADER_LEN] =
        datagram.first_chunk().ok_or(ParseError::Header(WireError::Truncated))?;
    let header_flags = flags_from_wire(fixed[13]);
    let is_syn = header_flags.contains(Flags::SYN);
    // The low bits of byte 12 are reserved, and on a SYN the high bit of byte 13.
    if fixed[12] & 0x0f != 0 || (is_syn && header_flags.contains(Flags::AE)) {
        return Err(ParseError::Version);
    }
    // The data offset counts words of four bytes, as in RFC 9293 §3.1.
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < MIN_HEADER_LEN {
        return Err(ParseError::Header(WireError::HeaderLength));
    }
    let options = datagram.get(MIN_HEADER_LEN..header_len);
    let options = options.ok_or(ParseError::Header(WireError::Truncated))?;
    let payload_len = datagram.len() - header_len;
    parse_options_into(options, &mut segment.options).map_err(ParseError::Header)?;
    segment.seq = SeqNumber(be32(fixed, 0));
    segment.ack = SeqNumber(be32(fixed, 8));
    segment.flags = if is_syn { accecn::flags_of_syn(header_flags, options) } else { header_flags };
    segment.window = u16::from_be_bytes([fixed[14], fixed[15]]);
    segment.payload_len =
        u32::try_from(payload_len).map_err(|_| ParseError::Header(WireError::TooLong))?;
    Ok(header_len)
}

/// Writes the segment's header to the beginning of `out`. Returns its length in bytes: 16 plus
/// [`Options::wire_len`].
///
/// A SYN or SYN-ACK whose flags AE, CWR and ECE are AccECN's has an option of 8 bytes for them in place of
/// SACK blocks and AccECN's own.
///
/// # Panics
///
/// If `out` is shorter than the header; [`MAX_HEADER_LEN`] is always enough.
#[inline]
pub fn emit(segment: &Segment, out: &mut [u8]) -> usize {
    let (flags, options_len) = if accecn::has_option(segment.flags) {
        emit_with_accecn(segment, &mut out[MIN_HEADER_LEN..])
    } else {
        (segment.flags, emit_options(&segment.options, &mut out[MIN_HEADER_LEN..]))
    };
    let header_len = MIN_HEADER_LEN + options_len;
    out[0..4].copy_from_slice(&segment.seq.0.to_be_bytes());
    out[4..8].copy_from_slice(&COOKIE.to_be_bytes());
    out[8..12].copy_from_slice(&segment.ack.0.to_be_bytes());
    out[12] = (header_len as u8 / 4) << 4;
    out[13] = flags_to_wire(flags);
    out[14..16].copy_from_slice(&segment.window.to_be_bytes());
    header_len
}

/// Writes the options of a SYN or SYN-ACK with AccECN's flags. Returns the flags in the header, and the length of the
/// options.
#[cold]
fn emit_with_accecn(segment: &Segment, out: &mut [u8]) -> (Flags, usize) {
    let others = emit_options(&accecn::options_beside(&segment.options), out);
    let len = others + accecn::emit_option(segment.flags, &mut out[others..]);
    (accecn::flags_beside_option(segment.flags), len)
}

/// Writes the header of a segment of a session's connection, prefix included. Returns its length in
/// bytes.
///
/// # Panics
///
/// If `out` is shorter than the header; [`MAX_SESSION_HEADER_LEN`] is always enough.
#[inline]
pub fn emit_session(peer: SessionPeer, segment: &Segment, out: &mut [u8]) -> usize {
    peer.emit_prefix(out);
    let inner = &mut out[SESSION_PREFIX_LEN..];
    let header_len = emit(segment, inner);
    // The number of the connection stands in the place of the cookie.
    inner[4..8].copy_from_slice(&peer.number.to_be_bytes());
    SESSION_PREFIX_LEN + header_len
}

/// Bytes before the segment in a datagram to `peer`.
#[inline]
pub fn prefix_len(peer: &SocketAddr) -> usize {
    SessionPeer::of(peer).map_or(0, |_| SESSION_PREFIX_LEN)
}

/// Writes the header of a segment to `peer`, which may be a virtual address. Returns its length in
/// bytes.
///
/// # Panics
///
/// If `out` is shorter than the header; [`MAX_SESSION_HEADER_LEN`] is always enough.
#[inline]
pub fn emit_to(peer: &SocketAddr, segment: &Segment, out: &mut [u8]) -> usize {
    match SessionPeer::of(peer) {
        Some(session) => emit_session(session, segment, out),
        None => emit(segment, out),
    }
}

/// ToU has no URG flag, so ECE, CWR and AE stand one bit lower than in TCP.
fn flags_to_wire(flags: Flags) -> u8 {
    let bits = flags.bits();
    (bits & 0x1f | (bits & 0x1c0) >> 1) as u8
}

fn flags_from_wire(bits: u8) -> Flags {
    let bits = u16::from(bits);
    Flags::from_bits_retain(bits & 0x1f | (bits & 0xe0) << 1)
}

fn be32(bytes: &[u8; MIN_HEADER_LEN], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;
