//! Models of slow start: how many new packets the ACKs of a test bring.
//!
//! An ACK frees the bytes that it acknowledges, and makes the window grow. If each of k full-sized
//! segments is acknowledged in n parts, k segments are freed. The window grows by k*n segments if the
//! server counts ACKs (RFC 2581), and by k if it counts bytes (RFC 3465).

use super::report::Observation;
use std::ops::RangeInclusive;

/// A model of how a server's congestion window grows in slow start.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// By a segment per ACK, however few bytes the ACK acknowledges (RFC 2581).
    PerAck,
    /// By the bytes that an ACK acknowledges, at most `limit` segments (L of RFC 3465; RFC 5681 has 1).
    PerByte {
        /// L, in segments.
        limit: u32,
    },
    /// By the bytes that an ACK acknowledges, without a limit (Linux, in whole packets).
    PerByteUnlimited,
    /// By so many segments for so many ACKs, however few bytes they acknowledge.
    PerAcks {
        /// The segments gained.
        segments: u32,
        /// The ACKs for which it gains them.
        acks: u32,
    },
    /// No growth: the server has no congestion window, or a constant one.
    NoGrowth,
}

impl Model {
    /// The range of new packets that the ACKs of a run bring. With full-sized segments it is one number.
    /// With shorter ones it depends on whether the server counts packets or bytes.
    pub(crate) fn new_packets(self, run: &Observation) -> RangeInclusive<u32> {
        let segments = run.acked.len() as u64;
        let in_packets = segments + self.grown_packets(run);
        let freed: u64 = run.acked.iter().map(|len| u64::from(*len)).sum();
        let mss = u64::from(run.mss_seen.max(1));
        let bytes = freed + self.grown_bytes(run);
        let (low, high) = (bytes / mss, bytes.div_ceil(mss));
        to_u32(low.min(in_packets))..=to_u32(high.max(in_packets))
    }

    /// All data packets of a run: those before the ACKs, and the middle of the predicted range.
    pub(crate) fn data_packets(self, run: &Observation) -> u32 {
        let range = self.new_packets(run);
        run.packets_before + range.start().midpoint(*range.end())
    }

    fn grown_packets(self, run: &Observation) -> u64 {
        let (segments, acks) = (run.acked.len() as u64, u64::from(run.acks_sent));
        let in_one_ack = if acks < segments { segments } else { 1 };
        match self {
            // RFC 2581 section 3.1: at most SMSS bytes for each ACK of new data.
            Model::PerAck => acks,
            Model::PerAcks { segments, acks: each } => {
                acks * u64::from(segments) / u64::from(each.max(1))
            }
            // RFC 3465 section 2.2: for an ACK of several segments at most L.
            Model::PerByte { limit } if acks < segments => in_one_ack.min(u64::from(limit)),
            Model::PerByte { .. } | Model::PerByteUnlimited => segments,
            Model::NoGrowth => 0,
        }
    }

    fn grown_bytes(self, run: &Observation) -> u64 {
        let mss = u64::from(run.mss_seen);
        let freed: u64 = run.acked.iter().map(|len| u64::from(*len)).sum();
        let stretch = (run.acks_sent as usize) < run.acked.len();
        match self {
            Model::PerAck => u64::from(run.acks_sent) * mss,
            Model::PerAcks { segments, acks } => {
                u64::from(run.acks_sent) * u64::from(segments) * mss / u64::from(acks.max(1))
            }
            // RFC 3465 section 2.2: min(bytes acknowledged, L * SMSS). No part of a segment is above the
            // limit, only an ACK for several.
            Model::PerByte { limit } if stretch => freed.min(u64::from(limit) * mss),
            Model::PerByte { .. } | Model::PerByteUnlimited => freed,
            Model::NoGrowth => 0,
        }
    }

    /// Whether the run fits this model in packets. If the server fills its window with packets that are
    /// shorter than necessary (no Nagle, no avoidance of silly windows, RFC 9293 section 3.8.6.2.1), bytes
    /// are compared instead.
    pub(crate) fn fits(self, run: &Observation) -> bool {
        if !run.grew_in_short_packets() {
            return self.new_packets(run).contains(&run.grown);
        }
        run.grown_bytes.abs_diff(self.new_bytes(run)) <= allowance(run)
    }

    /// Whether the run brought less than this model predicts: in packets or, if they are short, in bytes.
    pub(crate) fn exceeds(self, run: &Observation) -> bool {
        let short = run.grew_in_short_packets();
        run.grown < *self.new_packets(run).start()
            || short && run.grown_bytes + allowance(run) < self.new_bytes(run)
    }

    /// Whether the run brought more than this model predicts: in packets or, if they are short, in bytes.
    pub(crate) fn is_exceeded_by(self, run: &Observation) -> bool {
        match run.grew_in_short_packets() {
            true => run.grown_bytes > self.new_bytes(run) + allowance(run),
            false => run.grown > *self.new_packets(run).end(),
        }
    }

