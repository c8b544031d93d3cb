//! Parses any bytes as a datagram. Parsing must not panic, and a header that was written and parsed
//! once must not change any more.

use windlass_tcp::{Flags, Options, SackBlocks, Segment};
use windlass_tou::wire::{self, Kind};

/// One input of the target `tou_segment`.
pub(crate) fn run(bytes: &[u8]) {
    datagram(bytes);
    datagram(&with_cookie(bytes));
    datagram(&with_fixed_header(bytes));
}

fn datagram(bytes: &[u8]) {
    let kind = wire::kind(bytes);
    let Ok((segment, payload)) = wire::parse(bytes) else { return };
    assert_eq!(kind, Kind::Segment);
    assert_eq!(payload + segment.payload_len as usize, bytes.len());

    let mut written = [0; wire::MAX_HEADER_LEN];
    let len = wire::emit(&segment, &mut written);
    let is_syn = segment.flags.contains(Flags::SYN);
    // Everything except the options and their length must be unchanged. A SYN may have AccECN's flags in an option.
    assert_eq!(written[..12], bytes[..12]);
    assert_eq!(written[14..16], bytes[14..16]);
    if !is_syn {
        assert_eq!(len, wire::MIN_HEADER_LEN + segment.options.wire_len());
        assert_eq!(written[13], bytes[13]);
    }
    let again = wire::parse(&written[..len]).expect("a header just written");
    let has_option = is_syn && again.0.options != as_sent(&segment).options;
    let expected = if has_option { with_accecn(&segment) } else { as_sent(&segment) };
    assert_eq!(again, (expected, len));

    let mut rewritten = [0; wire::MAX_HEADER_LEN];
    assert_eq!(wire::emit(&again.0, &mut rewritten), len);
    assert_eq!(written, rewritten);
}

/// The header of `segment` as it is sent: without the SACK blocks for which there is no room.
fn as_sent(segment: &Segment) -> Segment {
    let mut sack = SackBlocks::default();
    for &(left, right) in segment.options.sack_that_fits() {
        assert!(sack.push(left, right));
    }
    let options = Options { sack, ..segment.options };
    Segment { options, payload_len: 0, ..*segment }
}

/// A SYN whose flags are AccECN's, as it is sent: without SACK blocks and counters.
fn with_accecn(segment: &Segment) -> Segment {
    let options = Options { sack: SackBlocks::default(), accecn: None, ..segment.options };
    Segment { options, payload_len: 0, ..*segment }
}

/// The bytes with ToU's cookie and without reserved bits, so that only lengths can be wrong.
fn with_cookie(bytes: &[u8]) -> Vec<u8> {
    let mut datagram = bytes.to_vec();
    if let Some(header) = datagram.get_mut(..wire::MIN_HEADER_LEN) {
        header[4..8].copy_from_slice(&wire::COOKIE.to_be_bytes());
        header[12] &= 0xf0;
        header[13] &= 0x7f;
    }
    datagram
}

/// Up to 40 of the bytes as the options of a valid header.
fn with_fixed_header(bytes: &[u8]) -> Vec<u8> {
    let mut header = vec![0; wire::MIN_HEADER_LEN];
    header[4..8].copy_from_slice(&wire::COOKIE.to_be_bytes());
    header.extend_from_slice(&bytes[..bytes.len().min(Options::MAX_LEN)]);
    header.resize(header.len().next_multiple_of(4), 0);
    header[12] = (header.len() as u8 / 4) << 4;
    header
}
