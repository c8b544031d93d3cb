//! Loss detection by time. `conn::rack` reports deliveries and retransmissions, and asks for what is
//! lost; this module holds no timer and sends nothing.

use super::Timing;
use crate::RangeSet;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use windlass_base::{Span, Time};

/// RACK (RFC 8985 §6): a segment is lost if another one that was sent later has been delivered, and
/// longer than the reordering window has passed. [`Timing`] has the send times of segments sent
/// once; this type has those of retransmissions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    /// Retransmissions in the order of sending that are neither delivered nor lost yet.
    again: VecDeque<Copy>,
    /// Data that is lost and not retransmitted yet.
    lost: RangeSet,
    /// The bytes in `lost`.
    lost_bytes: u64,
    /// Reductions of the window so far.
    reductions: u64,
    /// A retransmission sent since the last reduction is lost.
    lost_again: bool,
    /// The segment that was sent last among those delivered.
    newest: Option<Delivered>,
    /// The send time of the segment that the current ACK samples the RTT of.
    sample: Option<Time>,
    pub(crate) window: ReorderingWindow,
    /// The losses since [`Rack::take_losses`], if somebody asks for them.
    losses: Option<Vec<Range<u64>>>,
}

#[derive(Clone, Debug)]
struct Copy {
    range: Range<u64>,
    sent: Time,
    /// [`Rack::reductions`] when it was sent.
    reductions: u64,
}

/// RACK.xmit_ts, RACK.end_seq and RACK.rtt.
#[derive(Clone, Debug)]
pub(crate) struct Delivered {
    sent: Time,
    end: u64,
    rtt: Span,
}

impl Delivered {
    /// True if the segment that ends at `end` was sent before this one (RFC 8985 §6.2,
    /// RACK_sent_after()).
    fn is_after(&self, sent: Time, end: u64) -> bool {
        (self.sent, self.end) > (sent, end)
    }

    /// The time at which a segment sent at `sent` counts as lost, unless it is delivered before.
    fn deadline(&self, sent: Time, window: Span) -> Time {
        // RFC 8985 §6.2 step 5: Segment.xmit_ts + RACK.rtt + RACK.reo_wnd.
        sent + self.rtt + window
    }
}

/// The information by which the sender decides whether an ACK answers a retransmission or the
/// original (RFC 8985 §6.2 step 2).
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) now: Time,
    /// The minimum RTT so far; `None` before the first sample.
    pub(crate) min_rtt: Option<Span>,
    /// The send time of the echoed timestamp, in milliseconds of the carrier's clock; `None`
    /// without one.
    pub(crate) echoed_ms: Option<u64>,
}

impl Judge {
    /// `below_una`: the ACK number covers the retransmission. Data behind a hole leaves TS.Recent as
    /// it is (RFC 7323 §4.3), so the echo on an ACK that SACKs the retransmission says nothing.
    fn is_of_original(&self, copy: &Copy, below_una: bool) -> bool {
        // RFC 8985 §6.2 step 2: sooner than the minimum RTT, or with an older timestamp.
        let sent_ms = copy.sent.as_nanos() / 1_000_000;
        let age = self.now.saturating_since(copy.sent);
        let echoed_ms = self.echoed_ms.filter(|_| below_una);
        match self.min_rtt {
            Some(least) => age < least || echoed_ms.is_some_and(|echoed| echoed < sent_ms),
            // Without a minimum RTT no retransmission counts as delivered, as in Linux: the
            // original may have caused the ACK.
            None => echoed_ms.is_none_or(|echoed| echoed < sent_ms),
        }
    }
}

impl Rack {
    /// True if no data is lost or retransmitted: an ACK without SACK blocks then has no news for
    /// RACK.
    pub(crate) fn is_quiet(&self) -> bool {
        self.again.is_empty() && self.lost.is_empty()
    }

    /// Whether [`Rack::take_losses`] is to return losses.
    pub(crate) fn collect_losses(&mut self, collect: bool) {
        self.losses = collect.then(Vec::new);
    }

    /// The data found lost since the last call, in the order of the findings.
    pub(crate) fn take_losses(&mut self) -> Vec<Range<u64>> {
        self.losses.as_mut().map_or(Vec::new(), core::mem::take)
    }

    /// Records the retransmission of `range`.
    pub(crate) fn sent_again(&mut self, range: Range<u64>, now: Time) {
        self.found(range.clone());
        self.again.retain(|copy| copy.range.end <= range.start || range.end <= copy.range.start);
        self.again.push_back(Copy { range, sent: now, reductions: self.reductions });
    }

