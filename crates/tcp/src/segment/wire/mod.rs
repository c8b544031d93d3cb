//! The TCP header as bytes (RFC 9293 §3.1).

pub use super::error::WireError;

use super::ip::{Addresses, PROTOCOL_TCP, transport_checksum};
use super::{AccEcnOption, AccEcnOrder, Flags, Options, SackBlocks, Segment, Timestamps};
use crate::SeqNumber;
use core::ops::Range;

/// A header without options, in bytes.
pub const MIN_HEADER_LEN: usize = 20;
/// The longest header that the data offset can express, in bytes.
pub const MAX_HEADER_LEN: usize = MIN_HEADER_LEN + Options::MAX_LEN;
/// The position of the checksum in a header.
pub const CHECKSUM_FIELD: Range<usize> = 16..18;

/// The flags in octets 12 and 13; the bits before are reserved.
const FLAGS_MASK: u16 = Flags::all().bits();

/// The largest window shift; a larger one is taken as this (RFC 7323 §2.3).
pub(crate) const MAX_WINDOW_SHIFT: u8 = 14;

/// The ports of a segment.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Ports {
    /// The port of the sender.
    pub source: u16,
    /// The port of the receiver.
    pub destination: u16,
}

/// Parses a TCP header with its payload. Returns the ports, the segment, and the offset in `bytes`
/// at which the payload begins; all bytes from there on are payload.
///
/// The reserved bits, the urgent pointer and the checksum are ignored ([`verify`] checks the
/// checksum). Options are accepted on any segment; the engine ignores those that have no meaning
/// there. Unknown options are skipped (RFC 9293 §3.1, MUST-6), and so are known options of a wrong
/// length, as in Linux. If an option occurs twice, the last one counts.
///
/// # Errors
///
/// [`WireError::Truncated`] if the bytes end before the header does. [`WireError::HeaderLength`]
/// for a data offset smaller than a header. [`WireError::OptionLength`] for an option whose length
/// octet is missing, less than two or beyond the header; RFC 9293 §3.1 (MUST-7) leaves the reaction
/// open, and Windlass drops such a segment.
pub fn parse(bytes: &[u8]) -> Result<(Ports, Segment, usize), WireError> {
    let fixed: &[u8; MIN_HEADER_LEN] = bytes.first_chunk().ok_or(WireError::Truncated)?;
    // RFC 9293 §3.1: the data offset counts words of four bytes.
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < MIN_HEADER_LEN {
        return Err(WireError::HeaderLength);
    }
    let options = bytes.get(MIN_HEADER_LEN..header_len).ok_or(WireError::Truncated)?;
    let payload_len = bytes.len() - header_len;
    let ports = Ports { source: be16(fixed, 0), destination: be16(fixed, 2) };
    let segment = Segment {
        seq: SeqNumber(be32(fixed, 4)),
        ack: SeqNumber(be32(fixed, 8)),
        flags: Flags::from_bits_retain(be16(fixed, 12) & FLAGS_MASK),
        window: be16(fixed, 14),
        options: parse_options(options)?,
        payload_len: u32::try_from(payload_len).map_err(|_| WireError::TooLong)?,
    };
    Ok((ports, segment, header_len))
}

/// Writes the segment's header to the beginning of `out` and returns its length: 20 bytes and
/// [`Options::wire_len`]. The checksum is left zero for [`checksum`] to fill in.
///
/// # Panics
///
/// If `out` is shorter than the header; [`MAX_HEADER_LEN`] is always enough.
pub fn emit(segment: &Segment, ports: Ports, out: &mut [u8]) -> usize {
    let (fixed, rest) = out.split_at_mut(MIN_HEADER_LEN);
    let header_len = MIN_HEADER_LEN + emit_options(&segment.options, rest);
    let mut out = Writer { out: fixed, at: 0 };
    out.put(&ports.source.to_be_bytes());
    out.put(&ports.destination.to_be_bytes());
    out.put(&segment.seq.0.to_be_bytes());
    out.put(&segment.ack.0.to_be_bytes());
    let [high, low] = (segment.flags.bits() & FLAGS_MASK).to_be_bytes();
    out.put(&[(header_len as u8 / 4) << 4 | high, low]);
    out.put(&segment.window.to_be_bytes());
    out.put(&[0; 4]); // Checksum and urgent pointer.
    header_len
}

/// The checksum of a segment whose header has zeros in [`CHECKSUM_FIELD`], over the pseudo header
/// of RFC 9293 §3.1 (IPv4) or RFC 8200 §8.1 (IPv6). `header` is of even length, as all are.
pub fn checksum(addresses: &Addresses, header: &[u8], payload: &[u8]) -> u16 {
    debug_assert!(header.len().is_multiple_of(2), "only the last piece of a sum may be odd");
    transport_checksum(addresses, PROTOCOL_TCP, &[header, payload])
}

/// True if `bytes`, header and payload, hold the right checksum for these addresses.
pub fn verify(addresses: &Addresses, bytes: &[u8]) -> bool {
    checksum(addresses, &[], bytes) == 0
}

/// The numbers of the options (RFC 9293 §3.1, RFC 7323, RFC 2018, RFC 9768 §3.2.3).
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const ACCECN0: u8 = 172;
    pub(super) const ACCECN1: u8 = 174;
}

