//! "Startup", "Exiting Startup Based on Packet Loss" and "Drain".

use super::Bbr3Controller;
use super::ack::AckSample;
use super::state::State;

/// BBRStartupFullLossCnt: ranges lost in a round trip.
const FULL_LOSS_COUNT: u32 = 6;
/// Round trips after which Drain ends anyway.
const DRAIN_ROUNDS: u32 = 3;

impl Bbr3Controller {
    /// EnterStartup: probes for the rate at its largest gain.
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// CheckStartupDone: leaves Startup for Drain once the pipe is full.
    pub(super) fn check_startup_done(&mut self, ack: &AckSample) {
        self.check_startup_high_loss(ack);
        if self.state == State::Startup && self.full_pipe.is_reached {
            self.enter_drain();
        }
    }

    /// CheckStartupHighLoss, and the end of the count of its round trip.
    fn check_startup_high_loss(&mut self, ack: &AckSample) {
        if self.state == State::Startup && self.has_high_loss(ack) {
            self.undo.state = Some(State::Startup);
            (self.full_pipe.is_now, self.full_pipe.is_reached) = (true, true);
            self.long_term.inflight = self.bdp().max(self.short_term.inflight_latest);
        }
        if self.short_term.is_round_start {
            self.recovery.end_round();
        }
    }

    /// The criteria for leaving Startup. The round trip is the one that began with a loss.
    fn has_high_loss(&self, ack: &AckSample) -> bool {
        if !self.recovery.is_fast {
            return false;
        }
        if !self.has_sack {
            return self.recovery.has_lost;
        }
        let Some(rate) = ack.rate else { return false };
        self.short_term.is_round_start
            && rate.prior_delivered >= self.recovery.began_at
            && self.is_inflight_too_high(rate.lost, rate.tx_in_flight)
            && self.recovery.lost_ranges >= FULL_LOSS_COUNT
    }

    /// EnterDrain: empties the queue that Startup has built.
    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.rounds.count;
    }

    /// CheckDrainDone: leaves Drain once the queue is empty, or after some round trips.
    pub(super) fn check_drain_done(&mut self, ack: &AckSample) {
        let is_long = self.rounds.count > self.drain_start_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (is_long || ack.inflight <= self.inflight(self.bw, 1.0)) {
            self.start_probe_bw_down(ack.now);
        }
    }
}
