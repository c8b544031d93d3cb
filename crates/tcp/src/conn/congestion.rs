//! Congestion signals and the repair of losses: RFC 5681 §3.2, RFC 6582, RFC 6675, RFC 3168 §6.1.2.

use super::Connection;
use super::trace::Signals;
use crate::cc::{Congestion, CongestionCause, FastRecovery, RepairEnd};
use crate::config::ReductionBase;
use crate::recovery::{Frto, Phase};
use windlass_base::Time;

/// The reaction to three duplicate ACKs.
enum Repair {
    /// Retransmit and cut the window.
    Cut,
    /// Retransmit without a cut: the window was already cut for this flight.
    KeepWindow,
    /// Ignore them: needless retransmissions caused them.
    Nothing,
}

impl Connection {
    /// Bytes that congestion control allows in flight: cwnd, inflated by the segments known to have
    /// left the network, within the sender's own limit.
    pub(super) fn window_in_force(&self) -> u64 {
        let mut window = self.congestion.cwnd_bytes().saturating_add(self.recovery.inflation);
        if self.options.limited_transmit && !self.agreed.sack {
            window += self.recovery.limited_transmit(self.agreed.mss);
        }
        window.min(self.options.window_limit)
    }

    /// The estimate of the bytes in the network.
    pub(super) fn pipe(&self) -> u64 {
        let (tx, scoreboard) = (&self.tx, &self.recovery.scoreboard);
        if scoreboard.sacked().is_empty() && self.recovery.phase == Phase::Open {
            return tx.nxt - tx.una;
        }
        self.pipe_by_scoreboard()
    }

    #[cold]
    fn pipe_by_scoreboard(&self) -> u64 {
        let (tx, scoreboard) = (&self.tx, &self.recovery.scoreboard);
        if !self.agreed.sack {
            return tx.nxt - tx.una;
        }
        if self.recovery.phase == Phase::FastRecovery && !self.has_rack() {
            return scoreboard.pipe(tx.una, tx.max, self.agreed.mss);
        }
        let arrived = scoreboard.sacked().covered(tx.una..tx.nxt);
        (tx.nxt - tx.una - arrived).saturating_sub(self.recovery.rack.lost_bytes())
    }

    /// Reduces the window and records the flight for which it did so.
    pub(super) fn cut(&mut self, now: Time, cause: CongestionCause, hold_ssthresh: bool) {
        let hold_ssthresh = hold_ssthresh && !self.recovery.has_spared_loss();
        if cause != CongestionCause::Ecn && self.recovery.spares_loss(self.tx.una) {
            return;
        }
        let window = match self.config.window.reduction_base {
            // At most cwnd. Segments of limited transmit do not count (RFC 5681 §3.2), nor do those
            // that left the network during a repair: SND.UNA waits for the holes before them.
            ReductionBase::FlightSize => (self.in_flight() as f64).min(self.congestion.cwnd()),
            ReductionBase::Window => self.window_before_cut(),
        };
        let prior = self.congestion.cwnd() as u64;
        // RFC 3168 §6.1.2: no second reduction before this data is acknowledged.
        self.recovery.note_cut(cause, self.tx.max);
        // RFC 3168 §6.1.2: CWR goes out with the next new data.
        self.pending.cwr = self.agreed.ecn;
        self.congestion.on_congestion(&Congestion {
            now,
            cause,
            window,
            hold_ssthresh,
            smoothed_rtt: self.rtt.smoothed(),
        });
        self.end_reduction();
        if self.reduces_gradually(cause) {
            self.begin_reduction(prior);
        }
    }

    /// True if PRR follows a reduction of this cause.
    fn reduces_gradually(&self, cause: CongestionCause) -> bool {
        match (cause, self.recovery.phase) {
            (CongestionCause::FastRetransmit, _) => true,
            // Otherwise half a window would have to arrive before a retransmission goes out.
            (CongestionCause::Ecn, Phase::FastRecovery) => true,
            (CongestionCause::Ecn, Phase::Open) => self.config.ecn.prr,
            (CongestionCause::Ecn, Phase::Loss) | (CongestionCause::Timeout, _) => false,
        }
    }