/// Parses the options of a header as [`parse`] does, for carriers with another header format.
///
/// # Errors
///
/// [`WireError::OptionLength`], as [`parse`].
pub fn parse_options(bytes: &[u8]) -> Result<Options, WireError> {
    let mut options = Options::default();
    parse_options_into(bytes, &mut options)?;
    Ok(options)
}

/// As [`parse_options`], into `options`, which have none yet. After an error their value has no
/// meaning.
///
/// # Errors
///
/// As [`parse_options`].
pub fn parse_options_into(mut rest: &[u8], options: &mut Options) -> Result<(), WireError> {
    while let [kind, tail @ ..] = rest {
        rest = match *kind {
            kind::END => break,
            kind::NOP => tail,
            kind => {
                // RFC 9293 §3.1, MUST-7: a length below 2 or beyond the header.
                let len = usize::from(*tail.first().ok_or(WireError::OptionLength)?);
                let body = rest.get(2..len).ok_or(WireError::OptionLength)?;
                take_option(options, kind, body);
                &rest[len..]
            }
        }
    }
    Ok(())
}

fn take_option(options: &mut Options, kind: u8, body: &[u8]) {
    match (kind, body) {
        (kind::MSS, [_, _]) => options.mss = Some(be16(body, 0)),
        // RFC 7323 §2.3: a shift of more than 14 counts as 14.
        (kind::WINDOW_SCALE, [shift]) => options.window_scale = Some(MAX_WINDOW_SHIFT.min(*shift)),
        (kind::SACK_PERMITTED, []) => options.sack_permitted = true,
        (kind::TIMESTAMPS, [_, _, _, _, _, _, _, _]) => {
            let (value, echo_reply) = (be32(body, 0), be32(body, 4));
            options.timestamps = Some(Timestamps { value, echo_reply });
        }
        (kind::SACK, [_, ..]) if body.len().is_multiple_of(8) => options.sack = parse_sack(body),
        (kind::ACCECN0, body) => {
            options.accecn = Some(AccEcnOption::from_body(AccEcnOrder::Ect0First, body));
        }
        (kind::ACCECN1, body) => {
            options.accecn = Some(AccEcnOption::from_body(AccEcnOrder::Ect1First, body));
        }
        // RFC 9293 §3.1, MUST-6: unknown options are ignored. So are known ones of a wrong length.
        _ => {}
    }
}

/// The blocks; 40 bytes of options cannot hold more than [`SackBlocks::MAX`].
fn parse_sack(body: &[u8]) -> SackBlocks {
    let mut sack = SackBlocks::default();
    for block in body.chunks_exact(8) {
        sack.push(SeqNumber(be32(block, 0)), SeqNumber(be32(block, 4)));
    }
    sack
}

/// Writes options to the beginning of `out` and returns their length, [`Options::wire_len`].
///
/// # Panics
///
/// If `out` is shorter than that; [`Options::MAX_LEN`] is always enough.
// The layout that wire_len counts on: everything begins at a multiple of four.
pub fn emit_options(options: &Options, out: &mut [u8]) -> usize {
    let out = &mut Writer { out, at: 0 };
    if let Some(mss) = options.mss {
        out.put(&[kind::MSS, 4]);
        out.put(&mss.to_be_bytes());
    }
    if options.sack_permitted {
        out.put(&[kind::SACK_PERMITTED, 2]);
    }
    // Both together fill three words, and each alone leaves two bytes (RFC 7323 appendix A).
    if options.sack_permitted != options.timestamps.is_some() {
        out.put(&[kind::NOP, kind::NOP]);
    }
    if let Some(timestamps) = options.timestamps {
        out.put(&[kind::TIMESTAMPS, 10]);
        out.put(&timestamps.value.to_be_bytes());
        out.put(&timestamps.echo_reply.to_be_bytes());
    }
    if let Some(shift) = options.window_scale {
        out.put(&[kind::NOP, kind::WINDOW_SCALE, 3, shift]);
    }
    emit_accecn(options.accecn, out);
    emit_sack(options.sack_that_fits(), out);
    debug_assert_eq!(out.at, options.wire_len(), "wire_len returns another length");
    out.at
}

fn emit_accecn(option: Option<AccEcnOption>, out: &mut Writer<'_>) {
    let Some(option) = option else { return };
    let body = option.body();
    let len = 2 + body.len();
    out.put(&[kind::NOP; 3][..len.next_multiple_of(4) - len]);
    let kind = match option.order() {
        AccEcnOrder::Ect0First => kind::ACCECN0,
        AccEcnOrder::Ect1First => kind::ACCECN1,
    };
    out.put(&[kind, len as u8]);
    out.put(body);
}

fn emit_sack(blocks: &[(SeqNumber, SeqNumber)], out: &mut Writer<'_>) {
    if blocks.is_empty() {
        return;
    }
    out.put(&[kind::NOP, kind::NOP, kind::SACK, 2 + 8 * blocks.len() as u8]);
    for (left, right) in blocks {
        out.put(&left.0.to_be_bytes());
        out.put(&right.0.to_be_bytes());
    }
}

/// Bytes written one after the other.
struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        self.out[self.at..end].copy_from_slice(bytes);
        self.at = end;
    }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;
