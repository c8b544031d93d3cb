//! The TCP header as bytes (RFC 9293 §3.1).

/// A header without options, in bytes.
pub const MIN_HEADER_LEN: usize = 20;
