//! Positions of the incoming stream that have arrived. The bytes themselves are with the carrier
//! ([`Stream`](crate::stream::Stream)).

use crate::{RangeSet, SackBlocks, SeqNumber};
use core::ops::Range;

/// The data of the peer's stream that has arrived: all of it up to RCV.NXT, and pieces beyond.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Reassembly {
    /// RCV.NXT: the first position that has not arrived.
    nxt: u64,
    /// The next position that the application reads.
    read: u64,
    /// Position of the peer's FIN, once it has arrived.
    fin: Option<u64>,
    pieces: RangeSet,
    /// Starts of the pieces that changed last, the most recent first (RFC 2018 §4).
    recent: [u64; SackBlocks::MAX],
    /// A duplicate to report in the next ACK (RFC 2883).
    duplicate: Option<Range<u64>>,
}

/// The effect of a segment on the stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// RCV.NXT advanced, and there was no gap.
    InOrder,
    /// RCV.NXT advanced, and a gap was filled, in whole or in part.
    FilledGap,
    /// The segment lies beyond a gap.
    OutOfOrder,
    /// The segment contains no new data.
    Duplicate,
    /// The segment is discarded: there are too many gaps.
    Refused,
}

impl Reassembly {
    pub(crate) fn new() -> Reassembly {
        Reassembly {
            nxt: 1,
            read: 1,
            fin: None,
            pieces: RangeSet::new(),
            recent: [0; SackBlocks::MAX],
            duplicate: None,
        }
    }

    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Bytes in order that the application has not read.
    pub(crate) fn readable(&self) -> u64 {
        self.data_end() - self.read
    }

    /// Position after the last byte of data in order: RCV.NXT without a FIN.
    pub(crate) fn data_end(&self) -> u64 {
        match self.fin {
            Some(fin) if self.nxt > fin => fin,
            _ => self.nxt,
        }
    }

