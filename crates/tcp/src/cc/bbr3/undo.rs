//! "Updating the Model Upon Detecting a Spurious Loss Recovery".

use super::Bbr3Controller;
use super::state::State;

/// The state before a repair of losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// BBR.undo_state.
    pub(super) state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Bbr3Controller {
    /// SaveStateUponLoss: keeps the bounds for an undo.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.short_term.bw,
            inflight_shortterm: self.short_term.inflight,
            inflight_longterm: self.long_term.inflight,
        };
    }

    /// HandleSpuriousLossDetection: nothing was lost: bounds, window and probe are as before.
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.restore_cwnd();
        self.short_term.is_loss_in_round = false;
        self.full_pipe.reset(0.0);
        self.short_term.bw = self.short_term.bw.max(self.undo.bw_shortterm);
        self.short_term.inflight = self.short_term.inflight.max(self.undo.inflight_shortterm);
        self.long_term.inflight = self.long_term.inflight.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.is_reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::ProbeBwUp) if !matches!(self.state, State::ProbeBwUp | State::ProbeRtt) => {
                self.start_probe_bw_refill();
                self.rounds.begins_with_ack = true;
            }
            _ => {}
        }
    }
}
