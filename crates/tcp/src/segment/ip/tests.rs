use super::*;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

/// The packet of `header` and `payload`.
fn packet(header: &IpHeader, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xaa; IPV6_HEADER_LEN];
    let len = header.emit(payload.len(), &mut bytes).expect("short enough");
    bytes.truncate(len);
    bytes.extend_from_slice(payload);
    bytes
}

fn v4() -> IpHeader {
    IpHeader {
        addresses: Addresses::V4 {
            source: Ipv4Addr::new(192, 168, 0, 1),
            destination: Ipv4Addr::new(192, 168, 0, 199),
        },
        ecn: Ecn::NotEct,
        hop_limit: 64,
        protocol: 17,
        identification: 0,
    }
}

fn v6(protocol: u8) -> IpHeader {
    IpHeader {
        addresses: Addresses::V6 {
            source: Ipv6Addr::LOCALHOST,
            destination: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
        },
        ecn: Ecn::Ect0,
        hop_limit: 64,
        protocol,
        identification: 0,
    }
}

fn set_v4_checksum(bytes: &mut [u8]) {
    let len = usize::from(bytes[0] & 0x0f) * 4;
    bytes[10..12].fill(0);
    let sum = checksum(&bytes[..len]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
}

prop_compose! {
    fn any_header()(
        v4: Option<(u32, u32, u16)>, source: u128, destination: u128, ecn: u8, hop_limit: u8
    ) -> IpHeader {
        let (addresses, identification) = match v4 {
            Some((source, destination, identification)) => {
                let (source, destination) = (source.into(), destination.into());
                (Addresses::V4 { source, destination }, identification)
            }
            None => {
                let (source, destination) = (source.into(), destination.into());
                (Addresses::V6 { source, destination }, 0)
            }
        };
        let ecn = Ecn::from_bits(ecn);
        IpHeader { addresses, ecn, hop_limit, protocol: PROTOCOL_TCP, identification }
    }
}

proptest! {
    #[test]
    fn a_packet_survives_the_wire_and_loses_its_padding(
        header in any_header(), payload in prop::collection::vec(any::<u8>(), 0..100), pad in 0..9usize
    ) {
        let mut bytes = packet(&header, &payload);
        bytes.resize(bytes.len() + pad, 0);
        let expected = IpPacket { header, fragment: false, later_fragment: false, payload: &payload };
        prop_assert_eq!(parse(&bytes), Ok(expected));
    }
}

/// A UDP packet often used as the example of the IPv4 header checksum, and right by hand.
#[test]
fn an_ipv4_header_as_bytes() {
    let bytes = packet(&v4(), &[0; 95]);
    assert_eq!(
        bytes[..20],
        [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7
        ]
    );
}

#[test]
fn an_ipv6_header_as_bytes() {
    let bytes = packet(&v6(PROTOCOL_TCP), &[0; 20]);
    assert_eq!(bytes[..8], [0x60, 0x20, 0, 0, 0, 20, 6, 64]);
    assert_eq!(bytes[8..24], Ipv6Addr::LOCALHOST.octets());
    assert_eq!(bytes[24..28], [0x20, 0x01, 0x0d, 0xb8]);
}

#[test]
fn a_payload_beyond_the_length_field_is_refused() {
    let mut out = [0; IPV6_HEADER_LEN];
    assert_eq!(v4().emit(65_515, &mut out), Ok(20));
    assert_eq!(v4().emit(65_516, &mut out), Err(WireError::TooLong));
    assert_eq!(v4().emit(usize::MAX, &mut out), Err(WireError::TooLong));
    assert_eq!(v6(6).emit(65_535, &mut out), Ok(40));
    assert_eq!(v6(6).emit(65_536, &mut out), Err(WireError::TooLong));
}

#[test]
fn ipv4_options_are_skipped() {
    let mut bytes = packet(&v4(), &[1, 1, 1, 0, 7, 8, 9]);
    bytes[0] = 0x46;
    set_v4_checksum(&mut bytes);
    assert_eq!(parse(&bytes).expect("well formed").payload, [7, 8, 9]);
}

#[test]
fn an_ipv4_packet_with_a_wrong_length_or_checksum_is_refused() {
    let good = packet(&v4(), &[0; 8]);
    let refusal = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        parse(&bytes).map(|packet| packet.payload.len())
    };
    assert_eq!(refusal(&|_| ()), Ok(8));
    assert_eq!(refusal(&|bytes| bytes.truncate(27)), Err(WireError::Truncated));
    assert_eq!(refusal(&|bytes| bytes.truncate(19)), Err(WireError::Truncated));
    assert_eq!(refusal(&|bytes| bytes[0] = 0x44), Err(WireError::HeaderLength));
    assert_eq!(refusal(&|bytes| bytes[0] = 0x48), Err(WireError::HeaderLength));
    assert_eq!(refusal(&|bytes| bytes[3] = 19), Err(WireError::HeaderLength));
    assert_eq!(refusal(&|bytes| bytes[8] = 63), Err(WireError::Checksum));
    assert_eq!(refusal(&|bytes| bytes[0] = 0x55), Err(WireError::Version));
    assert_eq!(refusal(&|bytes| bytes.clear()), Err(WireError::Truncated));
}