    pub(crate) fn fin_received(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// Marks up to `bytes` as read by the application; returns how many.
    pub(crate) fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.readable());
        self.read += taken;
        taken
    }

    pub(crate) fn read_position(&self) -> u64 {
        self.read
    }

    /// Position of the peer's FIN, once it has arrived: the end of the stream.
    pub(crate) fn fin(&self) -> Option<u64> {
        self.fin
    }

    /// True if data has arrived beyond a gap.
    pub(crate) fn has_gap(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Takes payload at `range`, which the caller has trimmed to the window.
    pub(crate) fn insert(&mut self, range: Range<u64>) -> Arrival {
        if self.append(range.clone()) {
            return Arrival::InOrder;
        }
        self.insert_out_of_order(range)
    }

    /// Takes payload at RCV.NXT if no data has arrived beyond a gap; false for any other, which is not taken.
    #[inline(always)]
    pub(crate) fn append(&mut self, range: Range<u64>) -> bool {
        let appends = range.start == self.nxt && range.end > self.nxt && !self.has_gap();
        if appends {
            self.nxt = range.end;
        }
        appends
    }

    #[cold]
    fn insert_out_of_order(&mut self, range: Range<u64>) -> Arrival {
        if range.end <= self.nxt {
            // RFC 2883 §4: the next ACK reports it.
            self.duplicate = Some(range);
            return Arrival::Duplicate;
        }
        let gap = self.has_gap();
        if range.start > self.nxt {
            return self.insert_beyond_gap(range);
        }
        // RFC 2883 §4.2: a part of the segment had arrived before.
        if range.start < self.nxt {
            self.duplicate = Some(range.start..self.nxt);
        } else if gap {
            self.note_overlap(&range);
        }
        self.nxt = range.end;
        if !gap {
            return Arrival::InOrder;
        }
        self.join_pieces();
        Arrival::FilledGap
    }

    /// Of a segment that covers data beyond a gap, the first such data is a duplicate (RFC 2883 §4).
    fn note_overlap(&mut self, range: &Range<u64>) {
        let first = self.pieces.as_slice().iter().find(|piece| piece.end > range.start);
        if let Some(piece) = first.filter(|piece| piece.start < range.end) {
            let overlap = piece.start.max(range.start)..piece.end.min(range.end);
            self.duplicate = Some(overlap);
        }
    }

    fn insert_beyond_gap(&mut self, range: Range<u64>) -> Arrival {
        self.note_overlap(&range);
        match self.pieces.insert(range.clone()) {
            // A peer could make holes without end: the data is dropped, and comes again later.
            None => Arrival::Refused,
            Some(0) => {
                self.duplicate = Some(range);
                Arrival::Duplicate
            }
            Some(_) => {
                self.remember(range.start);
                Arrival::OutOfOrder
            }
        }
    }

    fn join_pieces(&mut self) {
        if let Some(piece) = self.pieces.range_at(self.nxt) {
            self.nxt = piece.end;
        }
        self.pieces.remove_below(self.nxt);
    }

    /// Records the peer's FIN at `position`. False if that contradicts the data or an earlier FIN.
    pub(crate) fn set_fin(&mut self, position: u64) -> bool {
        // Data behind its end: a faulty peer, or a forged FIN.
        if self.pieces.end().is_some_and(|end| end > position) || self.nxt > position {
            return false;
        }
        *self.fin.get_or_insert(position) == position
    }

    /// Moves RCV.NXT past the FIN once all data before it has arrived; returns true if it does so.
    pub(crate) fn take_fin(&mut self) -> bool {
        if self.fin == Some(self.nxt) {
            self.nxt += 1;
            return true;
        }
        false
    }

    fn remember(&mut self, start: u64) {
        // RFC 2018 §4: the block of the newest segment comes first.
        let at = self.recent.iter().position(|s| *s == start).unwrap_or(self.recent.len() - 1);
        self.recent[..=at].rotate_right(1);
        self.recent[0] = start;
    }

    /// SACK blocks for the next ACK: a duplicate first (RFC 2883 §4), then the piece that changed
    /// last, then the others (RFC 2018 §4); at most `max`.
    pub(crate) fn sack_blocks(&mut self, isn: SeqNumber, max: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if let Some(duplicate) = self.duplicate.take() {
            blocks.push(isn.at(duplicate.start), isn.at(duplicate.end));
        }
        // Pieces that have merged are named once, though several starts lead to them.
        let mut listed = [u64::MAX; SackBlocks::MAX];
        let recent = self.recent.iter().filter_map(|start| self.pieces.range_at(*start));
        for piece in recent.chain(self.pieces.as_slice().iter().cloned()) {
            let count = blocks.as_slice().len();
            if count >= max {
                break;
            }
            if !listed.contains(&piece.start) {
                listed[count] = piece.start;
                blocks.push(isn.at(piece.start), isn.at(piece.end));
            }
        }
        blocks
    }

    /// True if the next ACK carries SACK blocks.
    pub(crate) fn has_sack_news(&self) -> bool {
        self.duplicate.is_some() || self.has_gap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const ISN: SeqNumber = SeqNumber(1000);

    fn blocks(r: &mut Reassembly) -> Vec<(u32, u32)> {
        let sack = r.sack_blocks(ISN, SackBlocks::MAX);
        sack.as_slice().iter().map(|(l, r)| (l.0 - ISN.0, r.0 - ISN.0)).collect()
    }

    #[test]
    fn rfc2018_the_most_recent_block_comes_first() {
        let mut r = Reassembly::new();
        assert_eq!(r.insert(20..30), Arrival::OutOfOrder);
        assert_eq!(r.insert(40..50), Arrival::OutOfOrder);
        assert_eq!(blocks(&mut r), [(40, 50), (20, 30)]);
        assert_eq!(r.insert(30..35), Arrival::OutOfOrder);
        assert_eq!(blocks(&mut r), [(20, 35), (40, 50)]);
    }

    #[test]
    fn rfc2018_a_new_piece_comes_before_those_reported_before() {
        let mut r = Reassembly::new();
        r.insert(20..30);
        r.insert(60..70);
        r.insert(40..50);
        assert_eq!(blocks(&mut r), [(40, 50), (60, 70), (20, 30)]);
        r.insert(80..90);
        assert_eq!(blocks(&mut r), [(80, 90), (40, 50), (60, 70), (20, 30)]);
    }

    #[test]
    fn rfc2883_a_duplicate_is_reported_once_and_first() {
        let mut r = Reassembly::new();
        r.insert(1..10);
        r.insert(20..30);
        assert_eq!(r.insert(1..10), Arrival::Duplicate);
        assert_eq!(blocks(&mut r), [(1, 10), (20, 30)]);
        assert_eq!(blocks(&mut r), [(20, 30)]);
    }

    #[test]
    fn rfc2883_the_part_of_a_segment_that_had_arrived_is_reported() {
        let mut r = Reassembly::new();
        r.insert(1..10);
        assert_eq!(r.insert(5..15), Arrival::InOrder);
        assert_eq!((r.nxt(), blocks(&mut r)), (15, alloc::vec![(5, 10)]));
        assert_eq!(r.insert(15..20), Arrival::InOrder);
        assert_eq!(blocks(&mut r), []);
        r.insert(30..40);
        assert_eq!(r.insert(20..30), Arrival::FilledGap);
        assert_eq!(blocks(&mut r), [], "nothing arrived twice");
    }

    #[test]
    fn rfc2883_of_a_segment_that_covers_data_beyond_a_gap_the_first_such_data_is_reported() {
        let mut r = Reassembly::new();
        r.insert(10..30);
        r.insert(40..50);
        r.insert(70..80);
        blocks(&mut r);
        assert_eq!(r.insert(1..60), Arrival::FilledGap);
        assert_eq!(blocks(&mut r), [(10, 30), (70, 80)]);
        assert_eq!(r.insert(75..90), Arrival::OutOfOrder);
        assert_eq!(blocks(&mut r), [(75, 80), (70, 90)]);
        assert_eq!(r.insert(60..100), Arrival::FilledGap);
        assert_eq!(blocks(&mut r), [(70, 90)]);
    }

    #[test]
    fn filling_a_gap_delivers_what_lay_beyond() {
        let mut r = Reassembly::new();
        r.insert(10..20);
        assert_eq!(r.insert(1..10), Arrival::FilledGap);
        assert_eq!((r.nxt(), r.readable(), r.has_gap()), (20, 19, false));
    }

    #[test]
    fn a_fin_waits_for_the_data_before_it() {
        let mut r = Reassembly::new();
        r.insert(10..20);
        assert!(r.set_fin(20));
        assert!(!r.set_fin(25), "a second FIN elsewhere contradicts the first");
        assert!(!r.take_fin());
        r.insert(1..10);
        assert!(!r.fin_received(), "not before it is taken");
        assert!(r.take_fin());
        assert_eq!((r.nxt(), r.readable(), r.fin_received()), (21, 19, true));
        assert!(!r.take_fin(), "once");
    }

    #[test]
    fn a_fin_before_data_that_arrived_contradicts_it() {
        let mut r = Reassembly::new();
        r.insert(1..10);
        r.insert(20..30);
        for position in [9, 20, 29] {
            assert!(!r.set_fin(position), "{position}");
        }
        assert!(r.set_fin(30));
    }

    proptest! {
        #[test]
        fn any_order_of_pieces_gives_the_stream(
            cuts in proptest::collection::btree_set(2u64..300, 0..40),
            order in proptest::collection::vec(any::<proptest::sample::Index>(), 200),
        ) {
            let mut bounds: Vec<u64> = cuts.into_iter().collect();
            bounds.insert(0, 1);
            bounds.push(300);
            let pieces: Vec<Range<u64>> = bounds.windows(2).map(|w| w[0]..w[1]).collect();
            let mut r = Reassembly::new();
            for index in order {
                r.insert(index.get(&pieces).clone());
            }
            for piece in &pieces {
                r.insert(piece.clone());
            }
            prop_assert_eq!((r.nxt(), r.readable(), r.has_gap()), (300, 299, false));
        }
    }
}
