//! The SACK scoreboard. `conn::acknowledge` enters blocks; `conn::transmit` asks it for the next
//! segment of a repair without RACK.

use crate::RangeSet;
use core::ops::Range;

/// The number of duplicate ACKs that indicates a loss (RFC 5681 §3.2).
pub(crate) const DUP_THRESH: u32 = 3;

/// The SACK scoreboard of a sender, with the functions of RFC 6675 on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    sacked: RangeSet,
    /// HighRxt: the position after the highest one retransmitted in this recovery.
    high_rxt: u64,
    /// RescueRxt: set once the rescue retransmission of this recovery is spent.
    rescue_spent: bool,
}

/// The segment that RFC 6675 §4 NextSeg() selects.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum NextSegment {
    /// Retransmit these positions.
    Lost {
        /// First position.
        from: u64,
        /// End of the hole: the data that follows is SACKed.
        to: u64,
    },
    /// Rule 4: retransmit the last outstanding segment, then call [`Scoreboard::spend_rescue`].
    Rescue {
        /// First position.
        from: u64,
        /// End of the data sent.
        to: u64,
    },
    /// Send data never sent before.
    New,
}

impl Scoreboard {
    /// Records that the peer SACKed `range`; returns the number of bytes not SACKed before.
    pub(crate) fn sack(&mut self, range: Range<u64>) -> u64 {
        self.sacked.insert(range).unwrap_or(0)
    }

    /// Records that everything below `una` is acknowledged.
    pub(crate) fn advance(&mut self, una: u64) {
        // SACKed data below the ACK number needs no entry (RFC 6675 §4, Update()).
        self.sacked.remove_below(una);
        self.high_rxt = self.high_rxt.max(una);
    }

    /// Forgets all SACKed data: the receiver has discarded it (RFC 2018 §8).
    pub(crate) fn forget(&mut self) {
        self.sacked.clear();
    }

    /// Begins a recovery at `una`.
    pub(crate) fn begin_recovery(&mut self, una: u64) {
        self.high_rxt = una;
        self.rescue_spent = false;
    }

    pub(crate) fn retransmitted_to(&mut self, position: u64) {
        self.high_rxt = self.high_rxt.max(position);
    }

    pub(crate) fn spend_rescue(&mut self) {
        self.rescue_spent = true;
    }

    pub(crate) fn sacked(&self) -> &RangeSet {
        &self.sacked
    }

    pub(crate) fn high_rxt(&self) -> u64 {
        self.high_rxt
    }

    /// Bytes of `range` that are not SACKed.
    fn missing(&self, range: Range<u64>) -> u64 {
        if range.is_empty() { 0 } else { range.end - range.start - self.sacked.covered(range) }
    }

    /// Every position below this that is not SACKed is lost in the sense of RFC 6675 §4 IsLost():
    /// enough ranges, or bytes, are SACKed above it.
    fn lost_edge(&self, mss: u32) -> u64 {
        let enough = u64::from(DUP_THRESH - 1) * u64::from(mss);
        let (mut ranges, mut bytes) = (0, 0);
        for range in self.sacked.as_slice().iter().rev() {
            ranges += 1;
            bytes += range.end - range.start;
            // IsLost(): DupThresh ranges, or more than (DupThresh - 1) * SMSS bytes, above it.
            if ranges >= DUP_THRESH || bytes > enough {
                return range.start;
            }
        }
        0
    }

    pub(crate) fn is_lost(&self, position: u64, mss: u32) -> bool {
        position < self.lost_edge(mss)
    }

    /// The estimate of the bytes in the network (RFC 6675 §4 SetPipe()).
    pub(crate) fn pipe(&self, una: u64, max: u64, mss: u32) -> u64 {
        let alive_from = self.lost_edge(mss).max(una);
        // SetPipe(): (a) octets not lost, (b) octets retransmitted.
        self.missing(alive_from..max) + self.missing(una..self.high_rxt.min(max))
    }

    /// The next segment to send (RFC 6675 §4 NextSeg()). `new_data`: unsent data may be sent.
    pub(crate) fn next_segment(
        &self,
        una: u64,
        max: u64,
        mss: u32,
        new_data: bool,
    ) -> Option<NextSegment> {
        let hole = self.next_hole(una);
        // NextSeg() rule 1: a hole that IsLost(), above HighRxt.
        if let Some((from, to)) = hole.filter(|(from, _)| self.is_lost(*from, mss)) {
            return Some(NextSegment::Lost { from, to });
        }
        // Rule 2: data not sent before.
        if new_data {
            return Some(NextSegment::New);
        }
        // Rule 3: a hole that is not known to be lost.
        if let Some((from, to)) = hole {
            return Some(NextSegment::Lost { from, to });
        }
        self.rescue(una, max, mss)
    }

