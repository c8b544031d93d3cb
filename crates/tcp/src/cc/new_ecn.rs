use super::{Ack, Congestion, CongestionCause, Controller, ControllerFactory};
use super::{FastRecovery, Params, TRACE_VALUES, Window};
use alloc::boxed::Box;
use windlass_base::Time;

/// New-ECN (Hamann 1999, section 3.1): Reno with a variable slope of the window's growth. Every
/// mark reduces the slope, and it rises with the square of the round-trip time. Flows with
/// different round-trip times thus converge to fair shares of a bottleneck.
///
/// Without marks it behaves as Reno.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewEcn {
    /// The factor of cwnd and ssthresh at a mark. 0.9.
    pub alpha_wnd: f64,
    /// The factor of the slope at every mark but the first. 0.9 (0.7 in the simple model of Hamann
    /// 1999, section 3.2).
    pub alpha_slp: f64,
    /// After the first mark, the slope grows by `beta` * SRTT² in each round trip. The unit is
    /// segments per round trip and square second. 16.
    pub beta: f64,
}

impl NewEcn {
    /// The name of the window slope among a connection's trace values. The slope is in segments per
    /// round trip.
    pub const SLOPE: &'static str = "slope";
}

impl Default for NewEcn {
    fn default() -> NewEcn {
        NewEcn { alpha_wnd: 0.9, alpha_slp: 0.9, beta: 16.0 }
    }
}

impl ControllerFactory for NewEcn {
    fn name(&self) -> &'static str {
        "new-ecn"
    }

    fn needs_marks(&self) -> bool {
        true
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(NewEcnController {
            factors: *self,
            window: Window::new(params),
            slope: 1.0,
            marked: false,
            last_update: Time::ZERO,
        })
    }
}

#[derive(Clone, Debug)]
struct NewEcnController {
    factors: NewEcn,
    window: Window,
    /// The growth of the window in segments per round trip.
    slope: f64,
    /// The peer has echoed a mark on this connection.
    marked: bool,
    /// When the slope last rose or the window was last reduced.
    last_update: Time,
}

impl NewEcnController {
    /// Raises the slope once per round trip, and not within a round trip after a reduction.
    fn raise_slope(&mut self, ack: &Ack) {
        if self.marked && ack.now >= self.last_update + ack.smoothed_rtt {
            // Hamann 1999, section 3.1: slope = slope + beta * SRTT², once per SRTT.
            let srtt_s = ack.smoothed_rtt.as_secs_f64();
            self.slope += self.factors.beta * srtt_s * srtt_s;
            self.last_update = ack.now;
        }
    }

    fn on_mark(&mut self, congestion: &Congestion) {
        let NewEcn { alpha_wnd, alpha_slp, .. } = self.factors;
        let params = *self.window.params();
        // Hamann 1999, section 3.1: cwnd = alpha_wnd * cwnd, and ssthresh alike.
        self.window.set_cwnd(params.cut(congestion.window, alpha_wnd));
        if !congestion.hold_ssthresh {
            // In slow start cwnd may stay below the new ssthresh; slow start then continues.
            // Without an initial ssthresh, a mark ends slow start (the original starts with the
            // window limit).
            let from = match self.window.ssthresh() {
                u64::MAX => congestion.window,
                ssthresh => ssthresh as f64,
            };
            self.window.set_ssthresh(params.cut(from, alpha_wnd));
        }
        // Hamann 1999, section 3.1: slope = alpha_slp * slope, at every mark but the first.
        if self.marked {
            self.slope *= alpha_slp;
        }
        self.marked = true;
    }

    fn on_loss(&mut self, congestion: &Congestion) {
        self.window.reduce(congestion, 0.5);
        if self.slope > 1.0 {
            self.slope *= 0.5;
        }
    }
}

