//! "Computing BBR.max_inflight", and the volumes that the state machine compares with.

use super::Bbr3Controller;
use super::ack::AckSample;
use super::state::{PROBE_RTT_CWND_GAIN, State};

/// BBR.Headroom.
const HEADROOM: f64 = 0.15;
/// BBR.MinPipeCwnd in segments.
const MIN_PIPE_SEGMENTS: f64 = 4.0;
/// Quanta of BBR.offload_budget: in the sender's queue, in its segmentation, and at the receiver.
const OFFLOAD_QUANTA: f64 = 3.0;
/// BBR.ExtraAckedFilterLen in round trips; before the pipe is full, one.
const EXTRA_ACKED_ROUNDS: u32 = 10;

impl Bbr3Controller {
    /// BBR.MinPipeCwnd.
    pub(super) fn min_pipe_cwnd(&self) -> f64 {
        MIN_PIPE_SEGMENTS * self.smss
    }

    /// BBR.bdp; 0 without an RTT.
    pub(super) fn bdp(&self) -> f64 {
        self.bw * self.min_rtt.least.unwrap_or_default().as_secs_f64()
    }

    /// BDPMultiple: a multiple of rate and least RTT; the initial window before the first RTT.
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt.least {
            Some(min_rtt) => gain * bw * min_rtt.as_secs_f64(),
            None => self.initial_cwnd,
        }
    }

    /// QuantizationBudget: at least what offloads and delayed ACKs need.
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let offload_budget = OFFLOAD_QUANTA * self.send_quantum;
        let room = if self.state == State::ProbeBwUp { 2.0 * self.smss } else { 0.0 };
        inflight_cap.max(offload_budget).max(self.min_pipe_cwnd()) + room
    }

    /// Inflight: the volume that a rate keeps in flight, with its budget.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// BBR.max_inflight.
    pub(super) fn max_inflight(&self) -> f64 {
        let inflight_cap = self.bdp_multiple(self.bw, self.state.cwnd_gain());
        self.quantization_budget(inflight_cap + self.extra_acked.get())
    }

    /// TargetInflight: the BDP, unless the window is smaller.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp().min(self.cwnd)
    }

    /// InflightWithHeadroom: leaves room below the bound for other flows.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.long_term.inflight;
        if longterm == f64::INFINITY {
            return longterm;
        }
        let headroom = self.smss.max(HEADROOM * longterm);
        (longterm - headroom).max(self.min_pipe_cwnd())
    }

    /// ProbeRTTCwnd: the window of ProbeRTT.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bw, PROBE_RTT_CWND_GAIN).max(self.min_pipe_cwnd())
    }

    /// UpdateACKAggregation: how much more than the rate explains was acknowledged lately.
    pub(super) fn update_ack_aggregation(&mut self, ack: &AckSample) {
        if ack.rate.is_none() {
            return;
        }
        let endless = f64::INFINITY;
        let extra = self.ack_epoch.excess(ack.now, ack.newly_acked, self.bw, endless);
        let rounds = if self.full_pipe.is_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked.update(rounds - 1, self.rounds.count, extra.min(self.cwnd));
    }
}
