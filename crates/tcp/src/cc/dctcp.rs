use super::{
    Ack, Congestion, CongestionCause, Controller, ControllerFactory, Marks, Params, TRACE_VALUES,
    Window,
};
use crate::ecn_echo::EcnEcho;
use alloc::boxed::Box;

/// DCTCP (RFC 8257): Reno whose reduction after marks is half the share of marked data, smoothed. It is for
/// networks whose queues mark early, and its receiver echoes as [`EcnEcho::Dctcp`] or counts as
/// [`EcnEcho::Accurate`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Dctcp {
    /// The weight of a window of data in the estimate of the marked share: g. Default: 1/16.
    pub gain: f64,
}

impl Default for Dctcp {
    fn default() -> Dctcp {
        Dctcp { gain: 1.0 / 16.0 }
    }
}

impl Dctcp {
    /// The name of the estimated share of marked data, from 0 to 1: DCTCP.Alpha.
    const ALPHA: &'static str = "alpha";
}

impl ControllerFactory for Dctcp {
    fn name(&self) -> &'static str {
        "dctcp"
    }

    fn needs_marks(&self) -> bool {
        true
    }

    fn echo(&self) -> Option<EcnEcho> {
        Some(EcnEcho::Dctcp)
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(DctcpController {
            gain: self.gain,
            window: Window::new(params),
            // RFC 8257 §3.3: one at first, so that the first marks halve the window.
            alpha: 1.0,
            delivered: 0,
            marked: 0,
            window_end: 0,
        })
    }
}

#[derive(Clone, Debug)]
struct DctcpController {
    gain: f64,
    window: Window,
    alpha: f64,
    /// Bytes delivered in this window of data: DCTCP.BytesAcked.
    delivered: u64,
    /// Bytes of these that were marked: DCTCP.BytesMarked.
    marked: u64,
    /// The end of this window of data, as an offset in the stream: DCTCP.WindowEnd.
    window_end: u64,
}

impl Controller for DctcpController {
    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        // RFC 8257 §3.3: the window grows as without DCTCP.
        self.window.grow(ack.credit);
    }

    fn limit_growth(&mut self, max_flight: u64) {
        self.window.limit_growth(max_flight, self.window.mss());
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        match congestion.cause {
            // RFC 8257 §3.3: cwnd = cwnd * (1 - DCTCP.Alpha / 2). Linux rounds the reduction down.
            CongestionCause::Ecn => self.window.reduce_by(congestion, self.alpha / 2.0),
            // RFC 8257 §3.4 and §3.5: losses count as without DCTCP.
            CongestionCause::FastRetransmit | CongestionCause::Timeout => {
                self.window.reduce(congestion, 0.5);
            }
        }
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.window.restart(restart);
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
    }

    fn counts_marks(&self) -> bool {
        true
    }

    /// RFC 8257 §3.3, steps 1 to 8.
    fn on_marks(&mut self, marks: &Marks) {
        self.delivered += marks.delivered;
        self.marked += marks.marked;
        if marks.acked_total <= self.window_end {
            return;
        }
        // More than was delivered may be marked: copies count, too.
        let share = (self.marked as f64 / self.delivered as f64).min(1.0);
        self.alpha = self.alpha * (1.0 - self.gain) + self.gain * share;
        self.window_end = marks.sent_total;
        (self.delivered, self.marked) = (0, 0);
    }

    fn trace_names(&self) -> &'static [&'static str] {
        &[Dctcp::ALPHA]
    }

    fn trace_values(&self) -> [f64; TRACE_VALUES] {
        let mut values = [0.0; TRACE_VALUES];
        values[0] = self.alpha;
        values
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
    use windlass_base::Time;

    /// A window of ten segments, of which the last `marked` have an echo.
    fn window(dctcp: &mut dyn Controller, begin: u64, marked: u64) {
        for segment in 1..=10 {
            dctcp.on_marks(&Marks {
                acked_total: begin + segment * 1000,
                sent_total: begin + 20_000,
                ..Marks::new(Time::ZERO, 1000, segment > 10 - marked)
            });
        }
    }

    fn alpha(dctcp: &dyn Controller) -> f64 {
        dctcp.trace_values()[0]
    }

    #[test]
    fn alpha_follows_the_marked_share_by_a_sixteenth_a_window() {
        let mut dctcp = Dctcp::default().build(&params());
        // The first ACK ends a window of its own, and begins one that 20 segments fill.
        window(&mut *dctcp, 0, 0);
        assert_eq!(alpha(&*dctcp), 15.0 / 16.0);
        window(&mut *dctcp, 10_000, 0);
        assert_eq!(alpha(&*dctcp), 15.0 / 16.0, "the window is not over");
        // The ACK behind it ends it: 19 unmarked segments and a marked one.
        window(&mut *dctcp, 20_000, 10);
        let expected = (15.0 / 16.0) * (15.0 / 16.0) + (1.0 / 16.0) * (1.0 / 20.0);
        assert!((alpha(&*dctcp) - expected).abs() < 1e-12, "{}", alpha(&*dctcp));
    }

    #[test]
    fn a_mark_reduces_by_half_of_alpha_and_a_loss_by_half() {
        let reduced = |cause, alpha| {
            let mut dctcp = Dctcp { gain: 1.0 }.build(&params());
            let marked = (100_000.0 * alpha) as u64;
            dctcp.on_marks(&Marks { marked, ..Marks::new(Time::ZERO, 100_000, true) });
            dctcp.on_congestion(&congestion(cause, 20_000.0));
            dctcp.cwnd()
        };
        assert_eq!(reduced(Ecn, 1.0), 10_000.0);
        assert_eq!(reduced(Ecn, 0.1), 19_000.0);
        assert_eq!(reduced(FastRetransmit, 0.1), 10_000.0);
        assert_eq!(reduced(Timeout, 0.1), 1000.0);
    }

    /// Linux 6.18, `dctcp_ssthresh`: cwnd less the product of cwnd and alpha, shifted right. A window rounded down in
    /// its place would lose half a segment more in the mean.
    #[test]
    fn whole_segments_round_the_reduction_down_and_after_a_loss_the_window() {
        let reduced = |cause, alpha| {
            let whole = Params { whole_segment_cuts: true, ..params() };
            let mut dctcp = Dctcp { gain: 1.0 }.build(&whole);
            let marked = (100_000.0 * alpha) as u64;
            dctcp.on_marks(&Marks { marked, ..Marks::new(Time::ZERO, 100_000, true) });
            dctcp.on_congestion(&congestion(cause, 13_400.0));
            dctcp.cwnd()
        };
        let alphas = [1.0, 0.4, 0.1];
        assert_eq!(alphas.map(|alpha| reduced(Ecn, alpha)), [7000.0, 11_000.0, 13_000.0]);
        assert_eq!(reduced(FastRetransmit, 0.4), 6000.0);
    }
}