impl Controller for NewEcnController {
    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        // Slow start is Reno's. Then cwnd grows by slope * MSS / cwnd for each byte acknowledged: the
        // slope replaces the one segment per round trip of RFC 5681 §3.1.
        let rest = self.window.slow_start(ack.credit);
        if rest > 0.0 {
            self.raise_slope(ack);
            self.window.congestion_avoidance(rest, self.slope);
        }
    }

    fn limit_growth(&mut self, max_flight: u64) {
        self.window.limit_growth(max_flight, self.slope * self.window.mss());
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        match congestion.cause {
            CongestionCause::Ecn => self.on_mark(congestion),
            CongestionCause::FastRetransmit | CongestionCause::Timeout => self.on_loss(congestion),
        }
        self.last_update = congestion.now;
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.window.restart(restart);
    }

    /// The original is based on Reno.
    fn fast_recovery(&self) -> FastRecovery {
        FastRecovery::Reno
    }

    fn trace_names(&self) -> &'static [&'static str] {
        &[NewEcn::SLOPE]
    }

    fn trace_values(&self) -> [f64; TRACE_VALUES] {
        [self.slope, 0.0, 0.0, 0.0]
    }

    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Reno;
    use crate::cc::tests::{ack, congestion, params};
    use windlass_base::Span;

    fn at(ms: u64, cause: CongestionCause, window: f64) -> Congestion {
        Congestion { now: Time::ZERO + Span::from_millis(ms), ..congestion(cause, window) }
    }

    /// In congestion avoidance at 20 segments.
    fn steady() -> Box<dyn Controller> {
        let steady = Params { initial_window: 20_000, initial_ssthresh: 20_000, ..params() };
        NewEcn::default().build(&steady)
    }

    fn slope(controller: &dyn Controller) -> f64 {
        controller.trace_values()[0]
    }

    #[test]
    fn without_marks_it_is_reno() {
        let start = Params { initial_ssthresh: 8000, ..params() };
        let (mut new_ecn, mut reno) = (NewEcn::default().build(&start), Reno.build(&start));
        for step in 0..60 {
            for controller in [&mut new_ecn, &mut reno] {
                match step % 20 {
                    18 => controller.on_congestion(&at(
                        step * 50,
                        CongestionCause::FastRetransmit,
                        controller.cwnd(),
                    )),
                    _ => controller.on_ack(&ack(step * 50, 1000)),
                }
            }
            assert_eq!((new_ecn.cwnd(), new_ecn.ssthresh()), (reno.cwnd(), reno.ssthresh()));
            assert_eq!(slope(&*new_ecn), 1.0);
        }
    }

    #[test]
    fn the_first_mark_cuts_the_window_and_not_the_slope() {
        let mut new_ecn = steady();
        new_ecn.on_congestion(&at(0, CongestionCause::Ecn, 20_000.0));
        assert_eq!((new_ecn.cwnd(), new_ecn.ssthresh()), (18_000.0, 18_000));
        assert_eq!(slope(&*new_ecn), 1.0);
        new_ecn.on_congestion(&at(200, CongestionCause::Ecn, 18_000.0));
        assert_eq!(slope(&*new_ecn), 0.9);
    }

    #[test]
    fn the_slope_rises_once_in_a_round_trip_after_the_first_mark() {
        let mut new_ecn = steady();
        new_ecn.on_ack(&ack(500, 1000));
        assert_eq!(slope(&*new_ecn), 1.0);
        new_ecn.on_congestion(&at(1000, CongestionCause::Ecn, 20_000.0));
        new_ecn.on_ack(&ack(1099, 1000));
        assert_eq!(slope(&*new_ecn), 1.0);
        // 16 * 0.1 s squared.
        new_ecn.on_ack(&ack(1100, 1000));
        assert!((slope(&*new_ecn) - 1.16).abs() < 1e-12);
        new_ecn.on_ack(&ack(1199, 1000));
        assert!((slope(&*new_ecn) - 1.16).abs() < 1e-12);
        new_ecn.on_ack(&ack(1200, 1000));
        assert!((slope(&*new_ecn) - 1.32).abs() < 1e-12);
    }

    #[test]
    fn the_raised_slope_counts_for_the_ack_that_raised_it() {
        let mut new_ecn = steady();
        new_ecn.on_congestion(&at(0, CongestionCause::Ecn, 20_000.0));
        new_ecn.on_ack(&ack(100, 1000));
        assert!((new_ecn.cwnd() - (18_000.0 + 1.16 * 1e6 / 18_000.0)).abs() < 1e-9);
    }

    #[test]
    fn any_cut_puts_the_next_rise_off_by_a_round_trip() {
        let mut new_ecn = steady();
        new_ecn.on_congestion(&at(0, CongestionCause::Ecn, 20_000.0));
        new_ecn.on_congestion(&at(90, CongestionCause::FastRetransmit, 18_000.0));
        new_ecn.on_ack(&ack(189, 1000));
        assert_eq!(slope(&*new_ecn), 1.0);
        new_ecn.on_ack(&ack(190, 1000));
        assert!((slope(&*new_ecn) - 1.16).abs() < 1e-12);
    }

    #[test]
    fn a_loss_halves_the_window_and_a_slope_above_one() {
        let mut new_ecn = steady();
        new_ecn.on_congestion(&at(0, CongestionCause::Ecn, 20_000.0));
        new_ecn.on_ack(&ack(100, 1000));
        new_ecn.on_congestion(&at(200, CongestionCause::FastRetransmit, 18_000.0));
        assert_eq!((new_ecn.cwnd(), new_ecn.ssthresh()), (9000.0, 9000));
        assert!((slope(&*new_ecn) - 0.58).abs() < 1e-12);
        new_ecn.on_congestion(&at(400, CongestionCause::Timeout, 9000.0));
        assert_eq!((new_ecn.cwnd(), new_ecn.ssthresh()), (1000.0, 4500));
        assert!((slope(&*new_ecn) - 0.58).abs() < 1e-12);
    }

    /// As in the original, where each mark lowers ssthresh, from the window limit on, by a tenth.
    #[test]
    fn slow_start_goes_on_after_a_mark_below_ssthresh() {
        let start = Params { initial_ssthresh: 128_000, whole_segment_cuts: true, ..params() };
        let mut new_ecn = NewEcn::default().build(&start);
        new_ecn.on_congestion(&at(0, CongestionCause::Ecn, 45_500.0));
        assert_eq!((new_ecn.cwnd(), new_ecn.ssthresh()), (40_000.0, 115_000));
        new_ecn.on_ack(&ack(100, 1000));
        assert_eq!(new_ecn.cwnd(), 41_000.0);
        assert_eq!(slope(&*new_ecn), 1.0);
    }

    #[test]
    fn a_mark_ends_slow_start_where_no_ssthresh_was_set() {
        let mut new_ecn = NewEcn::default().build(&params());
        new_ecn.on_congestion(&at(0, CongestionCause::Ecn, 4000.0));
        assert_eq!((new_ecn.cwnd(), new_ecn.ssthresh()), (3600.0, 3600));
    }
}
