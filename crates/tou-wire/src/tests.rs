use super::*;
use proptest::prelude::*;
use windlass_tcp::{AccEcnOption, AccEcnOrder, SackBlocks, Timestamps};

fn options() -> impl Strategy<Value = Options> {
    (
        proptest::option::of(any::<u16>()),
        proptest::option::of(0..=14u8),
        any::<bool>(),
        proptest::option::of((any::<u32>(), any::<u32>())),
        proptest::collection::vec((any::<u32>(), any::<u32>()), 0..=4),
    )
        .prop_map(|(mss, window_scale, sack_permitted, timestamps, blocks)| {
            let mut sack = SackBlocks::default();
            for (left, right) in blocks {
                sack.push(SeqNumber(left), SeqNumber(right));
            }
            let timestamps = timestamps.map(|(value, echo_reply)| Timestamps { value, echo_reply });
            let mut options =
                Options { mss, window_scale, sack_permitted, timestamps, sack, accecn: None };
            // Blocks for which there is no room are not sent.
            let fits = options.sack_that_fits().to_vec();
            options.sack = SackBlocks::default();
            for (left, right) in fits {
                options.sack.push(left, right);
            }
            options
        })
}

proptest! {
    #[test]
    fn a_segment_survives_the_wire(
        seq: u32, ack: u32, flags in 0..512_u16, window: u16, options in options(), payload_len in 0..1456usize
    ) {
        let mut segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            flags: Flags::from_bits_retain(flags) - Flags::URG,
            window,
            options,
            payload_len: payload_len as u32,
        };
        let mut datagram = [0; MAX_HEADER_LEN + 1456];
        let header_len = emit(&segment, &mut datagram);
        let datagram = &datagram[..header_len + payload_len];
        if segment.flags.contains(Flags::SYN) && datagram.windows(4).any(|at| at == b"ToUA") {
            // AccECN's option takes their place.
            segment.options.sack = SackBlocks::default();
        }
        prop_assert_eq!(kind(datagram), Kind::Segment);
        prop_assert_eq!(parse(datagram), Ok((segment, header_len)));
    }

    #[test]
    fn no_bytes_are_too_strange(mut bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = (kind(&bytes), parse(&bytes));
        if let Some(cookie) = bytes.get_mut(4..8) {
            cookie.copy_from_slice(&COOKIE.to_be_bytes());
            prop_assert_eq!(kind(&bytes), Kind::Segment);
            if let Ok((segment, header_len)) = parse(&bytes) {
                prop_assert_eq!(header_len + segment.payload_len as usize, bytes.len());
            }
        }
    }
}

/// The layout in docs/reference/tou-protocol.md, "The header".
#[test]
fn a_header_is_laid_out_as_the_specification_says() {
    let segment = Segment {
        seq: SeqNumber(0x0102_0304),
        ack: SeqNumber(0x0506_0708),
        flags: Flags::CWR | Flags::ECE | Flags::ACK | Flags::PSH,
        window: 0x090a,
        ..Segment::default()
    };
    let mut out = [0xff; MAX_HEADER_LEN];
    assert_eq!(emit(&segment, &mut out), 16);
    let expected = [1, 2, 3, 4, 0x71, 0x94, 0xb3, 0x2e, 5, 6, 7, 8, 0x40, 0b0111_1000, 0x09, 0x0a];
    assert_eq!(out[..16], expected);
}

#[test]
fn each_reason_for_rejection_has_its_error() {
    let mut header = [0; 16];
    emit(&Segment::default(), &mut header);
    let changed = |at: usize, value: u8| {
        let mut header = header;
        header[at] = value;
        parse(&header).expect_err("not a segment")
    };
    assert_eq!(parse(&header[..15]), Err(ParseError::Header(WireError::Truncated)));
    assert_eq!(changed(4, 0), ParseError::Cookie);
    assert_eq!(changed(12, 0x41), ParseError::Version);
    assert_eq!(changed(13, 0x82), ParseError::Version, "AE on a SYN");
    assert_eq!(changed(12, 0x30), ParseError::Header(WireError::HeaderLength));
    assert_eq!(changed(12, 0x50), ParseError::Header(WireError::Truncated));
}

/// A header with these flags and options, as an end without Windlass's codec writes it.
fn by_hand(flags: u8, options: &[u8]) -> Vec<u8> {
    let mut header = vec![0, 0, 0, 7, 0x71, 0x94, 0xb3, 0x2e, 0, 0, 0, 9, 0, flags, 0xff, 0xff];
    header.extend_from_slice(options);
    header[12] = (header.len() as u8 / 4) << 4;
    header
}

fn parsed_flags(flags: u8, options: &[u8]) -> Flags {
    parse(&by_hand(flags, options)).expect("a segment").0.flags
}