    /// Records a reduction of the window.
    pub(crate) fn note_reduction(&mut self) {
        self.reductions += 1;
        self.lost_again = false;
    }

    /// True if a retransmission is outstanding that was sent since the last reduction.
    pub(crate) fn has_copy_since_reduction(&self) -> bool {
        self.again.iter().any(|copy| copy.reductions == self.reductions)
    }

    /// True if a retransmission is lost that was sent since the last reduction: a new sign of
    /// congestion (RFC 5681 §4.3).
    pub(crate) fn is_lost_again(&self) -> bool {
        self.lost_again
    }

    /// Forgets losses and retransmissions: after a timeout, or if the receiver has discarded SACKed
    /// data.
    pub(crate) fn forget(&mut self) {
        self.again.clear();
        self.lost.clear();
        self.lost_bytes = 0;
        self.lost_again = false;
    }

    /// The segment that was sent last among those delivered.
    pub(crate) fn newest(&self) -> Option<Delivered> {
        self.newest.clone()
    }

    /// Restores `newest` after a needless timeout: the deliveries since were those of originals.
    pub(crate) fn go_back_to(&mut self, newest: Option<Delivered>) {
        self.newest = newest;
    }

    /// The first range of data that is lost and not retransmitted yet.
    pub(crate) fn first_lost(&self) -> Option<Range<u64>> {
        self.lost.as_slice().first().cloned()
    }

    /// Bytes that are lost and not retransmitted yet.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Bytes retransmitted, and neither delivered nor lost again.
    pub(crate) fn copied_bytes(&self) -> u64 {
        self.again.iter().map(|copy| copy.range.end - copy.range.start).sum()
    }

    /// Records that `part` is newly delivered. True if it counted as lost and was not retransmitted
    /// yet.
    pub(crate) fn delivered(&mut self, now: Time, part: Range<u64>, timing: &Timing) -> bool {
        // RFC 8985 §6.2 step 2: the newest delivered segment sets RACK.xmit_ts and RACK.rtt.
        if let Some(sent) = timing.last_sent_within(part.clone()) {
            self.sample = self.sample.max(Some(sent));
            self.note(now, sent, part.end);
        }
        self.found(part)
    }

    /// Removes `part` from the lost data. True if some of it was lost.
    fn found(&mut self, part: Range<u64>) -> bool {
        let bytes = self.lost.remove(part);
        self.lost_bytes -= bytes;
        bytes > 0
    }

    /// The send time of the outstanding retransmission at `position`, if there is one.
    pub(crate) fn copy_sent_at(&self, position: u64) -> Option<Time> {
        self.again.iter().find(|copy| copy.range.contains(&position)).map(|copy| copy.sent)
    }

    /// True if `ack` acknowledges retransmitted data.
    pub(crate) fn has_copy_below(&self, ack: u64) -> bool {
        self.again.iter().any(|copy| copy.range.start < ack)
    }

    /// Takes the send time of the segment that the current ACK samples the RTT of.
    pub(crate) fn take_sample(&mut self) -> Option<Time> {
        self.sample.take()
    }

    fn note(&mut self, now: Time, sent: Time, end: u64) {
        if self.newest.as_ref().is_none_or(|newest| !newest.is_after(sent, end)) {
            self.newest = Some(Delivered { sent, end, rtt: now.saturating_since(sent) });
        }
    }

    /// Removes the retransmissions that are delivered: those below `una` and those SACKed.
    pub(crate) fn settle(&mut self, una: u64, sacked: &RangeSet, judge: &Judge) {
        let mut again = core::mem::take(&mut self.again);
        // Delivered retransmissions update RACK as well (RFC 8985 §6.2 step 2).
        again.retain(|copy| {
            let below_una = copy.range.end <= una;
            let delivered = below_una || sacked.contains(&copy.range);
            if delivered && !judge.is_of_original(copy, below_una) {
                self.note(judge.now, copy.sent, copy.range.end);
            }
            !delivered
        });
        self.again = again;
        if self.lost.as_slice().first().is_some_and(|range| range.start < una) {
            self.found(0..una);
        }
    }

