//! An example of a congestion controller in a crate outside Windlass.
//!
//! A controller has two types:
//!
//! - a **factory** ([`Binomial`] here) with the parameters as plain data and documented defaults. It
//!   implements [`ControllerFactory`] and makes a controller for each connection.
//! - a **controller** (`BinomialController`, private) with the state of one connection. It
//! implements [`Controller`] and owns cwnd and ssthresh, both in bytes. The engine decides what to
//! retransmit and when.
//!
//! The contract between the engine and a controller:
//!
//! - The engine calls `on_ack` only for ACKs of new data that may grow the window. Grow by
//!   [`Ack::credit`], not by the bytes acknowledged: the credit follows the configured growth (per
//!   ACK or per byte).
//! - The engine calls `on_congestion` at most once per window of data for fast retransmit and ECN
//! together, and at every timeout. Start the reduction from [`Congestion::window`], use
//! [`Params::cut`] so that reductions to whole segments work, and keep ssthresh if `hold_ssthresh`
//! is set.
//! - cwnd is never below one segment, and ssthresh after a loss never below two (RFC 5681 §3.1).
//! - Each call has the current time as an argument. A controller reads no clock and draws no entropy.
//!   A simulation must give the same results on every machine, so use the functions of `libm` for
//!   floats, not those of `std`.
//!
//! [`Window`] implements these rules for controllers that differ from Reno only in the amount of
//! growth and reduction, as this one does. Other controllers keep cwnd and ssthresh themselves.
//!
//! A connection uses the controller if its configuration has the factory:
//!
//! ```
//! use std::sync::Arc;
//! use windlass_example_controller::Binomial;
//! use windlass_tcp::Profile;
//!
//! let config = Profile::Rfc5681.config(1460, Arc::new(Binomial::SQRT));
//! assert_eq!(config.congestion.name(), "binomial");
//! ```
//!
//! The simulator runs it in any scenario: read the file, set the factory of the flows that use it,
//! and run. `examples/share.rs` is such a program: `cargo run --example share` prints how two flows
//! of this controller share a link with two Reno flows.

use windlass_tcp::cc::{Ack, Congestion, Controller, ControllerFactory, Params, Window};

/// Binomial congestion control (Bansal and Balakrishnan, INFOCOM 2001): with a window of w
/// segments, a round trip adds `alpha` / w^`k` segments and congestion takes `beta` * w^`l`.
///
/// Where `k` + `l` = 1 its rate falls with the loss rate as Reno's does.
#[derive(Copy, Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Binomial {
    /// Exponent of the growth, 0 or more.
    pub k: f64,
    /// Exponent of the cut, at most 1.
    pub l: f64,
    /// Segments that a round trip adds to a window of one segment.
    pub alpha: f64,
    /// Segments that congestion takes from a window of one segment, at most 1.
    pub beta: f64,
}

impl Binomial {
    /// Reno's additive increase and multiplicative decrease.
    pub const AIMD: Binomial = Binomial { k: 0.0, l: 1.0, alpha: 1.0, beta: 0.5 };
    /// Growth and cut by the square root of the window: a smoother flow than Reno's.
    pub const SQRT: Binomial = Binomial { k: 0.5, l: 0.5, alpha: 1.0, beta: 0.5 };
}

impl Default for Binomial {
    fn default() -> Binomial {
        Binomial::SQRT
    }
}

impl ControllerFactory for Binomial {
    fn name(&self) -> &'static str {
        "binomial"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(BinomialController { binomial: *self, window: Window::new(params) })
    }
}

/// The state of one connection.
#[derive(Clone, Debug)]
struct BinomialController {
    binomial: Binomial,
    window: Window,
}

impl Controller for BinomialController {
    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        let rest = self.window.slow_start(ack.credit);
        let segments = self.window.cwnd() / self.window.mss();
        let slope = self.binomial.alpha / libm::pow(segments, self.binomial.k);
        self.window.congestion_avoidance(rest, slope);
    }

    /// Reacts to ECN echoes and losses in the same way; [`Window::reduce`] sets cwnd to one segment
    /// after a timeout.
    fn on_congestion(&mut self, congestion: &Congestion) {
        let segments = (congestion.window / self.window.mss()).max(1.0);
        let taken = self.binomial.beta * libm::pow(segments, self.binomial.l);
        self.window.reduce(congestion, 1.0 - taken / segments);
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.window.restart(restart);
    }

    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
    }
}

/// The programs of docs/guide/controllers.md, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/controllers.md")]
struct Docs;

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_tcp::cc::{CongestionCause, Reno};
    use windlass_tcp::{Span, Time};

    /// In congestion avoidance at `segments` of 1000 bytes.
    fn steady(segments: u64) -> Params {
        let mut params = Params::new(1000);
        params.initial_window = segments * 1000;
        params.initial_ssthresh = segments * 1000;
        params
    }

    fn ack() -> Ack {
        let mut ack = Ack::new(Time::ZERO, 1000).with_rtt(Span::from_millis(100));
        (ack.in_flight, ack.sent_total) = (10_000, 10_000);
        ack
    }

    fn congestion(cause: CongestionCause, window: f64) -> Congestion {
        let mut congestion = Congestion::new(Time::ZERO, cause, window);
        congestion.smoothed_rtt = Span::from_millis(100);
        congestion
    }

    fn round_trip(controller: &mut dyn Controller) {
        for _ in 0..(controller.cwnd() / 1000.0) as u64 {
            controller.on_ack(&ack());
        }
    }

    #[test]
    fn with_the_exponents_of_aimd_it_is_reno() {
        let mut params = steady(16);
        params.initial_window = 2000;
        let (mut aimd, mut reno) = (Binomial::AIMD.build(&params), Reno.build(&params));
        for step in 0..200 {
            for controller in [&mut aimd, &mut reno] {
                match step % 50 {
                    49 => {
                        let window = controller.cwnd();
                        controller.on_congestion(&congestion(CongestionCause::Ecn, window));
                    }
                    _ => controller.on_ack(&ack()),
                }
            }
            assert_eq!((aimd.cwnd(), aimd.ssthresh()), (reno.cwnd(), reno.ssthresh()));
        }
    }

    #[test]
    fn a_round_trip_adds_the_inverse_of_the_square_root() {
        let mut sqrt = Binomial::SQRT.build(&steady(25));
        round_trip(&mut *sqrt);
        assert!((sqrt.cwnd() - 25_200.0).abs() < 2.0, "{}", sqrt.cwnd());
    }

    #[test]
    fn congestion_takes_half_the_square_root() {
        let mut sqrt = Binomial::SQRT.build(&steady(25));
        sqrt.on_congestion(&congestion(CongestionCause::FastRetransmit, 25_000.0));
        assert_eq!((sqrt.cwnd(), sqrt.ssthresh()), (22_500.0, 22_500));
    }

    #[test]
    fn a_timeout_starts_again_from_one_segment() {
        let mut sqrt = Binomial::SQRT.build(&steady(25));
        sqrt.on_congestion(&congestion(CongestionCause::Timeout, 25_000.0));
        assert_eq!((sqrt.cwnd(), sqrt.ssthresh()), (1000.0, 22_500));
        round_trip(&mut *sqrt);
        round_trip(&mut *sqrt);
        assert_eq!(sqrt.cwnd(), 4000.0);
    }
}
