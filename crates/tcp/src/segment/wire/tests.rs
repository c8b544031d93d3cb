use super::super::ip;
use super::*;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};
use proptest::prelude::*;

const PORTS: Ports = Ports { source: 40_000, destination: 80 };

/// The header of `segment`, then as many zeros as it has payload.
fn bytes_of(segment: &Segment) -> Vec<u8> {
    let mut bytes = vec![0xaa; MAX_HEADER_LEN];
    let len = emit(segment, PORTS, &mut bytes);
    bytes.resize(len, 0);
    bytes.resize(len + segment.payload_len as usize, 0);
    bytes
}

fn options_of(bytes: &[u8]) -> Result<Options, WireError> {
    let mut header = bytes_of(&Segment::default());
    header.extend_from_slice(bytes);
    header.resize(header.len().next_multiple_of(4), kind::END);
    header[12] = (header.len() as u8 / 4) << 4;
    parse(&header).map(|(_, segment, _)| segment.options)
}

fn blocks(count: u32) -> SackBlocks {
    let mut sack = SackBlocks::default();
    for i in 0..count {
        assert!(sack.push(SeqNumber(10 * i), SeqNumber(10 * i + 5)), "room for {count}");
    }
    sack
}

fn timestamps() -> Option<Timestamps> {
    Some(Timestamps { value: 0x0102_0304, echo_reply: 0x0506_0708 })
}

prop_compose! {
    fn any_options()(
        mss: Option<u16>,
        window_scale in prop::option::of(0..=MAX_WINDOW_SHIFT),
        sack_permitted: bool,
        timestamps: Option<(u32, u32)>,
        edges in prop::collection::vec(any::<(u32, u32)>(), 0..=SackBlocks::MAX),
        accecn: Option<(bool, [u64; 3])>,
        accecn_fields in 0..=AccEcnOption::FIELDS,
    ) -> Options {
        let mut sack = SackBlocks::default();
        for (left, right) in edges {
            sack.push(SeqNumber(left), SeqNumber(right));
        }
        let timestamps = timestamps.map(|(value, echo_reply)| Timestamps { value, echo_reply });
        let accecn = accecn.map(|(ect1, values)| {
            let order = if ect1 { AccEcnOrder::Ect1First } else { AccEcnOrder::Ect0First };
            AccEcnOption::new(order, &values[..accecn_fields])
        });
        Options { mss, window_scale, sack_permitted, timestamps, sack, accecn }
    }
}

prop_compose! {
    fn any_segment()(
        (seq, ack, flags, window) in (any::<u32>(), any::<u32>(), 0u16..0x200, any::<u16>()),
        options in any_options(),
        payload_len in 0u32..3_000,
    ) -> Segment {
        let (seq, ack, flags) = (SeqNumber(seq), SeqNumber(ack), Flags::from_bits_retain(flags));
        Segment { seq, ack, flags, window, options, payload_len }
    }
}

proptest! {
    #[test]
    fn a_segment_survives_the_wire_but_for_the_sack_blocks_without_room(segment in any_segment()) {
        let bytes = bytes_of(&segment);
        let (ports, parsed, payload) = parse(&bytes).expect("its own bytes");
        prop_assert_eq!((ports, payload), (PORTS, bytes.len() - segment.payload_len as usize));
        let mut expected = segment;
        expected.options.sack = SackBlocks::default();
        for &(left, right) in segment.options.sack_that_fits() {
            expected.options.sack.push(left, right);
        }
        prop_assert_eq!(parsed, expected);
    }

    #[test]
    fn wire_len_tells_the_length_of_the_options(segment in any_segment()) {
        let len = segment.options.wire_len();
        prop_assert!(len <= Options::MAX_LEN && len % 4 == 0);
        prop_assert_eq!(emit(&segment, PORTS, &mut [0; MAX_HEADER_LEN]), MIN_HEADER_LEN + len);
        prop_assert_eq!(segment.wire_bytes() as usize, bytes_of(&segment).len());
    }

    #[test]
    fn a_checksum_holds_and_any_changed_bit_breaks_it(
        segment in any_segment(), v6: bool, spot: prop::sample::Index, bit in 0u8..8
    ) {
        let addresses = if v6 {
            let (source, destination) = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
            Addresses::V6 { source, destination }
        } else {
            let (source, destination) = (Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST);
            Addresses::V4 { source, destination }
        };
        let mut bytes = bytes_of(&segment);
        let (header, payload) = bytes.split_at(bytes.len() - segment.payload_len as usize);
        let sum = checksum(&addresses, header, payload);
        bytes[CHECKSUM_FIELD].copy_from_slice(&sum.to_be_bytes());
        prop_assert!(verify(&addresses, &bytes));
        let at = spot.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(!verify(&addresses, &bytes));
    }
}

