//! "Restarting From Idle".

use super::super::Sent;
use super::Bbr3Controller;
use super::state::State;

impl Bbr3Controller {
    /// HandleRestartFromIdle: data is sent after the application had none.
    pub(super) fn handle_restart_from_idle(&mut self, sent: &Sent) {
        if sent.in_flight > 0 || !sent.is_app_limited {
            return;
        }
        self.idle_restart = true;
        self.ack_epoch.begin(sent.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(sent.now);
        }
    }
}
