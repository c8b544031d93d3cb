use super::{Ack, Congestion, Controller, ControllerFactory, Params};
use alloc::boxed::Box;
use windlass_base::Ecn;

/// A cwnd in bytes that has no effect: it exceeds the largest window that a receiver can announce
/// (RFC 7323 §2.3).
pub(crate) const UNLIMITED: u64 = 1 << 30;

/// No congestion control (Lee 2009, section 5.2): only the receiver's window limits the data in
/// flight, and a loss does not reduce it. The sender would not react to ECN marks, so its packets
/// are Not-ECT.
///
/// For experiments on a link without other users: on a shared path it starves all other flows and
/// can lead to congestion collapse (RFC 2914).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct NoControl;

impl ControllerFactory for NoControl {
    fn name(&self) -> &'static str {
        "none"
    }

    fn build(&self, _: &Params) -> Box<dyn Controller> {
        Box::new(*self)
    }
}

impl Controller for NoControl {
    fn cwnd(&self) -> f64 {
        UNLIMITED as f64
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn on_ack(&mut self, _: &Ack) {}

    fn on_congestion(&mut self, _: &Congestion) {}

    fn on_idle_restart(&mut self, _: u64) {}

    fn on_mss_change(&mut self, _: u32) {}

    fn ecn_codepoint(&self) -> Ecn {
        Ecn::NotEct
    }
}
