//! Loss detection by time: RACK (RFC 8985 §6). `recovery::Rack` has the rules; this module calls
//! them and acts on their results.

use super::Connection;
use super::transmit::Data;
use crate::Segment;
use crate::deadline::Deadline;
use crate::recovery::{Judge, Phase};
use core::ops::Range;
use windlass_base::{Span, Time};

impl Connection {
    /// True if RACK detects losses on this connection: it is configured, and SACK is agreed.
    pub(super) fn has_rack(&self) -> bool {
        self.options.rack && self.agreed.sack
    }

    /// True while segments are missing or retransmitted: the next ACK may reveal a loss.
    pub(super) fn rack_is_busy(&self) -> bool {
        let recovery = &self.recovery;
        self.has_rack()
            && (recovery.phase != Phase::Open
                || !recovery.scoreboard.sacked().is_empty()
                || !recovery.rack.is_quiet())
    }

    /// Records the delivery of the parts of `range` that were not SACKed before. `highest` is the
    /// highest position acknowledged or SACKed before this ACK (RACK.fack). The current ACK does
    /// not count: a delayed ACK may cover the data before a hole and behind it at once.
    pub(super) fn note_delivered(&mut self, now: Time, range: Range<u64>, highest: u64) {
        let board = &self.recovery.scoreboard;
        let (sacked, high_rxt) = (board.sacked(), board.high_rxt());
        for gap in sacked.gaps(range) {
            let (start, end) = (gap.start, gap.end);
            let original = self.tx.timing.last_sent_within(gap.clone()).is_some();
            let given_up = self.recovery.rack.delivered(now, gap, &self.tx.timing);
            // RFC 8985 §6.2 step 3: a delivery below RACK.fack of data not retransmitted.
            if end < highest && (original || (given_up && start >= high_rxt)) {
                self.recovery.rack.window.note_reordering(highest - start);
            }
        }
    }

    /// Detects losses after all deliveries that an ACK reports have been recorded.
    pub(super) fn find_losses(&mut self, now: Time, segment: &Segment) {
        if let Some(sent) = self.recovery.rack.take_sample() {
            self.rtt.sample(sent, now);
            // The segment delivered was sent before the retransmission at SND.UNA, and says nothing
            // about it. The timer is extended for the retransmission, as in Linux.
            if self.recovery.rack.copy_sent_at(self.tx.una).is_some_and(|again| sent < again) {
                self.extend_retransmit_timer(now);
            }
        }
        let echoed_ms = self.echoed_ms(now, segment);
        let judge = Judge { now, min_rtt: self.rtt.min_rtt(), echoed_ms };
        let sacked = self.recovery.scoreboard.sacked();
        self.recovery.rack.settle(self.tx.una, sacked, &judge);
        self.detect_losses(now);
    }

    /// Marks segments lost, arms the reordering timer and starts a repair if one is due (RFC 8985
    /// §6.2 step 5). Called after an ACK and when the reordering timer expires.
    pub(super) fn detect_losses(&mut self, now: Time) {
        self.timers.loss_detection = Deadline::NEVER;
        let window = self.reordering_window();
        let recovery = &mut self.recovery;
        let sacked = recovery.scoreboard.sacked();
        let next = recovery.rack.detect(now, window, &mut self.tx.timing, sacked);
        if let Some(next) = next {
            self.timers.loss_detection = Deadline::at(next);
        }
        self.report_losses(now);
        if self.recovery.phase == Phase::Open && self.recovery.rack.lost_bytes() > 0 {
            self.repair(now);
        }
        if self.recovery.rack.is_lost_again() {
            self.retransmission_lost(now);
        }
    }

    pub(super) fn loss_detection_timeout(&mut self, now: Time) {
        self.timers.loss_detection = Deadline::NEVER;
        if self.may_probe_tail() {
            self.pending.tail_probe = true;
            self.arm_retransmit_timer(now);
        } else {
            let lost = self.recovery.rack.lost_bytes();
            self.detect_losses(now);
            if self.recovery.rack.lost_bytes() > lost {
                // No ACK allows a retransmission; PRR counts one segment as having left the
                // network.
                self.reduce(u64::from(self.agreed.mss), false);
            }
        }
    }

    fn reordering_window(&self) -> Span {
        let evident = self.recovery.phase != Phase::Open
            || self.recovery.scoreboard.is_lost(self.tx.una, self.agreed.mss);
        let min_rtt = self.rtt.min_rtt().unwrap_or_default();
        self.recovery.rack.window.span(evident, min_rtt, self.rtt.smoothed())
    }

    /// Records the retransmission of `range`.
    pub(super) fn note_sent_again(&mut self, now: Time, range: Range<u64>) {
        if self.has_rack() {
            self.recovery.rack.sent_again(range, now);
        }
    }

    /// The next data to send: lost segments first, then new data, within the window.
    pub(super) fn next_by_rack(&mut self, max: u32) -> Option<Data> {
        let Some(lost) = self.recovery.rack.first_lost() else {
            self.skip_sacked();
            return self.next_data_at_nxt(max);
        };
        let segment = (lost.end - lost.start).min(u64::from(self.agreed.mss));
        if self.window_in_force() < self.pipe() + segment {
            return None;
        }
        self.retransmit_lost(lost.start, lost.end)
    }

    /// The first lost segment, even if the window has no room.
    pub(super) fn retransmit_first_lost(&mut self) -> Option<Data> {
        let lost = self.recovery.rack.first_lost()?;
        self.retransmit_lost(lost.start, lost.end)
    }
}
