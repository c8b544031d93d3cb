//! "ProbeBW": its cycle of four states. `long_term` adapts the model that the probes measure.

use super::super::path_model::draws;
use super::Bbr3Controller;
use super::ack::{AckSample, Rate};
use super::long_term::AckPhase;
use super::state::State;
use windlass_base::{Span, Time};

/// The most round trips without a probe, so that Reno and CUBIC have their share.
const ROUNDS_MAX: f64 = 63.0;

impl Bbr3Controller {
    /// UpdateProbeBWCyclePhase: the step from one state of the cycle to the next.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, ack: &AckSample) {
        let Some(rate) = ack.rate.filter(|_| self.full_pipe.is_reached) else { return };
        if self.adapt_long_term_model(ack, &rate) {
            return;
        }
        let state = self.state;
        match state {
            State::ProbeBwDown | State::ProbeBwCruise if self.probes_if_due(ack.now) => {}
            State::ProbeBwDown if self.is_time_to_cruise(ack) => self.state = State::ProbeBwCruise,
            State::ProbeBwRefill if self.rounds.is_start => {
                self.long_term.is_bw_probe_sample = true;
                self.start_probe_bw_up(&rate);
            }
            State::ProbeBwUp if self.is_time_to_go_down(ack, &rate) => {
                self.long_term.prev_probe_too_high = false;
                self.start_probe_bw_down(ack.now);
            }
            _ => {}
        }
    }

    /// StartProbeBW_DOWN: a cycle begins, slower than the path.
    pub(super) fn start_probe_bw_down(&mut self, now: Time) {
        self.short_term.reset_signals();
        self.long_term.acked_per_increase = f64::INFINITY;
        self.pick_probe_wait(now);
        self.long_term.cycle_stamp = now;
        self.long_term.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::ProbeBwDown;
    }

    /// StartProbeBW_REFILL: fills the pipe for a round trip before a probe.
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.short_term.reset_model();
        let long_term = &mut self.long_term;
        (long_term.up_rounds, long_term.up_acked) = (0, 0.0);
        long_term.prev_probe_precautionary = false;
        long_term.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeBwRefill;
    }

    /// StartProbeBW_UP: probes for more.
    fn start_probe_bw_up(&mut self, rate: &Rate) {
        self.long_term.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.reset(rate.delivery_rate);
        self.state = State::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    /// PickProbeWait: the bound in round trips, then that in time.
    fn pick_probe_wait(&mut self, now: Time) {
        let mut random = draws(now, self.delivered);
        self.rounds.since_probe_up = random.below(2) as u32;
        self.long_term.bw_probe_wait = Span::from_secs_f64(2.0 + random.uniform());
    }

    /// IsTimeToProbeBW: begins a probe if one is due; true if it does.
    fn probes_if_due(&mut self, now: Time) -> bool {
        let has_elapsed = now > self.long_term.cycle_stamp + self.long_term.bw_probe_wait;
        let is_due = has_elapsed || self.is_reno_coexistence_probe_time();
        if is_due {
            self.start_probe_bw_refill();
        }
        is_due
    }

    /// IsRenoCoexistenceProbeTime: a Reno flow of this size grows by a segment in each round trip.
    fn is_reno_coexistence_probe_time(&self) -> bool {
        let rounds = (self.target_inflight() / self.smss).min(ROUNDS_MAX);
        f64::from(self.rounds.since_probe_up) >= rounds
    }

    /// IsTimeToCruise: the queue is empty, and there is headroom.
    fn is_time_to_cruise(&self, ack: &AckSample) -> bool {
        ack.inflight <= self.inflight_with_headroom()
            && ack.inflight <= self.inflight(self.max_bw.get(), 1.0)
    }

    /// IsTimeToGoDown: the probe has shown what it can.
    fn is_time_to_go_down(&mut self, ack: &AckSample, rate: &Rate) -> bool {
        // "Precautionary Bandwidth Probing": deceleration.
        if self.long_term.prev_probe_too_high && ack.inflight >= self.long_term.inflight {
            self.long_term.prev_probe_precautionary = true;
            return true;
        }
        if self.rounds.is_cwnd_limited() && self.cwnd >= self.long_term.inflight {
            // The bound, and not the path, limits the rate.
            self.full_pipe.reset(rate.delivery_rate);
            return false;
        }
        self.full_pipe.is_now
    }
}