#[test]
fn ipv4_fragments_are_flagged() {
    // DF, the reserved bit, more fragments, an offset.
    let cases = [(0x4000u16, 0), (0x8000, 0), (0x2000, 1), (0x0001, 2), (0x2001, 2)];
    for (bits, kind) in cases {
        let mut bytes = packet(&v4(), &[0; 8]);
        bytes[6..8].copy_from_slice(&bits.to_be_bytes());
        set_v4_checksum(&mut bytes);
        let parsed = parse(&bytes).expect("well formed");
        assert_eq!((parsed.fragment, parsed.later_fragment), (kind > 0, kind > 1), "{bits:#06x}");
    }
}

#[test]
fn ipv6_extension_headers_are_skipped() {
    let extensions = [
        &[60, 0, 1, 4, 0, 0, 0, 0][..], // Hop-by-hop, PadN.
        &[51, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // Destination options.
        &[43, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // AH.
        &[6, 0, 4, 0, 0, 0, 0, 0],      // Routing.
        &[0xca, 0xfe],
    ]
    .concat();
    let bytes = packet(&v6(0), &extensions);
    let parsed = parse(&bytes).expect("well formed");
    assert_eq!((parsed.header, parsed.fragment), (v6(PROTOCOL_TCP), false));
    assert_eq!(parsed.payload, [0xca, 0xfe]);
    for len in 0..bytes.len() {
        assert_eq!(parse(&bytes[..len]), Err(WireError::Truncated), "{len} bytes");
    }
}

#[test]
fn an_extension_header_beyond_the_packet_is_refused() {
    assert_eq!(parse(&packet(&v6(60), &[6, 1, 0, 0, 0, 0, 0, 0])), Err(WireError::Truncated));
    assert_eq!(parse(&packet(&v6(60), &[6])), Err(WireError::Truncated));
}

#[test]
fn ipv6_fragments_are_flagged() {
    // Atomic (RFC 6946), the first of several, a later one.
    for (offset_and_more, kind) in [(0u16, 0), (1, 1), (8 << 3, 2)] {
        let [high, low] = offset_and_more.to_be_bytes();
        let bytes = packet(&v6(44), &[6, 0, high, low, 0, 0, 0, 7, 0xca, 0xfe]);
        let parsed = parse(&bytes).expect("well formed");
        let flags = (parsed.fragment, parsed.later_fragment);
        assert_eq!(flags, (kind > 0, kind > 1), "{offset_and_more}");
        assert_eq!((parsed.header.protocol, parsed.payload), (PROTOCOL_TCP, &[0xca, 0xfe][..]));
    }
}

#[test]
fn a_later_fragment_has_no_further_headers() {
    // The protocol is that of the packet's first piece; these bytes are out of its middle.
    let bytes = packet(&v6(44), &[60, 0, 0, 8, 0, 0, 0, 7, 0xff, 0xff]);
    let parsed = parse(&bytes).expect("well formed");
    assert!(parsed.fragment);
    assert_eq!(parsed.payload, [0xff, 0xff]);
}

#[test]
fn extension_headers_without_end_are_refused() {
    let headers = |count: usize| {
        let mut bytes = [60, 0, 0, 0, 0, 0, 0, 0].repeat(count);
        bytes[8 * (count - 1)] = PROTOCOL_TCP;
        packet(&v6(60), &bytes)
    };
    assert!(parse(&headers(MAX_EXTENSION_HEADERS)).is_ok());
    assert_eq!(parse(&headers(MAX_EXTENSION_HEADERS + 1)), Err(WireError::ExtensionHeaders));
}

#[test]
fn a_jumbogram_is_refused() {
    let mut bytes = packet(&v6(0), &[6, 0, 0xc2, 4, 0, 1, 0, 0]);
    bytes[4..6].fill(0);
    assert_eq!(parse(&bytes), Err(WireError::HeaderLength));
}

#[test]
fn a_partial_checksum_is_completed_by_the_sum_over_the_rest() {
    for addresses in [v4().addresses, v6(PROTOCOL_TCP).addresses] {
        let mut bytes = vec![0x12, 0x34, 0, 0, 0xab, 0xcd, 0xef];
        let complete = transport_checksum(&addresses, PROTOCOL_TCP, &[&bytes]);
        let partial = partial_checksum(&addresses, PROTOCOL_TCP, bytes.len() as u32);
        bytes[2..4].copy_from_slice(&partial.to_be_bytes());
        assert_eq!(checksum(&bytes), complete);
    }
}
