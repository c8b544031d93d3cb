//! BBR version 3 as draft-ietf-ccwg-bbr-06 specifies it. Names are the draft's; a title in quotes is that of its
//! section. Volumes are in bytes and rates in bytes per second; no bound is infinity.
//!
//! docs/internals/controllers.md lists the readings of the draft's ambiguous places.

mod ack;
mod bounds;
mod control;
mod full_pipe;
mod idle;
mod long_term;
mod loss;
mod min_rtt;
mod observed;
mod probe_bw;
mod probe_rtt;
mod rounds;
mod short_term;
mod startup;
mod state;
#[cfg(test)]
mod tests;
mod undo;

use super::path_model::{AckEpoch, MaxFilter};
use super::{
    Ack, Congestion, CongestionCause, Controller, ControllerFactory, Delivery, Lost, Params,
    RepairEnd, Sent, Start, TRACE_VALUES,
};
use ack::AckSample;
use alloc::boxed::Box;
use full_pipe::FullPipe;
use long_term::LongTerm;
use loss::Recovery;
use min_rtt::MinRtt;
use probe_rtt::ProbeRtt;
use rounds::Rounds;
use short_term::ShortTerm;
use state::State;
use undo::Undo;
use windlass_base::{Ecn, Span};

/// BBR version 3: a model of the path's rate and volume, from rates of delivery, round-trip times and losses. It
/// specifies no reaction to marks, so its packets are Not-ECT.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Bbr3 {
    /// BBR.ProbeRTTInterval: ProbeRTT is due when no lower RTT has been seen for so long. Default: 5 s. The draft
    /// wants all flows on a link to have the same.
    pub probe_rtt_interval: Span,
    /// BBR.MinRTTFilterLen: the time that BBR.min_rtt lasts, at least [`Bbr3::probe_rtt_interval`]. Default: 10 s.
    pub min_rtt_filter_len: Span,
}

impl Default for Bbr3 {
    fn default() -> Bbr3 {
        Bbr3 { probe_rtt_interval: Span::from_secs(5), min_rtt_filter_len: Span::from_secs(10) }
    }
}

impl ControllerFactory for Bbr3 {
    fn name(&self) -> &'static str {
        "bbr3"
    }

    fn paces(&self) -> bool {
        true
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(Bbr3Controller::new(self, params))
    }
}

#[derive(Clone, Debug)]
struct Bbr3Controller {
    /// C.SMSS.
    smss: f64,
    /// C.InitialCwnd.
    initial_cwnd: f64,
    /// C.has_selective_acks.
    has_sack: bool,
    /// C.delivered.
    delivered: u64,
    state: State,
    cwnd: f64,
    /// The latest window that no repair and no ProbeRTT has made smaller.
    prior_cwnd: f64,
    pacing_rate: f64,
    /// The pacing rate no longer is the one before the first round trip.
    has_seen_rtt: bool,
    send_quantum: f64,
    rounds: Rounds,
    /// By cycles of ProbeBW; its largest value is BBR.max_bw.
    max_bw: MaxFilter,
    cycle_count: u32,
    /// The smaller one of BBR.max_bw and BBR.bw_shortterm.
    bw: f64,
    full_pipe: FullPipe,
    drain_start_round: u32,
    long_term: LongTerm,
    short_term: ShortTerm,
    min_rtt: MinRtt,
    probe_rtt: ProbeRtt,
    ack_epoch: AckEpoch,
    extra_acked: MaxFilter,
    idle_restart: bool,
    recovery: Recovery,
    undo: Undo,
}

impl Bbr3Controller {
    /// "Initialization"; the rest follows in `on_start`.
    fn new(settings: &Bbr3, params: &Params) -> Bbr3Controller {
        let (smss, initial_cwnd) = (f64::from(params.mss), params.initial_window as f64);
        let mut bbr = Bbr3Controller {
            smss,
            initial_cwnd,
            has_sack: true,
            delivered: 0,
            state: State::Startup,
            cwnd: initial_cwnd,
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            send_quantum: 0.0,
            rounds: Rounds::default(),
            max_bw: MaxFilter::default(),
            cycle_count: 0,
            bw: 0.0,
            full_pipe: FullPipe::default(),
            drain_start_round: 0,
            long_term: LongTerm::default(),
            short_term: ShortTerm::default(),
            min_rtt: MinRtt::new(settings),
            probe_rtt: ProbeRtt::default(),
            ack_epoch: AckEpoch::default(),
            extra_acked: MaxFilter::default(),
            idle_restart: false,
            recovery: Recovery::default(),
            undo: Undo::default(),
        };
        bbr.init_pacing_rate(None);
        bbr.set_send_quantum();
        bbr
    }