    fn window_before_cut(&self) -> f64 {
        let window = self.congestion.cwnd() + self.recovery.inflation as f64;
        self.config.window.limit.map_or(window, |limit| window.min(limit as f64))
    }

    /// Reacts to an ECN echo, at most once per window of data (RFC 3168 §6.1.2); true if it reduced
    /// the window.
    pub(super) fn handle_ecn_echo(&mut self, now: Time, ack: u64) -> bool {
        self.stats.ece_received += 1;
        self.signals |= Signals::ECE;
        // An echo proves congestion, so no reduction may be undone (RFC 4015 §3.2 step 6).
        self.forget_undo();
        let after_timeout = self.config.ecn.cut_after_timeout
            && self.recovery.last_cut == Some(CongestionCause::Timeout);
        if ack <= self.recovery.old_path_end {
            self.ignore_echo_of_old_path();
            return false;
        }
        // RFC 3168 §6.1.2: one reduction for each window of data.
        let cut = ack > self.recovery.recover || after_timeout;
        if cut {
            let is_one_segment = self.congestion.cwnd() <= f64::from(self.agreed.mss);
            self.cut_by_ecn(now);
            if is_one_segment && !self.congestion.reduces_by_itself() {
                self.pause_by_echo(now);
            }
        }
        cut
    }

    /// RFC 3168 §6.1.2: a window of one segment cannot be reduced. The timer starts again in its place, and new data
    /// waits for it.
    #[cold]
    fn pause_by_echo(&mut self, now: Time) {
        self.pending.echo_pause = true;
        self.congestion.allow(0);
        self.arm_retransmit_timer(now);
    }

    /// The mark is of the path before. CWR ends the echo, which lasts for another round trip.
    fn ignore_echo_of_old_path(&mut self) {
        if self.recovery.recover < self.recovery.old_path_end {
            self.recovery.recover = self.tx.max;
            self.pending.cwr = self.agreed.ecn;
        }
    }

    pub(super) fn cut_by_ecn(&mut self, now: Time) {
        self.stats.ecn_cuts += 1;
        self.signals |= Signals::ECN_CUT;
        self.cut(now, CongestionCause::Ecn, false);
    }

    /// True for an echo that reports no new mark: after a timeout, until all data sent before it is
    /// acknowledged. The receiver repeats such an echo until it gets CWR, but retransmissions carry
    /// no CWR (RFC 3168 §6.1.5). If the echo stopped growth (§6.1.2), the window would stay at one
    /// segment and each retransmission would take a round trip.
    pub(super) fn is_stale_echo(&self, ack: u64) -> bool {
        self.recovery.phase == Phase::Loss
            && ack <= self.recovery.recovery_point
            && !self.config.ecn.on_retransmit
    }

    /// True if an echo reduced the window and the data in flight at that time is not acknowledged
    /// yet.
    pub(super) fn is_held_by_ecn(&self, ack: u64) -> bool {
        self.options.hold_after_ecn_cut
            && ack <= self.recovery.recover
            && self.recovery.last_cut == Some(CongestionCause::Ecn)
    }

    pub(super) fn handle_duplicate_ack(&mut self, now: Time) {
        self.recovery.dup_acks += 1;
        if self.recovery.frto != Frto::Off {
            self.judge_timeout(false);
        }
        if self.recovery.phase == Phase::FastRecovery {
            if !self.agreed.sack {
                // Each duplicate ACK means that a segment has left the network (RFC 5681 §3.2 step
                // 4).
                self.recovery.inflation += u64::from(self.agreed.mss);
            }
        } else if !self.has_rack() && self.loss_is_evident() {
            self.repair(now);
        }
    }

    /// True after three duplicate ACKs (RFC 5681 §3.2), or if the SACK scoreboard shows the first
    /// segment to be lost (RFC 6675 §5).
    fn loss_is_evident(&self) -> bool {
        if !self.agreed.sack {
            return self.recovery.at_dup_thresh();
        }
        self.recovery.dup_acks >= crate::recovery::DUP_THRESH
            || self.recovery.scoreboard.is_lost(self.tx.una, self.agreed.mss)
    }