const ACE: Flags = Flags::AE.union(Flags::CWR).union(Flags::ECE);

/// docs/reference/tou-protocol.md, "AccECN".
#[test]
fn accecn_is_an_option_on_syn_and_syn_ack_and_a_bit_later() {
    let emitted = |flags| {
        let segment = Segment { seq: SeqNumber(7), ack: SeqNumber(9), flags, ..Segment::default() };
        let segment = Segment { window: 0xffff, ..segment };
        let mut out = [0; MAX_HEADER_LEN];
        let len = emit(&segment, &mut out);
        out[..len].to_vec()
    };
    let option = |number| [253, 7, 0x54, 0x6f, 0x55, 0x41, number, 1];
    assert_eq!(emitted(Flags::SYN | ACE), by_hand(0b0110_0010, &option(7)));
    let syn_ack = Flags::SYN | Flags::ACK;
    assert_eq!(emitted(syn_ack | Flags::CWR), by_hand(0b0001_0010, &option(2)));
    assert_eq!(emitted(syn_ack | Flags::AE | Flags::CWR), by_hand(0b0001_0010, &option(6)));
    assert_eq!(emitted(Flags::ACK | Flags::AE | Flags::ECE), by_hand(0b1011_0000, &[]));
    // Classic ECN and none are as in a version without AccECN.
    assert_eq!(emitted(Flags::SYN | Flags::CWR | Flags::ECE), by_hand(0b0110_0010, &[]));
    assert_eq!(emitted(syn_ack | Flags::ECE), by_hand(0b0011_0010, &[]));
    assert_eq!(emitted(syn_ack), by_hand(0b0001_0010, &[]));
}

#[test]
fn the_option_with_all_others_of_a_syn_fills_the_room_at_most() {
    let accecn = Some(AccEcnOption::new(AccEcnOrder::Ect0First, &[1, 0, 1]));
    let timestamps = Some(Timestamps { value: 1, echo_reply: 2 });
    let mut sack = SackBlocks::default();
    sack.push(SeqNumber(1), SeqNumber(2));
    let all = Options {
        mss: Some(1456),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps,
        sack,
        accecn,
    };
    let segment =
        Segment { flags: Flags::SYN | Flags::ACK | Flags::CWR, options: all, ..Segment::default() };
    let mut out = [0; MAX_HEADER_LEN];
    let len = emit(&segment, &mut out);
    let (parsed, _) = parse(&out[..len]).expect("a segment");
    assert_eq!(parsed.flags, segment.flags);
    assert_eq!(parsed.options, Options { sack: SackBlocks::default(), accecn: None, ..all });
}

#[test]
fn without_the_option_no_flags_of_a_syn_mean_accecn() {
    // CWR alone, ECE alone; on a SYN-ACK CWR alone, and the SYN's flags reflected.
    for (flags, bare) in [(0x42, 0x02), (0x22, 0x02), (0x52, 0x12), (0x72, 0x12)] {
        assert_eq!(parsed_flags(flags, &[]), parsed_flags(bare, &[]), "{flags:#x}");
        // Options that are similar: another identifier, another length, behind the end of options.
        for similar in [
            [253, 7, 0x54, 0x6f, 0x55, 0x42, 7, 1],
            [253, 6, 0x54, 0x6f, 0x55, 0x41, 1, 1],
            [253, 8, 0x54, 0x6f, 0x55, 0x41, 7, 7],
            [0, 253, 7, 0x54, 0x6f, 0x55, 0x41, 7],
        ] {
            assert_eq!(parsed_flags(flags, &similar), parsed_flags(bare, &[]), "{similar:?}");
        }
    }
}

#[test]
fn the_last_option_counts_and_its_high_bits_do_not() {
    let twice = [253, 7, 0x54, 0x6f, 0x55, 0x41, 7, 1, 253, 7, 0x54, 0x6f, 0x55, 0x41, 0xfa, 0];
    assert_eq!(parsed_flags(0x12, &twice), Flags::SYN | Flags::ACK | Flags::CWR);
    // On later segments it has no meaning.
    assert_eq!(parsed_flags(0x10, &twice), Flags::ACK);
}

#[test]
fn only_valid_stun_headers_are_stun() {
    // A binding request (RFC 8489 §5).
    let mut stun = [0; 20];
    stun[1] = 1;
    stun[4..8].copy_from_slice(&STUN_COOKIE.to_be_bytes());
    assert_eq!(kind(&stun), Kind::Stun);
    assert_eq!(kind(&stun[..19]), Kind::Unknown);
    stun[0] = 0x80;
    assert_eq!(kind(&stun), Kind::Unknown);
    assert_eq!(kind(b"hello, is there anybody?"), Kind::Unknown);
    assert_eq!(kind(b""), Kind::Unknown);
}