    fn new_bytes(self, run: &Observation) -> u64 {
        run.acked.iter().map(|len| u64::from(*len)).sum::<u64>() + self.grown_bytes(run)
    }
}

/// The tolerance in bytes between a run and a model.
fn allowance(run: &Observation) -> u64 {
    u64::from(run.mss_seen) / 8
}

fn to_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::topic::split::{Flight, Test};

    /// A run against a server of this model, with full segments.
    pub(crate) fn run(model: Model, test: Test, initial_window: u32, k: u32) -> Observation {
        let mss = 1460;
        let acked = vec![mss; k.min(initial_window) as usize];
        let ends: Vec<u64> = (1..=acked.len() as u64).map(|n| n * u64::from(mss)).collect();
        let flight = Flight {
            packets: initial_window,
            bytes: u64::from(initial_window * mss),
            ..Flight::default()
        };
        let mut run = Observation {
            test,
            window: 1 << 20,
            mss_seen: mss,
            mss_offered: mss as u16,
            first_flight: flight,
            missing_after_flight: 0,
            flight,
            acked,
            acks_sent: test.acks(&ends).len() as u32,
            packets_before: initial_window,
            grown: 0,
            grown_bytes: 0,
            data_packets: 0,
            data_bytes: 0,
            retransmissions: 1,
            reordered: 0,
            duplicated: 0,
            beyond_window: 0,
            damaged: 0,
            timeout_before_acks: false,
            fills_window: false,
            answer_ended: false,
            exchanged: None,
        };
        run.grown = *model.new_packets(&run).start();
        run.grown_bytes = u64::from(run.grown * mss);
        run.data_packets = initial_window + run.grown;
        run.data_bytes = u64::from(run.data_packets) * u64::from(mss);
        run
    }

    #[test]
    fn an_ack_counter_with_an_initial_window_of_3_sends_9_12_18_30_42_packets() {
        let totals = Test::OF_THE_PAPER.map(|test| run(Model::PerAck, test, 3, 3).data_packets);
        assert_eq!(totals, [9, 12, 18, 30, 42]);
        assert_eq!(run(Model::PerAck, Test::Stretch, 3, 3).grown, 4);
    }

    #[test]
    fn a_byte_counter_sends_the_same_whatever_the_split_and_the_stretch_ack_tells_its_limit() {
        for test in Test::OF_THE_PAPER {
            for model in [Model::PerByteUnlimited, Model::PerByte { limit: 1 }] {
                assert_eq!(run(model, test, 10, 3).grown, 6);
            }
        }
        let stretch = |model| run(model, Test::Stretch, 10, 3).grown;
        assert_eq!(stretch(Model::PerByte { limit: 1 }), 4);
        assert_eq!(stretch(Model::PerByte { limit: 2 }), 5);
        assert_eq!(stretch(Model::PerByteUnlimited), 6);
        assert_eq!(stretch(Model::NoGrowth), 3);
    }

    #[test]
    fn a_server_may_gain_two_segments_an_ack_or_one_for_two() {
        let grown = |segments, acks, parts| {
            let model = Model::PerAcks { segments, acks };
            model.new_packets(&run(model, Test::Split(parts), 10, 3))
        };
        // k freed, and 2 k n.
        assert_eq!(
            [1, 2, 4, 12].map(|parts| grown(2, 1, parts)),
            [9..=9, 15..=15, 27..=27, 75..=75]
        );
        // A counter of ACKs may stand at one or at none: of three it gains one or two.
        assert_eq!([1, 2, 4].map(|parts| grown(1, 2, parts)), [4..=5, 6..=6, 9..=9]);
    }

    #[test]
    fn two_segments_in_eight_acks_bring_ten_packets_or_four() {
        let test = Test::Split(4);
        assert_eq!(run(Model::PerAck, test, 10, 2).grown, 10);
        assert_eq!(run(Model::PerByteUnlimited, test, 10, 2).grown, 4);
    }

    #[test]
    fn an_initial_window_of_one_still_tells() {
        assert_eq!(run(Model::PerAck, Test::Split(4), 1, 3).grown, 5);
        assert_eq!(run(Model::PerByteUnlimited, Test::Split(4), 1, 3).grown, 2);
    }

    #[test]
    fn bytes_tell_where_a_window_is_filled_with_short_packets() {
        let model = Model::PerByte { limit: 1 };
        let mut short = run(model, Test::Split(12), 3, 3);
        assert!(model.fits(&short) && !Model::PerAck.fits(&short));
        // Each part of a segment brings a packet of twice its bytes.
        short.grown = 36;
        assert!(model.fits(&short) && !Model::PerAck.fits(&short));
        short.grown_bytes += 1460;
        assert!(!model.fits(&short));
    }

    #[test]
    fn a_short_segment_leaves_open_whether_packets_or_bytes_are_counted() {
        let mut short = run(Model::PerByteUnlimited, Test::Split(4), 10, 3);
        short.acked[0] = 200;
        assert_eq!(Model::PerByteUnlimited.new_packets(&short), 4..=6);
        assert_eq!(Model::PerAck.new_packets(&short), 14..=15);
    }
}
