//! "Updating the Model Upon Packet Loss" and "Modulating cwnd in Loss Recovery".

use super::super::Lost;
use super::Bbr3Controller;
use super::long_term::LOSS_THRESH;
use super::state::State;

/// The repair of losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    /// InLossRecovery: losses are being repaired.
    pub(super) is_under_way: bool,
    /// It is a fast recovery.
    pub(super) is_fast: bool,
    /// C.delivered when it began.
    pub(super) began_at: u64,
    /// Data was lost in the fast recovery.
    pub(super) has_lost: bool,
    /// Separate ranges lost in this round trip, and the end of the last one.
    pub(super) lost_ranges: u32,
    lost_end: Option<u64>,
    /// The losses that begin a repair have saved the state; the repair begins before the next ACK.
    pub(super) is_saved: bool,
}

impl Recovery {
    fn count(&mut self, lost: &Lost) {
        if self.lost_end != Some(lost.position) {
            self.lost_ranges += 1;
        }
        self.lost_end = Some(lost.position + lost.bytes);
        self.has_lost |= self.is_fast;
    }

    /// The count of ranges begins anew.
    pub(super) fn end_round(&mut self) {
        (self.lost_ranges, self.lost_end) = (0, None);
    }
}

impl Bbr3Controller {
    /// HandleLostPacket: a loss counts against the probe in which its data was sent.
    pub(super) fn handle_lost_packet(&mut self, lost: &Lost) {
        self.note_loss(lost);
        self.recovery.count(lost);
        if !self.long_term.is_bw_probe_sample {
            return;
        }
        if self.is_inflight_too_high(lost.lost_since as f64, lost.in_flight as f64) {
            self.handle_inflight_too_high(lost.now, inflight_at_loss(lost), lost.is_app_limited);
        }
    }

    /// NoteLoss: the first loss of a round trip.
    fn note_loss(&mut self, lost: &Lost) {
        if !self.short_term.is_loss_in_round {
            self.short_term.loss_round_delivered = lost.delivered_total;
        }
        self.short_term.is_loss_in_round = true;
        if !self.recovery.is_under_way && !self.recovery.is_saved {
            self.save_state_upon_loss();
            self.recovery.is_saved = true;
        }
    }

    /// OnEnterFastRecovery: the window stays, and is saved.
    pub(super) fn enter_fast_recovery(&mut self) {
        self.begin_recovery(true);
    }

    /// OnEnterRTO: one segment is left of the window.
    pub(super) fn enter_rto(&mut self) {
        self.begin_recovery(false);
        // All that was in flight is lost.
        self.cwnd = self.smss;
    }

    fn begin_recovery(&mut self, is_fast: bool) {
        // The losses that begin the repair are known before it, and may have changed the state already.
        if !core::mem::take(&mut self.recovery.is_saved) {
            self.save_state_upon_loss();
        }
        self.recovery = Recovery {
            is_under_way: true,
            is_fast,
            began_at: self.delivered,
            has_lost: false,
            ..self.recovery
        };
    }

    /// The repair is over, whatever it showed.
    pub(super) fn leave_recovery(&mut self) {
        if core::mem::take(&mut self.recovery.is_under_way) {
            self.recovery.is_fast = false;
            self.restore_cwnd();
        }
    }

    /// SaveCwnd: keeps the window for after a repair or ProbeRTT.
    pub(super) fn save_cwnd(&mut self) {
        let is_reduced = self.recovery.is_under_way || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_reduced { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// RestoreCwnd: the window of before, if it was larger.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

/// InflightAtLoss: the volume in flight at which losses exceeded BBR.LossThresh, within the data of one moment.
fn inflight_at_loss(lost: &Lost) -> f64 {
    let size = lost.bytes as f64;
    let inflight_prev = lost.in_flight as f64 - size;
    let lost_prev = lost.lost_since as f64 - size;
    let lost_prefix = (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH);
    // Losses before may have exceeded it: then no part of this data was too much by itself.
    inflight_prev + lost_prefix.max(0.0)
}
