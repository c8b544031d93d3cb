use crate::cc::{Ack, Congestion, Controller, FastRecovery, Outlook};
use alloc::boxed::Box;
use windlass_base::Ecn;

/// A connection's controller, and what it said last. It can change its mind in the calls of this
/// type alone, so that it need not be asked again for every segment.
#[derive(Debug)]
pub(super) struct Governor {
    controller: Box<dyn Controller>,
    outlook: Outlook,
    /// By which the engine sends: the integer part of cwnd, or what PRR makes of it.
    cwnd_bytes: u64,
}

impl Governor {
    pub(super) fn new(controller: Box<dyn Controller>) -> Governor {
        let outlook = controller.outlook();
        Governor { controller, outlook, cwnd_bytes: outlook.cwnd as u64 }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.controller.take_ack(ack, &mut self.outlook);
        self.allow_cwnd();
    }

    pub(super) fn on_congestion(&mut self, congestion: &Congestion) {
        self.controller.on_congestion(congestion);
        self.ask();
    }

    pub(super) fn on_idle_restart(&mut self, restart: u64) {
        self.controller.on_idle_restart(restart);
        self.ask();
    }

    /// The controller as it is, if it can be had back.
    pub(super) fn snapshot(&self) -> Option<Box<dyn Controller>> {
        self.controller.snapshot()
    }

    /// A cut was needless: the controller is what it was before it, but for the size of a segment,
    /// unless its window has grown beyond that.
    pub(super) fn go_back_to(&mut self, before: Box<dyn Controller>, mss: u32) {
        if before.cwnd() > self.outlook.cwnd {
            self.controller = before;
            self.controller.on_mss_change(mss);
            self.ask();
        }
    }

    pub(super) fn on_mss_change(&mut self, mss: u32) {
        self.controller.on_mss_change(mss);
        self.ask();
    }

    fn ask(&mut self) {
        self.outlook = self.controller.outlook();
        self.allow_cwnd();
    }

    /// On its way down the window is `bytes` and not cwnd, until [`Governor::allow_cwnd`] or the next
    /// word of the controller.
    pub(super) fn allow(&mut self, bytes: u64) {
        self.cwnd_bytes = bytes;
    }

    pub(super) fn allow_cwnd(&mut self) {
        self.cwnd_bytes = self.outlook.cwnd as u64;
    }

    pub(super) fn outlook(&self) -> Outlook {
        self.outlook
    }

    /// In bytes, with its fraction.
    pub(super) fn cwnd(&self) -> f64 {
        self.outlook.cwnd
    }

    pub(super) fn cwnd_bytes(&self) -> u64 {
        self.cwnd_bytes
    }

    pub(super) fn ssthresh(&self) -> u64 {
        self.outlook.ssthresh
    }

    pub(super) fn slope(&self) -> Option<f64> {
        self.outlook.slope
    }

    pub(super) fn ecn_codepoint(&self) -> Ecn {
        self.outlook.ecn_codepoint
    }

    /// Asked at a loss alone.
    pub(super) fn fast_recovery(&self) -> FastRecovery {
        self.controller.fast_recovery()
    }
}
