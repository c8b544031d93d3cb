use super::{Delivered, Timing};
use crate::RangeSet;
use crate::cc::{CongestionCause, Controller};
use alloc::boxed::Box;
use core::ops::Range;

/// The way back from a cut of the window, should the repair turn out to have been needless, and what is
/// known of that so far.
#[derive(Debug)]
pub(crate) struct Undo {
    pub(crate) before: BeforeCut,
    /// What a timeout took for lost.
    pub(crate) flight: Option<LostFlight>,
    /// No report of a duplicate means this repair any more once this is acknowledged.
    pub(crate) until: u64,
    copies: Copies,
}

/// How things stood before a cut.
#[derive(Debug, Default)]
pub(crate) struct BeforeCut {
    /// The controller; `None` if it cannot be had back.
    pub(crate) controller: Option<Box<dyn Controller>>,
    /// [`Recovery::recover`](super::Recovery::recover).
    pub(crate) recover: u64,
    /// What had cut the window last.
    pub(crate) last_cut: Option<CongestionCause>,
    /// CWR was due.
    pub(crate) cwr: bool,
}

/// Segments in flight when the timer expired.
#[derive(Debug)]
pub(crate) struct LostFlight {
    /// When they were sent.
    pub(crate) timing: Timing,
    /// SND.NXT.
    pub(crate) nxt: u64,
    /// What RACK knew to be delivered.
    pub(crate) newest: Option<Delivered>,
}

/// What was sent again.
#[derive(Debug, Default)]
struct Copies {
    /// The millisecond of the first, as its timestamp has it.
    first_ms: Option<u32>,
    /// The position after the highest.
    end: u64,
    /// Not reported to be duplicates.
    unreported: RangeSet,
    /// Something was sent more than twice: one report does not say of which copy.
    unclear: bool,
}

impl Undo {
    pub(crate) fn new(before: BeforeCut, flight: Option<LostFlight>) -> Undo {
        Undo { before, flight, until: u64::MAX, copies: Copies::default() }
    }

    /// `range` goes out again, with a timestamp of `now_ms`.
    pub(crate) fn note_copy(&mut self, range: Range<u64>, now_ms: u32) {
        let copies = &mut self.copies;
        copies.first_ms.get_or_insert(now_ms);
        let len = range.end - range.start;
        // Part of it below the end was sent again before, reported or not.
        copies.unclear |= range.start < copies.end;
        copies.end = copies.end.max(range.end);
        copies.unclear |= copies.unreported.insert(range) != Some(len);
    }

    /// Something else is on its way that the peer will report as a duplicate.
    pub(crate) fn distrust_reports(&mut self) {
        self.copies.unclear = true;
    }

    /// The peer reports that it had `range` already.
    pub(crate) fn note_duplicate(&mut self, range: Range<u64>) {
        self.copies.unreported.remove(range);
    }

    /// Every copy was a duplicate (RFC 3708 §3).
    pub(crate) fn all_duplicates(&self) -> bool {
        let Copies { first_ms, unreported, unclear, .. } = &self.copies;
        first_ms.is_some() && !unclear && unreported.is_empty()
    }

    /// What the ACK echoes was sent before the first copy (RFC 3522 §3.2 step 5).
    pub(crate) fn is_before_copies(&self, echoed_ms: u32) -> bool {
        let first = self.copies.first_ms;
        first.is_some_and(|first| (echoed_ms.wrapping_sub(first) as i32) < 0)
    }

    /// The position after the highest copy.
    pub(crate) fn copies_end(&self) -> u64 {
        self.copies.end
    }
}

/// How far F-RTO is (RFC 5682 §2.1, with SACK §3.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frto {
    /// Not asked, or the timeout is believed.
    Off,
    /// Step 2: the first segment was sent again, no ACK came yet.
    FirstAck,
    /// Step 3: new data instead of old; so many segments more of it.
    SecondAck(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo() -> Undo {
        Undo::new(BeforeCut::default(), None)
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
    fn of_two_copies_of_the_same_one_report_tells_nothing() {
        let mut undo = undo();
        undo.note_copy(1..1001, 5);
        undo.note_duplicate(1..1001);
        undo.note_copy(1..1001, 9);
        undo.note_duplicate(1..1001);
        assert!(!undo.all_duplicates());
    }

    #[test]
    fn an_echo_is_older_than_the_copy_or_not_also_where_the_clock_wraps() {
        let mut undo = undo();
        undo.note_copy(1..1001, 3);
        undo.note_copy(1001..2001, 9);
        assert!(undo.is_before_copies(2) && undo.is_before_copies(u32::MAX - 5));
        assert!(!undo.is_before_copies(3) && !undo.is_before_copies(4));
    }
}
