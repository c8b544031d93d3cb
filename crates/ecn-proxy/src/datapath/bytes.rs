//! The layouts of bpf/tables.h and of the machine's flow.h, read by hand: plain numbers in the
//! machine's own byte order.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The bytes of a struct, from front to back.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_ne_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }

    pub(super) fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    pub(super) fn address(&mut self) -> Option<IpAddr> {
        self.array::<16>().map(|octets| Ipv6Addr::from(octets).to_canonical())
    }
}

/// `struct flow_key`: the served host's end and the far end.
pub(super) fn ends(key: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let mut reader = Reader(key);
    let (host, far) = (reader.address()?, reader.address()?);
    let mut port = || reader.array().map(u16::from_be_bytes);
    Some((SocketAddr::new(host, port()?), SocketAddr::new(far, port()?)))
}

/// An IPv4 address as the tables have it.
pub(super) fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}
