use super::{Ack, Congestion, Controller, ControllerFactory, Params};
use alloc::boxed::Box;
use windlass_base::Ecn;

/// A cwnd in bytes that limits nothing: no receiver can announce a window of so much (RFC 7323 §2.3).
pub(crate) const UNLIMITED: u64 = 1 << 30;

/// No congestion control (Lee 2009, §5.2): the receiver's window alone limits what is in flight, and
/// losses are repaired without a cut. Marks would not be answered, so no packet asks for them.
///
/// For experiments on links of one's own: on a shared path it starves all others and can lead to
/// congestion collapse (RFC 2914).
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
    fn name(&self) -> &'static str {
        "none"
    }

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

    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(*self))
    }
}