    pub(super) fn repair(&mut self, now: Time) {
        match self.repair_due() {
            Repair::Nothing => return,
            Repair::KeepWindow => {
                self.forget_undo();
                self.recovery.last_cut = Some(CongestionCause::FastRetransmit);
            }
            Repair::Cut => {
                self.stats.fast_retransmits += 1;
                self.signals |= Signals::FAST_RETRANSMIT;
                if self.options.undo {
                    self.prepare_undo(self.repairs_as_tahoe());
                }
                self.cut(now, CongestionCause::FastRetransmit, false);
            }
        }
        // Karn's algorithm (RFC 6298 §3): data sent twice gives no sample.
        if !self.has_rack() {
            self.tx.timing.forget();
        }
        self.arm_retransmit_timer(now);
        if self.repairs_as_tahoe() {
            self.recovery.begin(Phase::Loss, self.tx.max);
            self.go_back_to_una();
        } else {
            self.recovery.enter(self.tx.una, self.tx.max, self.agreed.mss, self.agreed.sack);
        }
    }

    /// Reduces the window once more: the loss of a retransmission is a second sign of congestion
    /// (RFC 5681 §4.3). The lost segment goes out again whatever the window, as the first time.
    pub(super) fn retransmission_lost(&mut self, now: Time) {
        self.stats.fast_retransmits += 1;
        self.signals |= Signals::FAST_RETRANSMIT;
        self.forget_undo();
        self.cut(now, CongestionCause::FastRetransmit, false);
        match self.recovery.phase {
            Phase::FastRecovery => self.recovery.retransmit_una = true,
            // After a timeout slow start repairs, from a window that is small already.
            Phase::Open | Phase::Loss => self.end_reduction(),
        }
    }

    /// True if the controller repairs losses as Tahoe does: by slow start from SND.UNA.
    fn repairs_as_tahoe(&self) -> bool {
        !self.agreed.sack && self.congestion.fast_recovery() == FastRecovery::Tahoe
    }

    /// The reaction that duplicate ACKs call for. Within the window of an earlier cut or repair,
    /// segments sent twice may have caused them (RFC 6582 §3.2 step 2 and §4.1).
    fn repair_due(&self) -> Repair {
        let handled = self.recovery.recover.max(self.recovery.recovery_point);
        let covers_more = self.tx.una > handled || (self.agreed.sack && self.tx.una == handled);
        // After a timeout, no repair by the scoreboard before RecoveryPoint (RFC 6675 §5.1). The
        // sender retransmits all missing data anyway, and the scoreboard would count it as in
        // flight.
        let sends_all_again = self.agreed.sack && self.recovery.phase == Phase::Loss;
        match self.recovery.last_cut {
            _ if sends_all_again => Repair::Nothing,
            _ if covers_more => Repair::Cut,
            None => Repair::Cut,
            Some(CongestionCause::Ecn) => Repair::KeepWindow,
            Some(CongestionCause::FastRetransmit)
                if self.config.recovery.repeated_fast_retransmit =>
            {
                Repair::Cut
            }
            // RACK distinguishes a retransmission from the original.
            _ if self.has_rack() => Repair::KeepWindow,
            _ => Repair::Nothing,
        }
    }

    /// Continues or ends the repair after an ACK of `acked` new bytes. True if the ACK may grow the
    /// window.
    pub(super) fn continue_repair(&mut self, acked: u64) -> bool {
        let complete = self.tx.una >= self.recovery.recovery_point;
        if complete && self.recovery.phase != Phase::Open {
            if let Some(undo) = &mut self.recovery.undo {
                undo.until = self.tx.max;
            }
            self.recovery.rack.window.note_recovery();
            self.report_repair_end(RepairEnd::Complete);
        }
        if self.recovery.phase != Phase::FastRecovery {
            if complete {
                self.recovery.leave();
            }
            // As Linux leaves its state CWR: by an ACK of data that was sent after the echo.
            if self.tx.una > self.recovery.recover {
                self.end_reduction();
            }
            return true;
        }
        // Reno's fast recovery ends at the first ACK of new data (RFC 5681 §3.2 step 6).
        let reno = !self.agreed.sack && self.congestion.fast_recovery() == FastRecovery::Reno;
        if complete || reno {
            self.end_reduction();
            self.recovery.leave();
        } else if !self.agreed.sack {
            self.recovery.deflate(acked, self.agreed.mss);
            self.recovery.retransmit_una = true;
        }
        reno
    }
}
