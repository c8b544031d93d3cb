use super::*;
use proptest::prelude::*;
use windlass_tcp::{SackBlocks, Timestamps};

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
        seq: u32, ack: u32, flags: u8, window: u16, options in options(), payload_len in 0..1456usize
    ) {
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            flags: Flags::from_bits_retain(flags.into()) - Flags::URG,
            window,
            options,
            payload_len: payload_len as u32,
        };
        let mut datagram = [0; MAX_HEADER_LEN + 1456];
        let header_len = emit(&segment, &mut datagram);
        let datagram = &datagram[..header_len + payload_len];
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
    assert_eq!(changed(13, 0x80), ParseError::Version);
    assert_eq!(changed(12, 0x30), ParseError::Header(WireError::HeaderLength));
    assert_eq!(changed(12, 0x50), ParseError::Header(WireError::Truncated));
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
