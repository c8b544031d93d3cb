use super::{Ack, Congestion, Controller, ControllerFactory, FastRecovery, Params, Window};
use alloc::boxed::Box;

/// Reno whose rate, and not its window, grows by a constant: by `gain` * SRTT² segments per round trip.
/// Flows of different round-trip times thus grow alike, without the search for the right growth that
/// [`NewEcn`](super::NewEcn) makes. The rule is Floyd's (1991). It is for
/// experiments in scenarios, and not in [`NAMES`](super::NAMES).
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConstantIncrease {
    /// How fast the rate grows, in segments per second and second. 16, as much as
    /// [`NewEcn::beta`](super::NewEcn::beta).
    pub gain: f64,
}

impl Default for ConstantIncrease {
    fn default() -> ConstantIncrease {
        ConstantIncrease { gain: 16.0 }
    }
}

impl ControllerFactory for ConstantIncrease {
    fn name(&self) -> &'static str {
        "constant-increase"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        let window = Window::new(params);
        Box::new(ConstantIncreaseController { gain: self.gain, slope: 1.0, window })
    }
}

#[derive(Clone, Debug)]
struct ConstantIncreaseController {
    gain: f64,
    /// Segments by which the window grew for a window of data, at the last ACK.
    slope: f64,
    window: Window,
}

impl Controller for ConstantIncreaseController {
    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        let rest = self.window.slow_start(ack.credit);
        if rest > 0.0 {
            // Floyd 1991: gain RTT² segments per round trip add `gain` to the rate in a second.
            let srtt_s = ack.smoothed_rtt.as_secs_f64();
            self.slope = self.gain * srtt_s * srtt_s;
            self.window.congestion_avoidance(rest, self.slope);
        }
    }

    fn limit_growth(&mut self, max_flight: u64) {
        self.window.limit_growth(max_flight, self.slope * self.window.mss());
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
        FastRecovery::Reno
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
    use windlass_base::{Span, Time};

    #[test]
    fn the_rate_grows_by_the_same_whatever_the_round_trip() {
        for rtt_ms in [20, 100, 400] {
            let steady = Params { initial_window: 50_000, initial_ssthresh: 50_000, ..params() };
            let mut controller = ConstantIncrease::default().build(&steady);
            let (rtt, mut now) = (Span::from_millis(rtt_ms), Time::ZERO);
            // Ten seconds, a window per round trip.
            while now < Time::ZERO + Span::from_secs(10) {
                let acks = (controller.cwnd() / 1000.0).round() as u64;
                for _ in 0..acks {
                    controller.on_ack(&Ack::new(now, 1000).with_rtt(rtt));
                }
                now += rtt;
            }
            let grown = (controller.cwnd() - 50_000.0) / 1000.0 / rtt.as_secs_f64();
            assert!((grown / 160.0 - 1.0).abs() < 0.05, "{rtt_ms} ms: {grown} segments/s");
        }
    }

    #[test]
    fn a_mark_halves_the_window() {
        let mut controller = ConstantIncrease::default().build(&params());
        controller.on_congestion(&congestion(Ecn, 21_000.0));
        assert_eq!((controller.cwnd(), controller.ssthresh()), (10_500.0, 10_500));
    }
}