#[test]
fn everything_that_the_engine_sends_has_room() {
    let syn = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: timestamps(),
        sack: SackBlocks::default(),
        ..Options::default()
    };
    assert_eq!(syn.wire_len(), 20);
    for (timestamps, count, len) in [(None, 4, 36), (timestamps(), 3, 40)] {
        let options = Options { timestamps, sack: blocks(count), ..Options::default() };
        assert_eq!(options.wire_len(), len);
        assert_eq!(options.sack_that_fits().len(), count as usize);
    }
}

#[test]
fn sack_blocks_without_room_are_left_out_from_the_oldest() {
    for (mss, window_scale, timestamps, fit) in [
        (Some(1460), None, None, 4),
        (Some(1460), Some(7), None, 3),
        (None, None, timestamps(), 3),
        (Some(1460), None, timestamps(), 2),
        (Some(1460), Some(7), timestamps(), 2),
    ] {
        let sack = blocks(4);
        let options = Options { mss, window_scale, timestamps, sack, ..Options::default() };
        let bytes = bytes_of(&Segment { options, ..Segment::default() });
        let (_, parsed, _) = parse(&bytes).expect("its own bytes");
        assert_eq!(parsed.options.sack, blocks(fit), "{options:?}");
        assert!(bytes.len() <= MAX_HEADER_LEN);
    }
}

/// A SYN that Linux 6 put on a TUN device.
const LINUX_SYN_V4: [u8; 60] = [
    0x45, 0x00, 0x00, 0x3c, 0x6e, 0xfe, 0x40, 0x00, 0x40, 0x06, 0xa7, 0xa9, 0x0a, 0x09, 0x08, 0x01,
    0x0a, 0x09, 0x08, 0x02, 0xdc, 0xec, 0x00, 0x50, 0x93, 0x6c, 0xec, 0x5f, 0x00, 0x00, 0x00, 0x00,
    0xa0, 0x02, 0xfa, 0xf0, 0x7b, 0x3c, 0x00, 0x00, 0x02, 0x04, 0x05, 0xb4, 0x04, 0x02, 0x08, 0x0a,
    0x99, 0xde, 0xb6, 0xd3, 0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x03, 0x0a,
];
const LINUX_SYN_V6: [u8; 80] = [
    0x60, 0x04, 0xc5, 0xfc, 0x00, 0x28, 0x06, 0x40, 0xfd, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xfd, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xbe, 0xfc, 0x00, 0x50, 0xbe, 0xee, 0xf0, 0x87,
    0x00, 0x00, 0x00, 0x00, 0xa0, 0x02, 0xfd, 0x20, 0x2a, 0xa0, 0x00, 0x00, 0x02, 0x04, 0x05, 0xa0,
    0x04, 0x02, 0x08, 0x0a, 0x8c, 0x11, 0x2b, 0x65, 0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x03, 0x0a,
];

#[test]
fn a_syn_of_linux_is_read_and_rebuilt_byte_for_byte() {
    for packet in [&LINUX_SYN_V4[..], &LINUX_SYN_V6] {
        let packet = ip::parse(packet).expect("an IP packet");
        let addresses = packet.header.addresses;
        assert!(verify(&addresses, packet.payload));
        let (ports, segment, payload) = parse(packet.payload).expect("a SYN");
        assert_eq!((segment.flags, payload), (Flags::SYN, packet.payload.len()));
        assert_eq!(segment.options.window_scale, Some(10));

        let mut header = [0; MAX_HEADER_LEN];
        let len = emit(&segment, ports, &mut header);
        let sum = checksum(&addresses, &header[..len], &[]);
        header[CHECKSUM_FIELD].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(header[..len], *packet.payload);
    }
}

#[test]
fn an_ack_with_sack_aligns_its_options() {
    let options = Options { timestamps: timestamps(), sack: blocks(1), ..Options::default() };
    let ack = Segment { flags: Flags::ACK, options, ..Segment::default() };
    assert_eq!(
        bytes_of(&ack)[MIN_HEADER_LEN..],
        [1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 5]
    );
}

