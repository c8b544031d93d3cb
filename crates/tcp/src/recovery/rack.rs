use super::Timing;
use crate::RangeSet;
use alloc::collections::VecDeque;
use core::ops::Range;
use windlass_base::{Span, Time};

/// RACK (RFC 8985 §6): a segment is lost once one that was sent later has been delivered, and time
/// enough for reordering has passed. What was sent once stands in [`Timing`]; here is the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    /// Sent more than once, in the order of sending, and neither delivered nor lost yet.
    again: VecDeque<Copy>,
    /// Lost and not sent again yet.
    lost: RangeSet,
    lost_bytes: u64,
    /// Of what was delivered, the segment that was sent last.
    newest: Option<Delivered>,
    /// A sample of the RTT that SACK gave: when the segment was sent.
    sample: Option<Time>,
    pub(crate) window: ReorderingWindow,
}

#[derive(Clone, Debug)]
struct Copy {
    range: Range<u64>,
    sent: Time,
}

/// RACK.xmit_ts, RACK.end_seq and RACK.rtt.
#[derive(Clone, Debug)]
pub(crate) struct Delivered {
    sent: Time,
    end: u64,
    rtt: Span,
}

impl Delivered {
    /// The segment that ends at `end` was sent before this one (RFC 8985 §6.2,
    /// RACK_sent_after()).
    fn is_after(&self, sent: Time, end: u64) -> bool {
        (self.sent, self.end) > (sent, end)
    }

    /// When what was sent at `sent` is lost, if it is not delivered before.
    fn deadline(&self, sent: Time, window: Span) -> Time {
        sent + self.rtt + window
    }
}

/// How an ACK tells a delivered copy from the original (RFC 8985 §6.2 step 2).
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) now: Time,
    /// The least so far, if one was ever measured.
    pub(crate) min_rtt: Option<Span>,
    /// What the peer echoes was sent in this millisecond of the carrier's clock, if timestamps tell.
    pub(crate) echoed_ms: Option<u64>,
}

impl Judge {
    fn is_of_original(&self, copy: &Copy) -> bool {
        let sent_ms = copy.sent.as_nanos() / 1_000_000;
        let age = self.now.saturating_since(copy.sent);
        match self.min_rtt {
            Some(least) => age < least || self.echoed_ms.is_some_and(|echoed| echoed < sent_ms),
            // Whatever went out again may have been answered already; Linux, too, believes it of none.
            None => self.echoed_ms.is_none_or(|echoed| echoed < sent_ms),
        }
    }
}

impl Rack {
    /// There is nothing that ACKs without SACK blocks could tell more of.
    pub(crate) fn is_quiet(&self) -> bool {
        self.again.is_empty() && self.lost.is_empty()
    }

    /// `range` goes out again.
    pub(crate) fn sent_again(&mut self, range: Range<u64>, now: Time) {
        self.found(range.clone());
        self.again.retain(|copy| copy.range.end <= range.start || range.end <= copy.range.start);
        self.again.push_back(Copy { range, sent: now });
    }

    /// Everything is sent again, or the peer reneged.
    pub(crate) fn forget(&mut self) {
        self.again.clear();
        self.lost.clear();
        self.lost_bytes = 0;
    }

    /// What was delivered that was sent last.
    pub(crate) fn newest(&self) -> Option<Delivered> {
        self.newest.clone()
    }

    /// What was delivered since was not the copy that it was taken for.
    pub(crate) fn go_back_to(&mut self, newest: Option<Delivered>) {
        self.newest = newest;
    }

    /// Lost, and not sent again yet: the first of it.
    pub(crate) fn first_lost(&self) -> Option<Range<u64>> {
        self.lost.as_slice().first().cloned()
    }

    /// The same in bytes.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// `part` is news to be delivered. True if it had been given up, before it was sent again.
    pub(crate) fn delivered(&mut self, now: Time, part: Range<u64>, timing: &Timing) -> bool {
        if let Some(sent) = timing.last_sent_within(part.clone()) {
            self.sample = self.sample.max(Some(sent));
            self.note(now, sent, part.end);
        }
        self.found(part)
    }

    /// `part` is not lost any more. True if some of it was.
    fn found(&mut self, part: Range<u64>) -> bool {
        let bytes = self.lost.remove(part);
        self.lost_bytes -= bytes;
        bytes > 0
    }

    /// When the segment at `position` was sent again, if it was and is on its way.
    pub(crate) fn copy_sent_at(&self, position: u64) -> Option<Time> {
        self.again.iter().find(|copy| copy.range.contains(&position)).map(|copy| copy.sent)
    }

