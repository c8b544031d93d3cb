//! A congestion controller whose window or pacing rate comes from outside, between the steps of a
//! [`Simulation`](crate::Simulation).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use windlass_tcp::cc::{Ack, Congestion, CongestionCause, Controller, ControllerFactory, Params};

/// The name of the controller in summaries.
pub const NAME: &str = "external";

/// Makes the controllers of a flow, and sets their window and pacing rate.
///
/// A new window holds from the next ACK of new data on. After a timeout the window is one segment
/// until the next one is set; other signals of congestion leave it alone. The repair of losses is the
/// engine's. A pacing rate holds at once, on a flow that paces.
#[derive(Clone, Debug, Default)]
pub struct External(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Bits of the window in segments; 0: none was set, and a connection begins with its initial one.
    window: AtomicU64,
    /// Bits of the pacing rate in segments per second; 0: none was set, and the window decides.
    pacing_rate: AtomicU64,
    acks: AtomicU64,
}

impl External {
    /// Sets the window in segments, fractions included; less than one counts as one.
    pub fn set_window(&self, segments: f64) {
        self.0.window.store(segments.max(1.0).to_bits(), Relaxed);
    }

    /// The window in segments that was set last; `None` before that.
    pub fn window(&self) -> Option<f64> {
        Some(f64::from_bits(self.0.window.load(Relaxed))).filter(|window| *window > 0.0)
    }

    /// Sets the pacing rate in segments per second.
    pub fn set_pacing_rate(&self, segments_per_s: f64) {
        self.0.pacing_rate.store(segments_per_s.to_bits(), Relaxed);
    }

    /// The pacing rate in segments per second that was set last; `None` before that.
    pub fn pacing_rate(&self) -> Option<f64> {
        Some(f64::from_bits(self.0.pacing_rate.load(Relaxed))).filter(|rate| *rate > 0.0)
    }

    /// ACKs of new data since the beginning.
    pub fn acks(&self) -> u64 {
        self.0.acks.load(Relaxed)
    }

    /// Forgets window, pacing rate and ACKs, for another run.
    pub fn reset(&self) {
        self.0.window.store(0, Relaxed);
        self.0.pacing_rate.store(0, Relaxed);
        self.0.acks.store(0, Relaxed);
    }
}

impl ControllerFactory for External {
    fn name(&self) -> &'static str {
        NAME
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        let mss = f64::from(params.mss);
        let cwnd = self.window().map_or(params.initial_window as f64, |window| window * mss);
        Box::new(ExternalController { external: self.clone(), cwnd: cwnd.max(mss), mss })
    }
}

#[derive(Debug)]
struct ExternalController {
    external: External,
    /// The window in force. It changes in the `on_*` methods only, as the engine requires.
    cwnd: f64,
    mss: f64,
}

impl Controller for ExternalController {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Proportional rate reduction ends at ssthresh, which is thus the window.
    fn ssthresh(&self) -> u64 {
        self.cwnd as u64
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.external.pacing_rate().map(|segments_per_s| (segments_per_s * self.mss) as u64)
    }

    fn on_ack(&mut self, _: &Ack) {
        self.external.0.acks.fetch_add(1, Relaxed);
        if let Some(window) = self.external.window() {
            self.cwnd = window * self.mss;
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        if congestion.cause == CongestionCause::Timeout {
            self.external.set_window(1.0);
            self.cwnd = self.mss;
        }
    }

    fn on_idle_restart(&mut self, _: u64) {}

    fn on_mss_change(&mut self, mss: u32) {
        self.mss = f64::from(mss);
        self.cwnd = self.cwnd.max(self.mss);
    }
}
