use super::{Ack, Congestion, Controller, ControllerFactory, Params, Window};
use alloc::boxed::Box;

/// Additive increase, multiplicative decrease, after the slow start of RFC 5681. With the default values
/// it is NewReno.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Aimd {
    /// Growth of cwnd in congestion avoidance, in segments per round trip. 1.
    pub increase: f64,
    /// The factor of the window on congestion. 0.5.
    pub decrease: f64,
}

impl Default for Aimd {
    fn default() -> Aimd {
        Aimd { increase: 1.0, decrease: 0.5 }
    }
}

impl ControllerFactory for Aimd {
    fn name(&self) -> &'static str {
        "aimd"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(AimdController { factors: *self, window: Window::new(params) })
    }
}

#[derive(Clone, Debug)]
struct AimdController {
    factors: Aimd,
    window: Window,
}

impl Controller for AimdController {
    fn name(&self) -> &'static str {
        "aimd"
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        // RFC 5681 §3.1, with another slope than one segment per round trip.
        let rest = self.window.slow_start(ack.credit);
        self.window.congestion_avoidance(rest, self.factors.increase);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.window.reduce(congestion, self.factors.decrease);
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.window.restart(restart);
    }

    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionCause::Ecn;
    use crate::cc::tests::{congestion, params};
    use windlass_base::Time;

    #[test]
    fn a_round_trip_adds_segments_and_a_mark_multiplies() {
        let steady = Params { initial_window: 50_000, initial_ssthresh: 50_000, ..params() };
        let mut controller = Aimd { increase: 3.0, decrease: 0.75 }.build(&steady);
        for _ in 0..50 {
            controller.on_ack(&Ack::new(Time::ZERO, 1000));
        }
        let grown = controller.cwnd() - 50_000.0;
        assert!((grown / 3000.0 - 1.0).abs() < 0.05, "{grown} bytes");
        controller.on_congestion(&congestion(Ecn, 40_000.0));
        assert_eq!((controller.cwnd(), controller.ssthresh()), (30_000.0, 30_000));
    }
}
