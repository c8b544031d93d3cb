//! "When not Probing for Bandwidth": the bounds that losses set until the next probe; and BBR.max_bw, from the same
//! samples.

use super::Bbr3Controller;
use super::ack::{AckSample, Rate};
use super::long_term::BETA;

/// BBR.MaxBwFilterLen: this cycle and the one before.
const MAX_BW_CYCLES: u32 = 2;

#[derive(Clone, Debug)]
pub(super) struct ShortTerm {
    /// BBR.bw_shortterm.
    pub(super) bw: f64,
    /// BBR.inflight_shortterm.
    pub(super) inflight: f64,
    pub(super) bw_latest: f64,
    pub(super) inflight_latest: f64,
    pub(super) is_loss_in_round: bool,
    pub(super) loss_round_delivered: u64,
    /// BBR.loss_round_start.
    pub(super) is_round_start: bool,
}

impl Default for ShortTerm {
    fn default() -> ShortTerm {
        ShortTerm {
            bw: f64::INFINITY,
            inflight: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            is_loss_in_round: false,
            loss_round_delivered: 0,
            is_round_start: false,
        }
    }
}

impl ShortTerm {
    /// ResetCongestionSignals: forgets losses and rates of the last round trip.
    pub(super) fn reset_signals(&mut self) {
        self.is_loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    /// ResetShortTermModel: nothing bounds the rate and the volume for the time being.
    pub(super) fn reset_model(&mut self) {
        (self.bw, self.inflight) = (f64::INFINITY, f64::INFINITY);
    }

    /// LossLowerBounds: down to what was delivered, but not below Beta of before.
    fn lower(&mut self) {
        self.bw = self.bw_latest.max(BETA * self.bw);
        self.inflight = self.inflight_latest.max(BETA * self.inflight);
    }
}

impl Bbr3Controller {
    /// UpdateLatestDeliverySignals: the most that was delivered in this round trip.
    pub(super) fn update_latest_delivery_signals(&mut self, ack: &AckSample) {
        let signals = &mut self.short_term;
        signals.is_round_start = false;
        let Some(rate) = ack.rate else { return };
        signals.bw_latest = signals.bw_latest.max(rate.delivery_rate);
        signals.inflight_latest = signals.inflight_latest.max(rate.delivered);
        if rate.prior_delivered >= signals.loss_round_delivered {
            signals.loss_round_delivered = self.delivered;
            signals.is_round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals: the next round trip begins with this sample.
    pub(super) fn advance_latest_delivery_signals(&mut self, ack: &AckSample) {
        if let Some(rate) = ack.rate.filter(|_| self.short_term.is_round_start) {
            self.short_term.bw_latest = rate.delivery_rate;
            self.short_term.inflight_latest = rate.delivered;
        }
    }

    /// UpdateCongestionSignals: the largest rate, and the bounds once in a round trip with losses.
    pub(super) fn update_congestion_signals(&mut self, ack: &AckSample) {
        self.rounds.is_start = false;
        if let Some(rate) = &ack.rate {
            self.update_max_bw(rate);
        }
        if self.short_term.is_round_start {
            self.adapt_lower_bounds_from_congestion();
            self.short_term.is_loss_in_round = false;
        }
    }

    /// UpdateMaxBw: takes a sample into the filter of the rate.
    fn update_max_bw(&mut self, rate: &Rate) {
        self.update_round(rate);
        let bw = rate.delivery_rate;
        // A sample that the application limits is a lower bound.
        if bw > 0.0 && (bw >= self.max_bw.get() || !rate.is_app_limited) {
            self.max_bw.update(MAX_BW_CYCLES - 1, self.cycle_count, bw);
        }
    }

    /// AdaptLowerBoundsFromCongestion, with InitLowerBounds.
    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.state.is_probing() || !self.short_term.is_loss_in_round {
            return;
        }
        if self.short_term.bw == f64::INFINITY {
            self.short_term.bw = self.max_bw.get();
        }
        if self.short_term.inflight == f64::INFINITY {
            self.short_term.inflight = self.cwnd;
        }
        self.short_term.lower();
    }

    /// BoundBWForModel: the rate is the smaller of both models.
    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw.get().min(self.short_term.bw);
    }
}
