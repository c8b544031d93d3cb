//! The ECN field of an IP packet's bytes.

use windlass_base::{Ecn, checksum};

/// Rewrites the ECN field of an IPv4 or IPv6 packet. The checksum of an IPv4 header is updated
/// incrementally: a wrong one stays wrong. IPv6 headers have none. Bytes that are
/// too short to be a header are left alone.
pub(crate) fn rewrite(packet: &mut [u8], ecn: Ecn) {
    match (packet.first().map(|octet| octet >> 4), packet.len()) {
        (Some(4), 20..) => rewrite_v4(packet, ecn),
        // The traffic class spans the first two octets (RFC 8200 §3).
        (Some(6), 40..) => packet[1] = packet[1] & !0x30 | ecn.bits() << 4,
        _ => {}
    }
}

fn rewrite_v4(packet: &mut [u8], ecn: Ecn) {
    let old = [packet[0], packet[1]];
    // The two low bits of the second octet (RFC 3168 §5).
    packet[1] = packet[1] & !0b11 | ecn.bits();
    // By the difference of the two words (RFC 1624 §3).
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    let checksum = checksum::update(checksum, &old, &packet[..2]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use windlass_tcp::segment::ip::{self, Addresses, IpHeader};

    fn packet(addresses: Addresses, ecn: Ecn, identification: u16, payload: &[u8]) -> Vec<u8> {
        let header = IpHeader { addresses, ecn, hop_limit: 64, protocol: 6, identification };
        let mut bytes = [0; ip::IPV6_HEADER_LEN];
        let len = header.emit(payload.len(), &mut bytes).expect("a short payload");
        [&bytes[..len], payload].concat()
    }

    fn any_ecn() -> impl Strategy<Value = Ecn> {
        (0u8..4).prop_map(Ecn::from_bits)
    }

    proptest! {
        #[test]
        fn an_ipv4_header_stays_valid_and_only_ecn_changes(
            (source, destination, identification) in any::<(u32, u32, u16)>(),
            dscp in 0u8..64,
            (before, after) in (any_ecn(), any_ecn()),
        ) {
            let addresses = Addresses::V4 {
                source: Ipv4Addr::from(source),
                destination: Ipv4Addr::from(destination),
            };
            let mut bytes = packet(addresses, before, identification, b"payload");
            let old = [bytes[0], bytes[1]];
            bytes[1] |= dscp << 2;
            let sum = u16::from_be_bytes([bytes[10], bytes[11]]);
            let sum = checksum::update(sum, &old, &bytes[..2]);
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
            let original = ip::parse(&bytes).expect("a valid packet").header;
            rewrite(&mut bytes, after);
            // Parsing checks the checksum over the whole header.
            let header = ip::parse(&bytes).expect("a valid packet still").header;
            prop_assert_eq!(header, IpHeader { ecn: after, ..original });
            prop_assert_eq!(bytes[1] >> 2, dscp);
            prop_assert_eq!(&bytes[20..], b"payload");
        }

        #[test]
        fn in_ipv6_only_ecn_changes(
            (source, destination) in any::<(u128, u128)>(),
            (class_and_label, after) in (any::<u32>(), any_ecn()),
        ) {
            let addresses = Addresses::V6 {
                source: Ipv6Addr::from(source),
                destination: Ipv6Addr::from(destination),
            };
            let mut bytes = packet(addresses, Ecn::NotEct, 0, b"payload");
            let first = 0x6000_0000 | class_and_label & 0x0fff_ffff;
            bytes[..4].copy_from_slice(&first.to_be_bytes());
            let mut expected = bytes.clone();
            let first = first & !0x0030_0000 | u32::from(after.bits()) << 20;
            expected[..4].copy_from_slice(&first.to_be_bytes());
            rewrite(&mut bytes, after);
            prop_assert_eq!(bytes, expected);
        }

        #[test]
        fn bytes_that_are_no_packet_do_no_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let len = bytes.len();
            rewrite(&mut bytes, Ecn::Ce);
            prop_assert_eq!(bytes.len(), len);
        }
    }
}
