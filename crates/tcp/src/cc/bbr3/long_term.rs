//! BBR.inflight_longterm, the volume that the path takes without too many losses, and what probes tell of it.

use super::Bbr3Controller;
use super::ack::{AckSample, Rate};
use super::state::State;
use windlass_base::{Span, Time};

/// BBR.LossThresh.
pub(super) const LOSS_THRESH: f64 = 0.02;
/// BBR.Beta.
pub(super) const BETA: f64 = 0.7;
/// The largest BBR.bw_probe_up_rounds.
const UP_ROUNDS_MAX: u32 = 30;

/// BBR.ack_phase: what ACKs tell of a probe.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

#[derive(Clone, Debug)]
pub(super) struct LongTerm {
    /// BBR.inflight_longterm.
    pub(super) inflight: f64,
    pub(super) ack_phase: AckPhase,
    pub(super) is_bw_probe_sample: bool,
    pub(super) prev_probe_too_high: bool,
    pub(super) prev_probe_precautionary: bool,
    /// BBR.bw_probe_up_acked.
    pub(super) up_acked: f64,
    /// BBR.probe_up_acked_per_inc.
    pub(super) acked_per_increase: f64,
    /// BBR.bw_probe_up_rounds.
    pub(super) up_rounds: u32,
    pub(super) bw_probe_wait: Span,
    pub(super) cycle_stamp: Time,
}

impl Default for LongTerm {
    fn default() -> LongTerm {
        LongTerm {
            inflight: f64::INFINITY,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            up_acked: 0.0,
            acked_per_increase: f64::INFINITY,
            up_rounds: 0,
            bw_probe_wait: Span::ZERO,
            cycle_stamp: Time::ZERO,
        }
    }
}

impl Bbr3Controller {
    /// AdaptLongTermModel. True if it has changed the state.
    pub(super) fn adapt_long_term_model(&mut self, ack: &AckSample, rate: &Rate) -> bool {
        if self.rounds.is_start && self.ends_ack_phase(rate) {
            return true;
        }
        let is_bounded = self.long_term.inflight < f64::INFINITY;
        if is_bounded && !self.is_inflight_too_high(rate.lost, rate.tx_in_flight) {
            self.long_term.inflight = self.long_term.inflight.max(rate.tx_in_flight);
            if self.state == State::ProbeBwUp {
                self.probe_inflight_longterm_upward(ack);
            }
        }
        false
    }

    /// Goes on to the next phase of ACKs at the beginning of a round trip. True if it has changed the state.
    fn ends_ack_phase(&mut self, rate: &Rate) -> bool {
        match self.long_term.ack_phase {
            AckPhase::ProbeStarting => self.long_term.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.long_term.is_bw_probe_sample = false;
                self.long_term.ack_phase = AckPhase::Init;
                return self.state.is_probe_bw() && self.ends_cycle(rate);
            }
            _ => {}
        }
        false
    }

    fn ends_cycle(&mut self, rate: &Rate) -> bool {
        if !rate.is_app_limited {
            // AdvanceMaxBwFilter.
            self.cycle_count += 1;
        }
        // "Precautionary Bandwidth Probing": acceleration.
        let probe = &self.long_term;
        let is_safe = probe.prev_probe_precautionary && !probe.prev_probe_too_high;
        if is_safe {
            self.start_probe_bw_refill();
        }
        is_safe
    }

    /// RaiseInflightLongtermSlope: twice as many segments in this round trip as in the last.
    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = f64::from(1_u32 << self.long_term.up_rounds);
        self.long_term.up_rounds = (self.long_term.up_rounds + 1).min(UP_ROUNDS_MAX);
        self.long_term.acked_per_increase = (self.cwnd / growth_this_round).max(self.smss);
    }

    /// ProbeInflightLongtermUpward: raises the bound by what is acknowledged while it is full.
    fn probe_inflight_longterm_upward(&mut self, ack: &AckSample) {
        if !self.rounds.is_cwnd_limited() || self.cwnd < self.long_term.inflight {
            return;
        }
        let long_term = &mut self.long_term;
        long_term.up_acked += ack.newly_acked;
        if long_term.up_acked >= long_term.acked_per_increase {
            let delta = libm::floor(long_term.up_acked / long_term.acked_per_increase);
            long_term.up_acked -= delta * long_term.acked_per_increase;
            long_term.inflight += delta * self.smss;
        }
        if self.rounds.is_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// IsInflightTooHigh: more was lost than a probe may lose.
    pub(super) fn is_inflight_too_high(&self, lost: f64, tx_in_flight: f64) -> bool {
        lost > tx_in_flight * LOSS_THRESH || (lost > 0.0 && !self.has_sack)
    }

    /// HandleInflightTooHigh: lowers the bound to the volume in flight, and ends a probe.
    pub(super) fn handle_inflight_too_high(&mut self, now: Time, tx_in_flight: f64, limited: bool) {
        self.long_term.prev_probe_too_high = true;
        // A probe is answered once.
        self.long_term.is_bw_probe_sample = false;
        if !limited {
            self.long_term.inflight = tx_in_flight.max(self.target_inflight() * BETA);
        }
        if self.state == State::ProbeBwUp {
            self.undo.state = Some(State::ProbeBwUp);
            self.start_probe_bw_down(now);
        }
    }
}
