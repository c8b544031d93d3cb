//! The decoder against a model of a receiver: lost and coalesced ACKs (RFC 9768, appendix A).

use super::*;
use crate::segment::AccEcnOrder;
use alloc::vec::Vec;
use proptest::prelude::*;

const MSS: u32 = 1000;

/// A receiver of full segments, some of them with CE, the others with ECT(0).
#[derive(Default)]
struct Model {
    packets: u64,
    marked: u64,
    /// Packets acknowledged to the decoder.
    acked: u64,
}

impl Model {
    fn arrive(&mut self, marked: bool) {
        self.packets += 1;
        self.marked += u64::from(marked);
    }

    fn option(&self) -> AccEcnOption {
        let bytes = |packets: u64| packets * u64::from(MSS);
        let ect0 = E0B + bytes(self.packets - self.marked);
        AccEcnOption::new(AccEcnOrder::Ect0First, &[ect0, bytes(self.marked)])
    }

    /// An ACK of all packets arrives at the sender.
    fn acknowledge(&mut self, decoder: &mut Decoder, option: Option<AccEcnOption>) -> NewMarks {
        let delivered = (self.packets - self.acked) * u64::from(MSS);
        self.acked = self.packets;
        let ace = ((CEP + self.marked) % 8) as u8;
        decoder.take(&Feedback { ace, option: option.as_ref(), delivered, mss: MSS })
    }
}

/// Packets with or without CE, by how many packets pass from ACK to ACK that arrives.
fn rounds(most: usize) -> impl Strategy<Value = Vec<Vec<bool>>> {
    prop::collection::vec(prop::collection::vec(any::<bool>(), 1..=most), 1..50)
}

proptest! {
    #[test]
    fn rfc9768_a_2_1_ace_alone_is_exact_while_fewer_than_eight_packets_pass(rounds in rounds(7)) {
        let (mut model, mut decoder) = (Model::default(), Decoder::new(false));
        for round in rounds {
            round.iter().for_each(|marked| model.arrive(*marked));
            let marks = model.acknowledge(&mut decoder, None);
            let new = round.iter().filter(|marked| **marked).count() as u64;
            prop_assert_eq!(marks.packets, new);
            prop_assert_eq!(decoder.counts().ce_packets, model.marked);
            prop_assert_eq!(marks.exact, new == 0);
        }
    }

    #[test]
    fn rfc9768_a_2_1_ace_alone_never_counts_too_little(rounds in rounds(100)) {
        let (mut model, mut decoder) = (Model::default(), Decoder::new(false));
        for round in rounds {
            round.iter().for_each(|marked| model.arrive(*marked));
            let new = round.iter().filter(|marked| **marked).count() as u64;
            let marks = model.acknowledge(&mut decoder, None);
            prop_assert!(marks.packets >= new && marks.packets <= round.len() as u64);
            prop_assert_eq!(marks.packets % 8, new % 8);
        }
    }

    #[test]
    fn rfc9768_a_2_2_with_the_option_it_is_exact_whatever_is_lost(rounds in rounds(300)) {
        let (mut model, mut decoder) = (Model::default(), Decoder::new(false));
        decoder.note_sent(MSS);
        for round in rounds {
            round.iter().for_each(|marked| model.arrive(*marked));
            let option = model.option();
            let marks = model.acknowledge(&mut decoder, Some(option));
            let new = round.iter().filter(|marked| **marked).count() as u64;
            let expected =
                NewMarks { packets: new, bytes: new * u64::from(MSS), exact: true, contradicts: false };
            prop_assert_eq!(marks, expected);
            prop_assert_eq!(decoder.counts().ce_packets, model.marked);
        }
    }

    #[test]
    fn bytes_are_counted_once_where_the_option_is_left_out_at_times(
        rounds in rounds(7), with_option in prop::collection::vec(any::<bool>(), 50)
    ) {
        let (mut model, mut decoder) = (Model::default(), Decoder::new(false));
        let mut bytes = 0;
        for (round, with_option) in rounds.iter().zip(with_option) {
            round.iter().for_each(|marked| model.arrive(*marked));
            let option = with_option.then(|| model.option());
            bytes += model.acknowledge(&mut decoder, option).bytes;
            prop_assert_eq!(decoder.counts().ce_packets, model.marked);
            prop_assert_eq!(bytes, model.marked * u64::from(MSS));
        }
    }

    #[test]
    fn rfc9768_3_2_3_1_counters_of_24_bits_wrap(start in 0u64..1 << 26, step in 0u64..1 << 24) {
        let mut counter = start;
        prop_assert_eq!(advance(&mut counter, ((start + step) % DIVOPT) as u32), step);
        prop_assert_eq!(counter, start + step);
    }
}

#[test]
fn rfc9768_a_1_the_example_of_the_option() {
    let mut counter = 33_554_433;
    assert_eq!(advance(&mut counter, 1461), 1460);
    assert_eq!(counter, 33_555_893);
}