    /// Marks the segments that are lost by now (RFC 8985 §6.2 step 5). Returns the time at which
    /// further segments may count as lost.
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
            // RFC 8985 §6.2 step 5: lost once RACK.rtt and the reordering window have passed.
            let deadline = newest.deadline(flight.sent, window);
            if deadline <= now {
                overtaken = range.end;
                self.lose(range, sacked);
            } else if !sacked.contains(&range) {
                next = next.max(Some(deadline));
            }
        }
        timing.drop_below(overtaken);
        next.max(self.detect_copies(now, window, &newest, sacked))
    }

    /// The same for retransmissions. They stand in the order of sending, so those after `newest` need no look.
    fn detect_copies(
        &mut self,
        now: Time,
        window: Span,
        newest: &Delivered,
        sacked: &RangeSet,
    ) -> Option<Time> {
        let mut next = None;
        let mut index = 0;
        while let Some(copy) = self.again.get(index).filter(|copy| copy.sent <= newest.sent) {
            let deadline = newest.deadline(copy.sent, window);
            if !newest.is_after(copy.sent, copy.range.end) {
                index += 1;
            } else if deadline > now {
                next = next.max(Some(deadline));
                index += 1;
            } else if let Some(copy) = self.again.remove(index) {
                // RFC 5681 §4.3: a retransmission of the present window is lost.
                self.lost_again |= copy.reductions == self.reductions;
                self.lose(copy.range, sacked);
            }
        }
        next
    }

    fn lose(&mut self, range: Range<u64>, sacked: &RangeSet) {
        for part in sacked.gaps(range) {
            if let Some(losses) = &mut self.losses {
                losses.push(part.clone());
            }
            self.lost_bytes += self.lost.insert(part).unwrap_or(0);
        }
    }
}

/// The reordering window: how long a segment may take longer than one that was sent after it (RFC
/// 8985 §6.2 step 4).
#[derive(Clone, Debug)]
pub(crate) struct ReorderingWindow {
    /// Reordering was observed on this connection (RACK.reordering_seen).
    seen: bool,
    /// The largest distance in the stream by which data was overtaken, in bytes.
    distance: u64,
    /// The window in quarters of the minimum RTT (RACK.reo_wnd_mult).
    quarters: u32,
    /// Recoveries until `quarters` is reset to 1 (RACK.reo_wnd_persist).
    persist: u32,
    /// DSACKs increase the window once until this position is acknowledged (RACK.dsack_round).
    dsack_round: u64,
}

const PERSIST_RECOVERIES: u32 = 16;
const MAX_QUARTERS: u32 = 255;

impl Default for ReorderingWindow {
    fn default() -> ReorderingWindow {
        ReorderingWindow { seen: false, distance: 0, quarters: 1, persist: 0, dsack_round: 0 }
    }
}

impl ReorderingWindow {
    /// Records reordering: an original was delivered after a segment that was sent later and ends `distance` bytes
    /// behind its beginning.
    pub(crate) fn note_reordering(&mut self, distance: u64) {
        self.seen = true;
        self.distance = self.distance.max(distance);
    }

    /// The largest distance by which data was overtaken, in bytes.
    pub(crate) fn distance(&self) -> u64 {
        self.distance
    }

    /// Increases the window after a DSACK, which shows that a segment was considered lost too
    /// early. At most once per round trip and, as in Linux, only if reordering was observed.
    pub(crate) fn note_dsack(&mut self, una: u64, nxt: u64) {
        // RFC 8985 §6.2 step 4: a quarter of the minimum RTT more, for 16 recoveries.
        if self.seen && una >= self.dsack_round {
            self.dsack_round = nxt;
            self.quarters = (self.quarters + 1).min(MAX_QUARTERS);
            self.persist = PERSIST_RECOVERIES;
        }
    }

    /// Counts the end of a recovery.
    pub(crate) fn note_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        // RFC 8985 §6.2 step 4: the window shrinks after 16 recoveries without a DSACK.
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// The window in force. `evident`: a recovery is under way, or the count of SACKed segments
    /// shows a loss by RFC 6675.
    pub(crate) fn span(&self, evident: bool, min_rtt: Span, srtt: Span) -> Span {
        // RFC 8985 §6.2 step 4: without reordering, losses in a recovery are found at once.
        if evident && !self.seen {
            return Span::ZERO;
        }
        // RFC 8985 §6.2 step 4: never more than SRTT.
        (min_rtt * u64::from(self.quarters) / 4).min(srtt)
    }
}

#[cfg(test)]
mod tests;