#[test]
fn a_data_offset_that_cannot_be_is_refused() {
    let mut bytes = bytes_of(&Segment { payload_len: 4, ..Segment::default() });
    for (words, expected) in
        [(4, Err(WireError::HeaderLength)), (6, Ok(24)), (7, Err(WireError::Truncated))]
    {
        bytes[12] = words << 4;
        assert_eq!(parse(&bytes).map(|(_, _, payload)| payload), expected, "{words} words");
    }
    assert_eq!(parse(&bytes[..19]), Err(WireError::Truncated));
}

#[test]
fn reserved_bits_and_the_urgent_pointer_are_ignored() {
    let segment = Segment { flags: Flags::ACK | Flags::URG, ..Segment::default() };
    let mut bytes = bytes_of(&segment);
    // The last bit of the octet is AE.
    bytes[12] |= 0x0e;
    bytes[18] = 0xff;
    assert_eq!(parse(&bytes), Ok((PORTS, segment, MIN_HEADER_LEN)));
}

/// RFC 9768 §3.2.3: fields by length and order, and lengths between, whose rest is padding.
#[test]
fn rfc9768_accecn_options_of_any_length_are_read() {
    let read = |body: &[u8]| parse_options(body).expect("well-formed").accecn.expect("an option");
    let fields = |option: AccEcnOption| [option.ect0(), option.ce(), option.ect1()];
    let whole = [172, 11, 0, 0, 1, 0, 0, 2, 0xff, 0xff, 0xff];
    assert_eq!(fields(read(&whole)), [Some(1), Some(2), Some(0xff_ffff)]);
    assert_eq!(fields(read(&[174, 11, 0, 0, 1, 0, 0, 2, 0, 0, 3])), [Some(3), Some(2), Some(1)]);
    assert_eq!(fields(read(&[174, 8, 0, 0, 1, 0, 0, 2])), [None, Some(2), Some(1)]);
    assert_eq!(fields(read(&[172, 7, 0, 1, 0, 9, 9])), [Some(256), None, None]);
    assert_eq!(fields(read(&[172, 2])), [None; 3]);
    let longer = [&[172, 14][..], &whole[2..], &[1, 2, 3]].concat();
    assert_eq!(read(&longer), read(&whole));
}

#[test]
fn an_option_of_an_impossible_length_is_refused() {
    for bytes in [&[254, 0, 0, 0][..], &[254, 1, 0, 0], &[254, 5, 0, 0], &[1, 1, 1, 254]] {
        assert_eq!(options_of(bytes), Err(WireError::OptionLength), "{bytes:?}");
    }
}

#[test]
fn unknown_options_are_skipped_and_nothing_counts_behind_the_end() {
    let known = Options { mss: Some(536), ..Options::default() };
    assert_eq!(options_of(&[254, 4, 9, 9, 1, 2, 4, 2, 24]), Ok(known));
    assert_eq!(options_of(&[2, 4, 2, 24, 0, 3, 3, 7]), Ok(known));
}

#[test]
fn a_known_option_of_a_wrong_length_is_skipped() {
    let scale = Options { window_scale: Some(7), ..Options::default() };
    for wrong in [&[2, 3, 5][..], &[4, 3, 0], &[5, 2], &[5, 9, 0, 0, 0, 0, 0, 0, 0], &[8, 4, 0, 0]]
    {
        let bytes = [wrong, &[3, 3, 7]].concat();
        assert_eq!(options_of(&bytes), Ok(scale), "{wrong:?}");
    }
}

#[test]
fn a_window_scale_above_14_counts_as_14() {
    for (sent, taken) in [(14, 14), (15, 14), (255, 14)] {
        let options = options_of(&[3, 3, sent]).expect("well formed");
        assert_eq!(options.window_scale, Some(taken));
    }
}

#[test]
fn of_an_option_that_stands_twice_the_last_counts() {
    let options = options_of(&[2, 4, 0, 1, 2, 4, 0, 2]).expect("well formed");
    assert_eq!(options.mss, Some(2));
    let twice = [5, 10, 0, 0, 0, 9, 0, 0, 0, 9, 5, 10, 0, 0, 0, 0, 0, 0, 0, 5];
    assert_eq!(options_of(&twice).expect("well formed").sack, blocks(1));
}
