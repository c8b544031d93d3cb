use super::{Ack, Congestion, CongestionCause, Controller, ControllerFactory};
use super::{FastRecovery, Params, Window};
use alloc::boxed::Box;

/// Tahoe: slow start from one segment after every loss. An ECN echo halves the window without slow
/// start (Hamann 1999, §2.3).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tahoe;

impl ControllerFactory for Tahoe {
    fn name(&self) -> &'static str {
        "tahoe"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(TahoeController { window: Window::new(params) })
    }
}

#[derive(Clone, Debug)]
struct TahoeController {
    window: Window,
}

impl Controller for TahoeController {
    fn name(&self) -> &'static str {
        "tahoe"
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.window.grow(ack.credit);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.window.reduce(congestion, 0.5);
        if congestion.cause == CongestionCause::FastRetransmit {
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
        FastRecovery::Tahoe
    }

    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests::{congestion, params};

    fn after(cause: CongestionCause) -> (f64, u64) {
        let mut tahoe = Tahoe.build(&params());
        tahoe.on_congestion(&congestion(cause, 20_000.0));
        (tahoe.cwnd(), tahoe.ssthresh())
    }

    #[test]
    fn every_loss_starts_again_from_one_segment() {
        assert_eq!(after(CongestionCause::FastRetransmit), (1000.0, 10_000));
        assert_eq!(after(CongestionCause::Timeout), (1000.0, 10_000));
    }

    #[test]
    fn an_ecn_echo_halves_without_slow_start() {
        assert_eq!(after(CongestionCause::Ecn), (10_000.0, 10_000));
    }
}