/// The marks of an ACK of `packets` packets whose ACE advances by `step`.
fn estimate(packets: u64, step: u8) -> u64 {
    let feedback = Feedback {
        ace: (CEP as u8 + step) % 8,
        option: None,
        delivered: packets * u64::from(MSS),
        mss: MSS,
    };
    Decoder::new(false).take(&feedback).packets
}

#[test]
fn rfc9768_a_2_1_the_examples_without_the_option() {
    assert_eq!(estimate(9, 2), 2);
    assert_eq!(estimate(10, 2), 10);
}

#[test]
fn rfc9768_3_2_2_5_2_ace_is_right_where_it_counts_more_than_the_packets_acknowledged() {
    assert_eq!(estimate(1, 3), 3);
    assert_eq!(estimate(0, 1), 1);
}

/// The packets with CE by ACE that advances by `step` and an option of `bytes` marked bytes.
fn with_bytes(step: u8, bytes: u64) -> u64 {
    let option = AccEcnOption::new(AccEcnOrder::Ect0First, &[E0B, bytes]);
    let feedback = Feedback {
        ace: (CEP as u8 + step) % 8,
        option: Some(&option),
        delivered: 100 * 1460,
        mss: 1460,
    };
    Decoder::new(false).take(&feedback).packets
}

#[test]
fn rfc9768_a_2_2_the_examples_with_the_option() {
    assert_eq!(with_bytes(0, 1460), 8);
    assert_eq!(with_bytes(2, 1460), 2);
    assert_eq!(with_bytes(7, 10_200), 7);
}

#[test]
fn an_option_without_the_marked_bytes_tells_that_the_data_was_not_marked() {
    let option = AccEcnOption::new(AccEcnOrder::Ect0First, &[E0B + 20_000]);
    let feedback = Feedback { ace: 5, option: Some(&option), delivered: 20_000, mss: MSS };
    assert_eq!(
        Decoder::new(false).take(&feedback),
        NewMarks { exact: true, ..NewMarks::default() }
    );
}

#[test]
fn rfc9768_a_1_an_ack_is_newer_by_its_number_by_new_blocks_or_by_its_timestamp() {
    let mut decoder = Decoder::new(false);
    assert!(decoder.is_newer(true, false, Some(10)));
    assert!(!decoder.is_newer(false, false, Some(10)));
    assert!(decoder.is_newer(false, true, Some(10)));
    assert!(decoder.is_newer(false, false, Some(11)));
    assert!(!decoder.is_newer(false, true, Some(10)), "overtaken");
    assert!(decoder.is_newer(true, false, Some(10)), "a higher number is newer all the same");
    assert!(!decoder.is_newer(false, false, Some(11)), "the newest timestamp stays");
    assert!(decoder.is_newer(false, true, None));
    assert!(!decoder.is_newer(false, false, None));
}

#[test]
fn rfc9768_3_2_3_2_5_eight_small_packets_may_have_wrapped_ace() {
    let take = |sent: u32| {
        let mut decoder = Decoder::new(false);
        decoder.note_sent(sent);
        let option = AccEcnOption::new(AccEcnOrder::Ect0First, &[E0B, 800]);
        let feedback = Feedback { ace: 5, option: Some(&option), delivered: 800, mss: MSS };
        decoder.take(&feedback).contradicts
    };
    assert!(!take(100));
    assert!(take(101));
}

#[test]
fn an_overtaken_option_changes_nothing() {
    let option = |ect0, ce| AccEcnOption::new(AccEcnOrder::Ect0First, &[ect0, ce]);
    let feedback = |ace, option| Feedback { ace, option: Some(option), delivered: 1000, mss: MSS };
    let mut decoder = Decoder::new(false);
    let (newer, older) = (option(9001, 2000), option(8001, 1000));
    decoder.take(&feedback(7, &newer));
    let counts = decoder.counts();
    assert_eq!((counts.ce_packets, counts.ce_bytes, counts.ect0_bytes), (2, 2000, 9000));
    assert_eq!(decoder.take(&feedback(6, &older)).bytes, 0);
    assert_eq!(decoder.counts(), counts);
}

/// Linux: a peer that coalesces ACKs has not lost seven of eight.
#[test]
fn with_the_ack_ratio_a_large_ack_has_not_wrapped_if_large_ones_are_usual() {
    let large = |first: u64| {
        let mut decoder = Decoder::new(true);
        let feedback = |ace, delivered| Feedback { ace, option: None, delivered, mss: 1000 };
        let before = decoder.take(&feedback(5, first * 1000)).packets;
        (before, decoder.take(&feedback(6, 10_000)).packets)
    };
    assert_eq!(large(10), (0, 1));
    assert_eq!(large(1), (0, 9), "nine of ten, as RFC 9768 section 3.2.2.5.2 has it");
}
