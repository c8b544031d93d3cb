//! "Updating Control Parameters": pacing rate, send quantum, congestion window.

use super::Bbr3Controller;
use super::ack::AckSample;
use super::state::State;
use windlass_base::Span;

/// The share of the rate that BBR.PacingMarginPercent leaves.
const PACING_MARGIN: f64 = 0.99;
/// The round trip before the first sample.
const NOMINAL_RTT: Span = Span::from_millis(1);
/// The time whose data makes a quantum, and its bounds.
const QUANTUM_S: f64 = 0.001;
const QUANTUM_MAX: f64 = 65_536.0;
const QUANTUM_SEGMENTS_MIN: f64 = 2.0;

impl Bbr3Controller {
    /// InitPacingRate: the initial window in a round trip, times the gain of Startup.
    pub(super) fn init_pacing_rate(&mut self, smoothed_rtt: Option<Span>) {
        self.has_seen_rtt = smoothed_rtt.is_some();
        let rtt = smoothed_rtt.unwrap_or(NOMINAL_RTT).as_secs_f64();
        self.pacing_rate = State::Startup.pacing_gain() * self.initial_cwnd / rtt;
    }

    /// SetPacingRate; at the first RTT sample, the initial rate anew.
    pub(super) fn set_pacing_rate(&mut self, ack: &AckSample) {
        if !self.has_seen_rtt && ack.smoothed_rtt.is_some() {
            self.init_pacing_rate(ack.smoothed_rtt);
        }
        self.set_pacing_rate_with_gain(self.state.pacing_gain());
    }

    /// SetPacingRateWithGain. Without a rate the initial one stays.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.bw * PACING_MARGIN;
        if rate > self.pacing_rate || (self.full_pipe.is_reached && rate > 0.0) {
            self.pacing_rate = rate;
        }
    }

    /// SetSendQuantum: a millisecond of data, within bounds.
    pub(super) fn set_send_quantum(&mut self) {
        let quantum = (self.pacing_rate * QUANTUM_S).min(QUANTUM_MAX);
        self.send_quantum = quantum.max(QUANTUM_SEGMENTS_MIN * self.smss);
    }

    /// SetCwnd: grows by what is acknowledged, up to the model.
    pub(super) fn set_cwnd(&mut self, ack: &AckSample) {
        let max_inflight = self.max_inflight();
        if self.full_pipe.is_reached {
            self.cwnd = (self.cwnd + ack.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || (self.delivered as f64) < self.initial_cwnd {
            self.cwnd += ack.newly_acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            // BoundCwndForProbeRTT.
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// BoundCwndForModel: the bounds of losses, by state.
    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            state if state.is_probe_bw() => self.long_term.inflight,
            _ => f64::INFINITY,
        };
        let cap = cap.min(self.short_term.inflight).max(self.min_pipe_cwnd());
        self.cwnd = self.cwnd.min(cap);
    }
}