    /// What was sent again is among what `ack` acknowledges.
    pub(crate) fn has_copy_below(&self, ack: u64) -> bool {
        self.again.iter().any(|copy| copy.range.start < ack)
    }

    /// When the segment was sent that SACK blocks of this ACK gave a sample of the RTT for.
    pub(crate) fn take_sample(&mut self) -> Option<Time> {
        self.sample.take()
    }

    fn note(&mut self, now: Time, sent: Time, end: u64) {
        if self.newest.as_ref().is_none_or(|newest| !newest.is_after(sent, end)) {
            self.newest = Some(Delivered { sent, end, rtt: now.saturating_since(sent) });
        }
    }

    /// Takes out the copies that were delivered: all below `una` and what is SACKed.
    pub(crate) fn settle(&mut self, una: u64, sacked: &RangeSet, judge: &Judge) {
        let mut again = core::mem::take(&mut self.again);
        again.retain(|copy| {
            let delivered = copy.range.end <= una || sacked.contains(&copy.range);
            if delivered && !judge.is_of_original(copy) {
                self.note(judge.now, copy.sent, copy.range.end);
            }
            !delivered
        });
        self.again = again;
        if self.lost.as_slice().first().is_some_and(|range| range.start < una) {
            self.found(0..una);
        }
    }

    /// Finds what is lost by now (RFC 8985 §6.2 step 5). Returns when there may be more.
    pub(crate) fn detect(
        &mut self,
        now: Time,
        window: Span,
        timing: &mut Timing,
        sacked: &RangeSet,
    ) -> Option<Time> {
        let newest = self.newest.clone()?;
        let mut next = None;
        let mut overtaken = 0;
        for flight in timing.iter() {
            let mut range = flight.range();
            if newest.sent == flight.sent {
                range.end = range.end.min(newest.end);
            }
            if range.is_empty() || (flight.sent, range.start) >= (newest.sent, newest.end) {
                break;
            }
            let deadline = newest.deadline(flight.sent, window);
            if deadline <= now {
                overtaken = range.end;
                self.lose(range, sacked);
            } else if !sacked.contains(&range) {
                next = next.max(Some(deadline));
            }
        }
        timing.drop_below(overtaken);
        let mut again = core::mem::take(&mut self.again);
        again.retain(|copy| {
            if !newest.is_after(copy.sent, copy.range.end) {
                return true;
            }
            let deadline = newest.deadline(copy.sent, window);
            if deadline <= now {
                self.lose(copy.range.clone(), sacked);
            } else {
                next = next.max(Some(deadline));
            }
            deadline > now
        });
        self.again = again;
        next
    }

    fn lose(&mut self, range: Range<u64>, sacked: &RangeSet) {
        for part in sacked.gaps(range) {
            self.lost_bytes += self.lost.insert(part).unwrap_or(0);
        }
    }
}

/// How long what was overtaken may still be on its way (RFC 8985 §6.2 step 4).
#[derive(Clone, Debug)]
pub(crate) struct ReorderingWindow {
    /// RACK.reordering_seen.
    seen: bool,
    /// RACK.reo_wnd_mult: in quarters of the least RTT.
    quarters: u32,
    /// RACK.reo_wnd_persist: recoveries until that is one again.
    persist: u32,
    /// RACK.dsack_round: no second step for DSACKs before this is acknowledged.
    dsack_round: u64,
}

const PERSIST_RECOVERIES: u32 = 16;
const MAX_QUARTERS: u32 = 255;

impl Default for ReorderingWindow {
    fn default() -> ReorderingWindow {
        ReorderingWindow { seen: false, quarters: 1, persist: 0, dsack_round: 0 }
    }
}

impl ReorderingWindow {
    /// What was sent once was delivered after what followed it.
    pub(crate) fn note_reordering(&mut self) {
        self.seen = true;
    }

    /// The peer reports a duplicate: something was given up too early. Once a round trip; as in
    /// Linux only where there was reordering to be mistaken about.
    pub(crate) fn note_dsack(&mut self, una: u64, nxt: u64) {
        if self.seen && una >= self.dsack_round {
            self.dsack_round = nxt;
            self.quarters = (self.quarters + 1).min(MAX_QUARTERS);
            self.persist = PERSIST_RECOVERIES;
        }
    }

    /// A recovery ends.
    pub(crate) fn note_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// `evident`: a recovery is under way, or the count of RFC 6675 tells of a loss.
    pub(crate) fn span(&self, evident: bool, min_rtt: Span, srtt: Span) -> Span {
        if evident && !self.seen {
            return Span::ZERO;
        }
        (min_rtt * u64::from(self.quarters) / 4).min(srtt)
    }
}

#[cfg(test)]
mod tests;
