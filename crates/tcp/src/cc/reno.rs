use super::{
    Ack, Congestion, CongestionCause, Controller, ControllerFactory, FastRecovery, Params, Window,
};
use alloc::boxed::Box;

/// Reno (RFC 2581): it halves the window at a fast retransmit and at an ECN echo (RFC 3168 §6.1.2),
/// and restarts with one segment after a timeout. Fast recovery ends at the first new ACK.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Reno;

impl ControllerFactory for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        RenoController::boxed(FastRecovery::Reno, params)
    }
}

/// The controller of Tahoe, Reno and NewReno. They differ in the repair of losses; Tahoe also starts
/// from one segment after a fast retransmit.
#[derive(Clone, Debug)]
pub(super) struct RenoController {
    window: Window,
    recovery: FastRecovery,
}

impl RenoController {
    pub(super) fn boxed(recovery: FastRecovery, params: &Params) -> Box<dyn Controller> {
        Box::new(RenoController { window: Window::new(params), recovery })
    }
}

/// RFC 8511 §3.1: beta_ecn of Reno.
const BETA_ECN: f64 = 0.8;

impl RenoController {
    /// The part of the window that a reduction leaves.
    fn factor(&self, cause: CongestionCause) -> f64 {
        let is_less = self.window.params().abe && self.recovery != FastRecovery::Tahoe;
        if is_less && cause == CongestionCause::Ecn { BETA_ECN } else { 0.5 }
    }
}

impl Controller for RenoController {
    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        // RFC 5681 §3.1: slow start below ssthresh, congestion avoidance from there on.
        self.window.grow(ack.credit);
    }

    fn limit_growth(&mut self, max_flight: u64) {
        self.window.limit_growth(max_flight, self.window.mss());
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        // RFC 5681 §3.1, equation 4; RFC 3168 §6.1.2 has an echo reduce as one loss does.
        self.window.reduce(congestion, self.factor(congestion.cause));
        let starts_again = self.recovery == FastRecovery::Tahoe;
        // Tahoe has no fast recovery: the repair is a slow start.
        if starts_again && congestion.cause == CongestionCause::FastRetransmit {
            self.window.set_cwnd(self.window.mss());
        }
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.window.restart(restart);
    }

    fn fast_recovery(&self) -> FastRecovery {
        self.recovery
    }

    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionCause::{Ecn, FastRetransmit, Timeout};
    use crate::cc::tests::{congestion, params};

    fn after(cause: crate::cc::CongestionCause) -> (f64, u64) {
        let mut reno = Reno.build(&params());
        reno.on_congestion(&congestion(cause, 21_000.0));
        (reno.cwnd(), reno.ssthresh())
    }

    #[test]
    fn a_fast_retransmit_and_an_ecn_echo_halve_the_window() {
        assert_eq!(after(FastRetransmit), (10_500.0, 10_500));
        assert_eq!(after(Ecn), (10_500.0, 10_500));
    }

    #[test]
    fn with_abe_an_echo_leaves_four_fifths_and_a_loss_a_half() {
        for (cause, left) in [(Ecn, 16_000.0), (FastRetransmit, 10_000.0)] {
            let mut reno = Reno.build(&Params { abe: true, ..params() });
            reno.on_congestion(&congestion(cause, 20_000.0));
            assert_eq!((reno.cwnd(), reno.ssthresh()), (left, left as u64));
        }
    }

    #[test]
    fn a_timeout_starts_again_from_one_segment() {
        assert_eq!(after(Timeout), (1000.0, 10_500));
    }
}