    /// The first hole above HighRxt and below SACKed data.
    fn next_hole(&self, una: u64) -> Option<(u64, u64)> {
        let from = self.high_rxt.max(una);
        let from = self.sacked.range_at(from).map_or(from, |r| r.end);
        self.sacked.next_start(from).map(|to| (from, to))
    }

    /// Rule 4: the last outstanding segment, once per recovery, which reveals the loss of a tail.
    fn rescue(&self, una: u64, max: u64, mss: u32) -> Option<NextSegment> {
        let tail = self.sacked.end().unwrap_or(una).max(una);
        if self.rescue_spent || tail >= max {
            return None;
        }
        let from = max.saturating_sub(u64::from(mss)).max(tail);
        Some(NextSegment::Rescue { from, to: max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const MSS: u32 = 10;

    /// RFC 6675 §4, position by position, as it is written.
    struct Naive {
        sacked: Vec<bool>,
        una: u64,
        high_rxt: u64,
    }

    impl Naive {
        fn is_lost(&self, position: u64) -> bool {
            let above = &self.sacked[position as usize..];
            let bytes = above.iter().filter(|s| **s).count();
            let ranges = above.windows(2).filter(|w| !w[0] && w[1]).count() + above[0] as usize;
            ranges >= 3 || bytes > 2 * MSS as usize
        }

        fn pipe(&self, max: u64) -> u64 {
            (self.una..max)
                .filter(|p| !self.sacked[*p as usize])
                .map(|p| u64::from(!self.is_lost(p)) + u64::from(p < self.high_rxt))
                .sum()
        }
    }

    proptest! {
        #[test]
        fn pipe_and_is_lost_agree_with_the_rfc_position_by_position(
            blocks in proptest::collection::vec((1u64..190, 1u64..25), 0..8),
            una in 0u64..40, high_rxt in 0u64..120,
        ) {
            let max = 200;
            let mut board = Scoreboard::default();
            let mut naive =
                Naive { sacked: alloc::vec![false; max as usize], una, high_rxt: high_rxt.max(una) };
            board.begin_recovery(una);
            board.retransmitted_to(high_rxt);
            for (start, len) in blocks {
                let range = start.max(una + 1)..(start + len).min(max);
                if range.is_empty() { continue; }
                for p in range.clone() { naive.sacked[p as usize] = true; }
                board.sack(range);
            }
            prop_assert_eq!(board.pipe(una, max, MSS), naive.pipe(max));
            for p in (una..max).filter(|p| !naive.sacked[*p as usize]) {
                prop_assert_eq!(board.is_lost(p, MSS), naive.is_lost(p), "position {}", p);
            }
        }

        #[test]
        fn next_segment_never_sends_what_the_peer_has(
            blocks in proptest::collection::vec((1u64..190, 1u64..25), 0..8), high_rxt in 0u64..120,
        ) {
            let mut board = Scoreboard::default();
            board.begin_recovery(0);
            board.retransmitted_to(high_rxt);
            for (start, len) in blocks { board.sack(start..start + len); }
            if let Some(NextSegment::Lost { from, to } | NextSegment::Rescue { from, to }) =
                board.next_segment(0, 220, MSS, false)
            {
                prop_assert!(from < to);
                prop_assert_eq!(board.sacked().covered(from..to), 0);
            }
        }
    }

    #[test]
    fn rules_of_next_seg_in_their_order() {
        let mut board = Scoreboard::default();
        board.begin_recovery(0);
        board.sack(10..20);
        assert_eq!(board.next_segment(0, 100, MSS, true), Some(NextSegment::New), "not lost yet");
        let hole = NextSegment::Lost { from: 0, to: 10 };
        assert_eq!(board.next_segment(0, 100, MSS, false), Some(hole), "rule 3");
        board.sack(20..40);
        assert_eq!(board.next_segment(0, 100, MSS, true), Some(hole), "rule 1");
        board.retransmitted_to(10);
        let rescue = NextSegment::Rescue { from: 90, to: 100 };
        assert_eq!(board.next_segment(0, 100, MSS, false), Some(rescue), "rule 4");
        board.spend_rescue();
        assert_eq!(board.next_segment(0, 100, MSS, false), None);
    }
}
