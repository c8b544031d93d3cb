//! The TCP header as bytes (RFC 9293 §3.1).

/// A header without options, in bytes.
pub const MIN_HEADER_LEN: usize = 20;

/// The largest window shift; a larger one on the wire means this one (RFC 7323 §2.3).
pub const MAX_WINDOW_SHIFT: u8 = 14;