    /// "Per-ACK Steps": UpdateModelAndState.
    fn update_model_and_state(&mut self, ack: &AckSample) {
        self.update_latest_delivery_signals(ack);
        self.update_congestion_signals(ack);
        self.update_ack_aggregation(ack);
        self.check_full_bw_reached(ack);
        self.check_startup_done(ack);
        self.check_drain_done(ack);
        self.update_probe_bw_cycle_phase(ack);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack);
        self.advance_latest_delivery_signals(ack);
        self.bound_bw_for_model();
    }

    /// "Per-ACK Steps": UpdateControlParameters.
    fn update_control_parameters(&mut self, ack: &AckSample) {
        self.set_pacing_rate(ack);
        self.set_send_quantum();
        self.set_cwnd(ack);
    }
}

impl Controller for Bbr3Controller {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn on_ack(&mut self, _: &Ack) {}

    fn on_congestion(&mut self, congestion: &Congestion) {
        match congestion.cause {
            CongestionCause::Ecn => {}
            CongestionCause::FastRetransmit if self.recovery.is_under_way => {}
            CongestionCause::FastRetransmit => self.enter_fast_recovery(),
            CongestionCause::Timeout => self.enter_rto(),
        }
    }

    /// Restarting from idle leaves the window as it is ("Actions when Restarting from Idle").
    fn on_idle_restart(&mut self, _: u64) {}

    fn on_mss_change(&mut self, mss: u32) {
        self.smss = f64::from(mss);
        self.cwnd = self.cwnd.max(self.smss);
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate as u64)
    }

    fn send_quantum(&self) -> Option<u64> {
        Some(self.send_quantum as u64)
    }

    /// "ECN": a sender that sets ECT must take marks for congestion, and the draft has no reaction to them.
    fn ecn_codepoint(&self) -> Ecn {
        Ecn::NotEct
    }

    fn reduces_by_itself(&self) -> bool {
        true
    }

    fn needs_rates(&self) -> bool {
        true
    }

    fn limits_samples(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn on_start(&mut self, start: &Start) {
        self.has_sack = start.has_sack;
        self.ack_epoch.begin(start.now);
        self.min_rtt.begin(start);
        self.init_pacing_rate(start.smoothed_rtt);
        self.set_send_quantum();
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.handle_restart_from_idle(sent);
        self.rounds.note_sent(sent, self.cwnd, self.smss);
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.delivered = lost.delivered_total;
        self.handle_lost_packet(lost);
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        self.delivered = delivery.delivered_total;
        if core::mem::take(&mut self.rounds.begins_with_ack) {
            self.start_round();
        }
        let ack = AckSample::of(delivery);
        self.update_model_and_state(&ack);
        self.update_control_parameters(&ack);
        self.recovery.is_saved = false;
    }

    fn on_repair_end(&mut self, end: RepairEnd) {
        self.leave_recovery();
        if end == RepairEnd::Needless {
            self.handle_spurious_loss_detection();
        }
    }

    fn trace_names(&self) -> &'static [&'static str] {
        &["bandwidth_mbit_per_s", "min_rtt_ms", "pacing_gain", "state"]
    }

    fn trace_values(&self) -> [f64; TRACE_VALUES] {
        let min_rtt = self.min_rtt.least.unwrap_or_default();
        [
            self.bw * 8.0 / 1e6,
            min_rtt.as_secs_f64() * 1e3,
            self.state.pacing_gain(),
            self.state.number(),
        ]
    }

    fn variable(&self, name: &str) -> Option<f64> {
        self.observed(name)
    }
}
