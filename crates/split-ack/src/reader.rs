//! Reads the values of the tables: plain numbers in native byte order.

use std::net::{IpAddr, Ipv6Addr};

/// The bytes of a struct, from front to back.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The bytes of a struct of `size` bytes; `None` if there are more or fewer.
    pub(crate) fn new(bytes: &'a [u8], size: usize) -> Option<Reader<'a>> {
        (bytes.len() == size).then_some(Reader(bytes))
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    pub(crate) fn address(&mut self) -> Option<IpAddr> {
        self.array::<16>().map(|octets| Ipv6Addr::from(octets).to_canonical())
    }

    pub(crate) fn port(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }
}
