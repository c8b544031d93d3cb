//! Reads the structs of bpf/tables.h and of the state machine's flow.h. Integers are in native byte order,
//! ports in network byte order. A test of load.rs compares the sizes with those of the programs.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// An address, the key of `hosts` and `served_hosts`.
pub(super) const ADDRESS_BYTES: usize = 16;
/// `struct flow_key`, the key of `flows` and `handshakes`.
pub(super) const FLOW_KEY_BYTES: usize = 36;
/// `struct flow`.
pub(super) const FLOW_BYTES: usize = 160;
/// `struct handshake`.
pub(super) const HANDSHAKE_BYTES: usize = 128;
/// `struct host`.
pub(super) const HOST_BYTES: usize = 32;
/// `struct served_host`.
pub(super) const SERVED_HOST_BYTES: usize = 104;
/// `struct ecn_flow` of the state machine.
pub(super) const MACHINE_BYTES: usize = 104;

/// The bytes of a struct, from front to back.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The bytes of a struct of `size` bytes; `None` if there are more or fewer.
    pub(super) fn new(bytes: &'a [u8], size: usize) -> Option<Reader<'a>> {
        (bytes.len() == size).then_some(Reader(bytes))
    }

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
    let mut reader = Reader::new(key, FLOW_KEY_BYTES)?;
    let (host, far) = (reader.address()?, reader.address()?);
    let mut port = || reader.array().map(u16::from_be_bytes);
    Some((SocketAddr::new(host, port()?), SocketAddr::new(far, port()?)))
}

/// An address as the tables store it: IPv4 as ::ffff:a.b.c.d.
pub(super) fn mapped(address: IpAddr) -> [u8; ADDRESS_BYTES] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_of_another_size_is_refused() {
        let bytes = [0; FLOW_KEY_BYTES + 1];
        assert!(ends(&bytes[..FLOW_KEY_BYTES]).is_some());
        assert!(ends(&bytes).is_none(), "longer");
        assert!(ends(&bytes[..FLOW_KEY_BYTES - 1]).is_none(), "shorter");
    }
}
