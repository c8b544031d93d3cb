use super::{Ack, Congestion, Controller, ControllerFactory, FastRecovery, Params, Window};
use alloc::boxed::Box;

/// NewReno (RFC 6582): the window of Reno, with a fast recovery that lasts until all data sent
/// before the loss is acknowledged.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct NewReno;

impl ControllerFactory for NewReno {
    fn name(&self) -> &'static str {
        "newreno"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(NewRenoController { window: Window::new(params) })
    }
}

#[derive(Clone, Debug)]
struct NewRenoController {
    window: Window,
}

impl Controller for NewRenoController {
    fn name(&self) -> &'static str {
        "newreno"
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
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.window.restart(restart);
    }

    fn fast_recovery(&self) -> FastRecovery {
        FastRecovery::NewReno
    }

    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Reno;
    use crate::cc::tests::{ack, params};

    #[test]
    fn its_window_is_renos_and_its_recovery_is_not() {
        let (mut newreno, mut reno) = (NewReno.build(&params()), Reno.build(&params()));
        for ms in 0..50 {
            newreno.on_ack(&ack(ms, 1000));
            reno.on_ack(&ack(ms, 1000));
        }
        assert_eq!(newreno.cwnd(), reno.cwnd());
        assert_eq!(newreno.fast_recovery(), FastRecovery::NewReno);
        assert_eq!(reno.fast_recovery(), FastRecovery::Reno);
    }
}
