//! Errors of parsing and writing headers.

use core::fmt;

/// The reason why bytes cannot be parsed as a header, or a header cannot be written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes end before the header or packet does.
    Truncated,
    /// The length field of a header or packet is smaller than its fixed part.
    HeaderLength,
    /// A TCP option is shorter than its own length octet or reaches beyond the header.
    OptionLength,
    /// Neither IPv4 nor IPv6.
    Version,
    /// The IPv4 header checksum is wrong.
    Checksum,
    /// More IPv6 extension headers than the parser accepts.
    ExtensionHeaders,
    /// More bytes than the length field holds.
    TooLong,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WireError::Truncated => "the bytes end before the packet does",
            WireError::HeaderLength => "a length is shorter than the header's fixed part",
            WireError::OptionLength => "a TCP option has an impossible length",
            WireError::Version => "neither IPv4 nor IPv6",
            WireError::Checksum => "the IPv4 header checksum is wrong",
            WireError::ExtensionHeaders => "too many IPv6 extension headers",
            WireError::TooLong => "too many bytes for the length field",
        })
    }
}

impl core::error::Error for WireError {}
