//! "ProbeRTT". The engine marks the data that is sent meanwhile as limited by the application (MarkConnectionAppLimited):
//! `limits_samples` asks it to.

use super::Bbr3Controller;
use super::ack::AckSample;
use super::long_term::AckPhase;
use super::state::State;
use windlass_base::{Span, Time};

/// BBR.ProbeRTTDuration.
const PROBE_RTT_DURATION: Span = Span::from_millis(200);

#[derive(Clone, Debug, Default)]
pub(super) struct ProbeRtt {
    /// BBR.probe_rtt_done_stamp; `None` before the data in flight is little enough.
    done_stamp: Option<Time>,
    round_done: bool,
}

impl Bbr3Controller {
    /// CheckProbeRTT: enters ProbeRTT if it is due, and goes on with it.
    pub(super) fn check_probe_rtt(&mut self, ack: &AckSample) {
        let is_due = self.min_rtt.probe_rtt_expired && !self.idle_restart;
        if self.state != State::ProbeRtt && is_due {
            self.enter_probe_rtt();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if ack.rate.is_some_and(|rate| rate.delivered > 0.0) {
            self.idle_restart = false;
        }
    }

    fn enter_probe_rtt(&mut self) {
        // EnterProbeRTT, then SaveCwnd: a larger window from before stays saved.
        self.state = State::ProbeRtt;
        self.save_cwnd();
        self.probe_rtt.done_stamp = None;
        self.long_term.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
    }

    /// HandleProbeRTT: waits for a small flight, then for its time and a round trip.
    fn handle_probe_rtt(&mut self, ack: &AckSample) {
        match self.probe_rtt.done_stamp {
            None if ack.inflight <= self.probe_rtt_cwnd() => {
                self.probe_rtt.done_stamp = Some(ack.now + PROBE_RTT_DURATION);
                self.probe_rtt.round_done = false;
                self.start_round();
            }
            None => {}
            Some(_) => {
                self.probe_rtt.round_done |= self.rounds.is_start;
                if self.probe_rtt.round_done {
                    self.check_probe_rtt_done(ack.now);
                }
            }
        }
    }

    /// CheckProbeRTTDone: leaves ProbeRTT when its time is over.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt.done_stamp.is_some_and(|done| now > done) {
            self.min_rtt.probe_rtt_min_stamp = now;
            self.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    /// ExitProbeRTT: back to cruising, or to Startup.
    fn exit_probe_rtt(&mut self, now: Time) {
        self.short_term.reset_model();
        if self.full_pipe.is_reached {
            self.start_probe_bw_down(now);
            self.state = State::ProbeBwCruise;
        } else {
            self.enter_startup();
        }
    }
}
