//! The state before a reduction and the evidence against it. `conn::undo` records and judges, and
//! restores it.

use super::{Delivered, Timing};
use crate::RangeSet;
use crate::cc::{CongestionCause, Controller};
use alloc::boxed::Box;
use core::ops::Range;

/// The state to restore if a reduction of the window turns out to be needless, and the evidence so
/// far.
#[derive(Debug)]
pub(crate) struct Undo {
    pub(crate) before: BeforeCut,
    /// The flight that a timeout treated as lost; `None` after a fast retransmit.
    pub(crate) flight: Option<LostFlight>,
    /// Once this position is acknowledged, DSACKs do not concern this repair any more.
    pub(crate) until: u64,
    copies: Copies,
}

/// The state before a reduction.
#[derive(Debug, Default)]
pub(crate) struct BeforeCut {
    /// The controller; `None` if its reductions are final.
    pub(crate) controller: Option<Box<dyn Controller>>,
    /// [`Recovery::recover`](super::Recovery::recover).
    pub(crate) recover: u64,
    /// The cause of the previous reduction.
    pub(crate) last_cut: Option<CongestionCause>,
    /// CWR was due.
    pub(crate) cwr: bool,
}

/// Segments in flight when the timer expired.
#[derive(Debug)]
pub(crate) struct LostFlight {
    /// Their send times.
    pub(crate) timing: Timing,
    /// SND.NXT before the timeout.
    pub(crate) nxt: u64,
    /// RACK's newest delivered segment before the timeout.
    pub(crate) newest: Option<Delivered>,
}

/// The retransmissions of a repair.
#[derive(Debug, Default)]
struct Copies {
    /// When the first retransmission was sent, in milliseconds of the carrier's clock.
    first_ms: Option<u64>,
    /// The position after the highest retransmission.
    end: u64,
    /// Retransmissions that no DSACK has reported as duplicates.
    unreported: RangeSet,
    /// Some data was sent more than twice, so a DSACK does not identify the copy.
    unclear: bool,
}

impl Undo {
    pub(crate) fn new(before: BeforeCut, flight: Option<LostFlight>) -> Undo {
        Undo { before, flight, until: u64::MAX, copies: Copies::default() }
    }

    /// Records the retransmission of `range` at `now_ms`.
    pub(crate) fn note_copy(&mut self, range: Range<u64>, now_ms: u64) {
        let copies = &mut self.copies;
        copies.first_ms.get_or_insert(now_ms);
        let len = range.end - range.start;
        // Data below the end was already retransmitted before, reported or not.
        copies.unclear |= range.start < copies.end;
        copies.end = copies.end.max(range.end);
        copies.unclear |= copies.unreported.insert(range) != Some(len);
    }

    /// Ignores DSACKs from now on: the peer will also report other data as a duplicate.
    pub(crate) fn distrust_reports(&mut self) {
        self.copies.unclear = true;
    }

    /// Records a DSACK for `range`.
    pub(crate) fn note_duplicate(&mut self, range: Range<u64>) {
        self.copies.unreported.remove(range);
    }

    /// True if DSACKs have reported every retransmission as a duplicate (RFC 3708 §3).
    pub(crate) fn all_duplicates(&self) -> bool {
        let Copies { first_ms, unreported, unclear, .. } = &self.copies;
        first_ms.is_some() && !unclear && unreported.is_empty()
    }

    /// True if a segment sent at `sent_ms` is older than the first retransmission (RFC 3522 §3.2
    /// step 5).
    pub(crate) fn is_before_copies(&self, sent_ms: u64) -> bool {
        self.copies.first_ms.is_some_and(|first| sent_ms < first)
    }

    /// The position after the highest retransmission.
    pub(crate) fn copies_end(&self) -> u64 {
        self.copies.end
    }
}

/// The step of F-RTO that comes next (RFC 5682 §2.1, with SACK §3.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frto {
    /// F-RTO does not run: the last timeout counts as genuine.
    Off,
    /// Step 2: the first segment was retransmitted; its ACK has not arrived yet.
    FirstAck,
    /// Step 3: the sender sends new data instead of retransmissions, up to this number of segments.
    SecondAck(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo() -> Undo {
        Undo::new(BeforeCut::default(), None)
    }

    #[test]
    fn copies_of_adjacent_data_are_reported_one_by_one() {
        let mut undo = undo();
        undo.note_copy(1..1001, 5);
        undo.note_copy(1001..2001, 5);
        undo.note_duplicate(1..1001);
        assert!(!undo.all_duplicates());
        undo.note_duplicate(1001..2001);
        assert!(undo.all_duplicates());
    }

    #[test]
    fn all_copies_must_be_reported() {
        let mut undo = undo();
        assert!(!undo.all_duplicates(), "nothing was sent again");
        undo.note_copy(1..1001, 5);
        undo.note_copy(3001..4001, 6);
        undo.note_duplicate(1..1001);
        assert!(!undo.all_duplicates());
        undo.note_duplicate(3001..4001);
        assert!(undo.all_duplicates());
    }

    #[test]
    fn after_a_second_retransmission_a_dsack_proves_nothing() {
        let mut undo = undo();
        undo.note_copy(1..1001, 5);
        undo.note_duplicate(1..1001);
        undo.note_copy(1..1001, 9);
        undo.note_duplicate(1..1001);
        assert!(!undo.all_duplicates());
    }

    #[test]
    fn an_echo_is_compared_with_the_first_retransmission() {
        let mut undo = undo();
        undo.note_copy(1..1001, 3);
        undo.note_copy(1001..2001, 9);
        assert!(undo.is_before_copies(2));
        assert!(!undo.is_before_copies(3) && !undo.is_before_copies(4));
    }
}
