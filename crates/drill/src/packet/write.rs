//! Writes packets.

use super::{Icmp, Ip, PROTOCOL_ICMP, PROTOCOL_ICMPV6, PROTOCOL_TCP, Packet, Tcp, Transport};
use std::net::IpAddr;
use windlass_base::checksum::checksum;
use windlass_tcp::segment::ip::{Addresses, transport_checksum};

/// An IPv4 header without options, in bytes.
const IPV4_LEN: usize = 20;
/// The don't-fragment bit, in octet 6 of an IPv4 header.
const DONT_FRAGMENT: u8 = 0x40;

impl Packet {
    /// Its bytes, with checksums. `None` if the addresses are of two families, or it is longer than IP allows.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let addresses = Addresses::new(self.ip.source, self.ip.destination)?;
        let (protocol, mut payload, sum_at) = match &self.transport {
            Transport::Tcp(tcp) => (PROTOCOL_TCP, tcp.bytes()?, Some(16)),
            Transport::Icmp(icmp) if self.ip.source.is_ipv4() => {
                (PROTOCOL_ICMP, icmp.bytes(), Some(2))
            }
            Transport::Icmp(icmp) => (PROTOCOL_ICMPV6, icmp.bytes(), Some(2)),
            Transport::Other { protocol, payload } => (*protocol, payload.clone(), None),
        };
        if let Some(at) = sum_at {
            let sum = match protocol {
                PROTOCOL_ICMP => checksum(&payload),
                _ => transport_checksum(&addresses, protocol, &[&payload]),
            };
            payload[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        }
        let mut bytes = self.ip.bytes(protocol, payload.len())?;
        bytes.extend(payload);
        Some(bytes)
    }
}

impl Ip {
    /// The header of a packet with this payload.
    pub(crate) fn bytes(&self, protocol: u8, payload_len: usize) -> Option<Vec<u8>> {
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let len = u16::try_from(payload_len + IPV4_LEN).ok()?.to_be_bytes();
                let mut bytes = vec![
                    0x45,
                    self.tos,
                    len[0],
                    len[1],
                    0,
                    0,
                    DONT_FRAGMENT,
                    0,
                    self.ttl,
                    protocol,
                    0,
                    0,
                ];
                bytes.extend([source.octets(), destination.octets()].concat());
                let sum = checksum(&bytes).to_be_bytes();
                bytes[10..12].copy_from_slice(&sum);
                Some(bytes)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let first = 6 << 28 | u32::from(self.tos) << 20 | self.flow_label & 0xf_ffff;
                let mut bytes = first.to_be_bytes().to_vec();
                bytes.extend(u16::try_from(payload_len).ok()?.to_be_bytes());
                bytes.extend([protocol, self.ttl]);
                bytes.extend([source.octets(), destination.octets()].concat());
                Some(bytes)
            }
            _ => None,
        }
    }
}

impl Tcp {
    /// Header and payload with a checksum of zero; `None` if the options do not fit.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        let mut options = Vec::new();
        self.options.iter().for_each(|option| option.emit(&mut options));
        let words = (20 + options.len()) / 4;
        if options.len() % 4 != 0 || words > 15 {
            return None;
        }
        let mut bytes = [self.source.to_be_bytes(), self.destination.to_be_bytes()].concat();
        bytes.extend([self.seq.to_be_bytes(), self.ack.to_be_bytes()].concat());
        let bits = (words as u16) << 12 | u16::from(self.reserved & 7) << 9 | self.flags & 0x1ff;
        bytes.extend(
            [bits.to_be_bytes(), self.window.to_be_bytes(), [0, 0], self.urgent.to_be_bytes()]
                .concat(),
        );
        bytes.extend(options);
        bytes.extend(&self.payload);
        Some(bytes)
    }
}

impl Icmp {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.kind, self.code, 0, 0];
        bytes.extend(self.rest);
        bytes.extend(&self.body);
        bytes
    }
}
