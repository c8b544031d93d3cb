//! Reductions of the window that turn out to be needless. The sender detects them by timestamps
//! (Eifel, RFC 3522), by DSACK (RFC 3708) or by F-RTO. As Linux does, it then restores the window;
//! RFC 4015 is more careful after a timeout.

use super::Connection;
use super::emit::milliseconds;
use super::trace::Signals;
use crate::Segment;
use crate::cc::RepairEnd;
use crate::recovery::{BeforeCut, Frto, LostFlight, Phase, Undo};
use alloc::boxed::Box;
use core::ops::Range;
use windlass_base::Time;

impl Connection {
    /// Records the state before a reduction that may turn out to be needless. `all_again`: the
    /// repair treats the whole flight as lost.
    pub(super) fn prepare_undo(&mut self, all_again: bool) {
        let before = BeforeCut {
            controller: self.congestion.snapshot(),
            recover: self.recovery.recover,
            last_cut: self.recovery.last_cut,
            cwr: self.pending.cwr,
        };
        let flight = all_again.then(|| LostFlight {
            timing: self.tx.timing.take(),
            nxt: self.tx.nxt,
            newest: self.recovery.rack.newest(),
        });
        self.recovery.undo = Some(Box::new(Undo::new(before, flight)));
    }

    /// The same before a timeout; `phase` is the phase of recovery when the timer expired.
    pub(super) fn prepare_undo_of_timeout(&mut self, phase: Phase) {
        // RFC 5682 §2.1 step 1: not while an earlier loss is being repaired.
        let first = phase == Phase::Open;
        let same = phase == Phase::Loss && self.timers.retries > 1;
        if first && (self.options.undo || self.options.frto) {
            self.prepare_undo(true);
            let asks = self.options.frto && self.tx.nxt == self.tx.max;
            self.recovery.frto = if asks { Frto::FirstAck } else { Frto::Off };
        } else if !same {
            self.forget_undo();
        }
    }

    /// Makes the last reduction final.
    pub(super) fn forget_undo(&mut self) {
        self.recovery.undo = None;
        self.end_frto();
    }

    /// Records the retransmission of `range`.
    pub(super) fn note_copy(&mut self, now: Time, range: Range<u64>) {
        if self.recovery.phase != Phase::Open
            && let Some(undo) = &mut self.recovery.undo
        {
            undo.note_copy(range, milliseconds(now));
        }
    }

    /// Checks whether the repair was needless, after an ACK advanced SND.UNA during it.
    pub(super) fn judge_repair(&mut self, now: Time, segment: &Segment) {
        if self.options.undo && self.is_of_original(now, segment) {
            self.undo();
        } else if self.recovery.frto != Frto::Off {
            self.judge_timeout(true);
        }
    }

    /// True if the echoed timestamp shows that the ACK answers an original segment, sent before the
    /// first retransmission (RFC 3522 §3.2 step 5). In fast recovery a partial ACK proves nothing
    /// about the other retransmissions (Linux: `tcp_try_undo_partial`).
    fn is_of_original(&self, now: Time, segment: &Segment) -> bool {
        let Some(undo) = &self.recovery.undo else { return false };
        let complete = self.tx.una >= undo.copies_end();
        let conclusive = complete || self.recovery.phase == Phase::Loss;
        conclusive && self.echoed_ms(now, segment).is_some_and(|sent| undo.is_before_copies(sent))
    }

    /// Records a DSACK: the peer received `range` twice.
    pub(super) fn note_duplicate_copy(&mut self, range: Range<u64>) {
        let Some(undo) = self.recovery.undo.as_mut().filter(|_| self.options.undo) else { return };
        if self.tx.una > undo.until {
            self.recovery.undo = None;
        } else {
            undo.note_duplicate(range);
        }
    }

    /// Undoes the reduction if DSACKs have reported every retransmission as a duplicate. Not
    /// during fast recovery, where further retransmissions may follow.
    pub(super) fn judge_duplicates(&mut self) {
        let settled = self.recovery.phase != Phase::FastRecovery;
        let undo = self.recovery.undo.as_ref().filter(|_| self.options.undo && settled);
        if undo.is_some_and(|undo| undo.all_duplicates()) {
            self.undo();
        }
    }

    /// Undoes the last reduction, which was unnecessary.
    pub(super) fn undo(&mut self) {
        let Some(undo) = self.recovery.undo.take() else { return };
        self.stats.undone_cuts += 1;
        self.signals |= Signals::UNDO;
        self.end_reduction();
        let copies_end = undo.copies_end();
        if let Some(controller) = undo.before.controller {
            self.congestion.go_back_to(controller, self.agreed.mss);
        }
        self.report_repair_end(RepairEnd::Needless);
        self.recovery.recover = undo.before.recover;
        // The reduction is undone: CWR is due only if it was due before.
        self.pending.cwr &= undo.before.cwr;
        if self.agreed.sack {
            self.recovery.last_cut = undo.before.last_cut;
        }
        match self.recovery.phase {
            Phase::Open => {}
            Phase::Loss => self.resume(undo.flight, copies_end),
            // Holes remain that may be losses: the repair continues, with the old window.
            Phase::FastRecovery if self.has_unexplained_holes() => {}
            Phase::FastRecovery => self.end_needless_repair(),
        }
    }

    fn has_unexplained_holes(&self) -> bool {
        match self.has_rack() {
            true => !self.recovery.rack.is_quiet(),
            false => self.agreed.sack,
        }
    }

    /// Undoes a timeout: the flight that it treated as lost is in flight again, and sending
    /// continues at the old SND.NXT (RFC 4015 §3.2 step 5).
    fn resume(&mut self, flight: Option<LostFlight>, copies_end: u64) {
        if let Some(LostFlight { mut timing, nxt, newest }) = flight {
            self.recovery.rack.go_back_to(newest);
            timing.drop_below(copies_end.max(self.tx.una));
            timing.append(self.tx.timing.take());
            self.tx.timing = timing;
            self.tx.nxt = self.tx.nxt.max(nxt);
        }
        self.end_needless_repair();
    }

    fn end_needless_repair(&mut self) {
        self.recovery.leave();
        self.recovery.dup_acks = 0;
        if self.agreed.sack {
            // Without SACK, the duplicate ACKs of the retransmissions would look like a loss.
            self.recovery.recovery_point = self.recovery.recovery_point.min(self.tx.una);
        }
    }
}
